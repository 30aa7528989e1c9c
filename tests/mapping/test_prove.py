# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The proof: certificate or witness, checked against counting by hand."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intelliperf_swizzle.errors import LanguageError, UsageError
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.mapping import describe, prove, refusal
from intelliperf_swizzle.records import Grid, Proof, Witness

STRIDE = "pid = (pid % 8) * (num_pids // 8) + pid // 8"


def proved(text: str, grid: Grid, **constants: int) -> Proof | Witness:
    return prove(parse(text), grid, constants, num_xcds=8, cus_per_xcd=38)


@given(st.lists(st.integers(-1, 9), min_size=1, max_size=8))
def test_witness_and_certificate_agree_with_counting(tile: list[int]) -> None:
    # Any table can be written in the language: program i goes to tile[i].
    text = "pid = " + "".join(f"where(pid == {i}, {t}, " for i, t in enumerate(tile))
    outcome = proved(text + "0" + ")" * len(tile), (len(tile), 1, 1))

    times = Counter(tile)
    missing = [t for t in range(len(tile)) if not times[t]]
    outside = [(i, t) for i, t in enumerate(tile) if not 0 <= t < len(tile)]
    if not missing:
        assert isinstance(outcome, Proof)
        assert outcome.tile.tolist() == tile
        return
    assert isinstance(outcome, Witness)
    assert list(outcome.missing) == missing
    assert outcome.missing_count == len(missing)
    assert list(outcome.out_of_range) == outside
    assert outcome.computed_fraction == (len(tile) - len(missing)) / len(tile)
    repeated = [t for t in times if 0 <= t < len(tile) and times[t] > 1]
    if not repeated:
        assert outcome.collision is None
        return
    first, second, shared = outcome.collision or (0, 0, -1)
    assert tile[first] == tile[second] == shared
    assert first < second
    assert first == min(tile.index(t) for t in repeated)


def test_the_fingerprint_is_that_of_the_table() -> None:
    outcome = proved("pid = num_pids - 1 - pid", (1000, 1, 1))
    other = proved("last = num_pids - 1\npid = last - pid", (1000, 1, 1))
    assert isinstance(outcome, Proof)
    table = np.arange(999, -1, -1, dtype="<i8").tobytes()
    assert outcome.fingerprint == hashlib.blake2b(table, digest_size=16).hexdigest()
    assert outcome == other


def test_a_failing_text_is_a_witness_with_the_reason() -> None:
    witness = proved("pid = 100 // pid", (8, 1, 1))
    assert isinstance(witness, Witness)
    assert witness.failure is not None
    assert witness.failure.startswith("1:7: the divisor of `//` is 0")
    message = str(refusal(witness, "mine", (8, 1, 1), domains="8 XCDs"))
    assert message.startswith("`mine` is not a permutation of 8 tiles on 8 XCDs: it has no value")
    assert "the divisor of `//` is 0 for program 0; it must be positive" in message


def test_an_unbound_name_is_no_witness_but_an_error() -> None:
    with pytest.raises(LanguageError, match="unknown name `width`"):
        proved("pid = pid % width", (8, 1, 1))


@pytest.mark.parametrize("grid", [(0, 1, 1), (2**20, 2**20, 1)])
def test_a_grid_that_cannot_be_checked_is_refused(grid: Grid) -> None:
    with pytest.raises(UsageError, match="cannot be checked"):
        proved("pid = pid", grid)


def test_the_refusal_reads_as_in_the_style_guide() -> None:
    witness = proved(STRIDE, (228, 1, 1))
    assert isinstance(witness, Witness)
    hint = "the swizzle needs num_pids % 8 == 0; `xcd-contiguous` has no such condition"
    assert str(refusal(witness, "xcd-stride", (228, 1, 1), domains="8 XCDs", hint=hint)) == (
        "`xcd-stride` is not a permutation of 228 tiles on 8 XCDs: 4 tiles are never computed\n"
        "  tile 28 is computed by programs 1 and 224\n"
        "  never computed: 224 225 226 227\n"
        f"hint: {hint}"
    )


def test_a_long_witness_is_marked_as_cut() -> None:
    witness = proved("pid = pid % 64 * 3", (128, 1, 1))
    assert isinstance(witness, Witness)
    assert describe(witness) == (
        "tile 0 is computed by programs 0 and 64",
        "never computed: 1 2 4 5 7 8 10 11 and 77 more",
        "first programs out of range: 43 (tile 129), 44 (tile 132), 45 (tile 135), 46 (tile 138), "
        "47 (tile 141), 48 (tile 144), 49 (tile 147), 50 (tile 150)",
        "computed: 33.59 % of the tiles",
    )


def test_a_witness_names_the_coordinate_that_leaves_its_axis() -> None:
    witness = proved("old = pid_0\npid_0 = pid_1\npid_1 = old", (8, 4, 1))
    assert isinstance(witness, Witness)
    assert "program 4 → pid_1 = 4, grid_1 = 4" in describe(witness)
