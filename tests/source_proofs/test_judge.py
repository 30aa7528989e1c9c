# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Verdicts on observations written down by hand."""

from dataclasses import replace

import numpy as np
import pytest

from intelliperf_swizzle.source_proofs.judge import judge
from intelliperf_swizzle.source_proofs.observation import Observation, Output, Site

GRID = (4, 1, 1)
WHOLE = Output("out", (4,), 4, 0, 0, 0, 4, (), None)
GAPS = replace(WHOLE, unwritten=2, unwritten_range=((2, 3),))


def seen(tiles: list[int], outputs: tuple[Output, ...] | None = (WHOLE,)) -> Observation:
    """Four programs; each computes the tile `pid` and does that tile's work."""
    sites = [Site(f"program_id({axis})", "k.py", 1) for axis in range(3)]
    program = np.arange(4)
    values = np.stack([program, 0 * program, 0 * program, np.array(tiles)], axis=1)
    return Observation(
        sites=(*sites, Site("pid", "k.py", 7)),
        work=np.array(tiles, np.uint64),
        writes=np.ones(4, np.bool_),
        frontier=(3,),
        program=program,
        values=values,
        wrote=np.ones(4, np.bool_),
        sizes=frozenset({4}),
        outputs=outputs,
        lanes_outside=0,
    )


def without_scalars(observation: Observation) -> Observation:
    return replace(
        observation,
        frontier=(),
        program=np.zeros(0, np.int64),
        values=np.zeros((0, 4), np.int64),
        wrote=np.zeros(0, np.bool_),
    )


def test_a_renumbering_is_a_permutation() -> None:
    verdict = judge(seen([2, 0, 3, 1]), "kernel", GRID)
    assert verdict.kind == "permutation"
    assert "`pid` (k.py:7) takes each of 4 values once" in verdict.evidence


def test_equal_work_is_refused_with_both_programs() -> None:
    verdict = judge(seen([2, 0, 2, 1], (GAPS,)), "kernel", GRID)
    assert verdict.kind == "not a permutation"
    assert "`pid` (k.py:7) is 2 in programs 0 and 2" in verdict.evidence
    assert "never computed: pid = 3" in verdict.evidence


@pytest.mark.parametrize(
    ("tiles", "kind"), [([2, 0, 3, 1], "permutation"), ([2, 0, 2, 1], "not a permutation")]
)
def test_accesses_decide_without_scalars(tiles: list[int], kind: str) -> None:
    assert judge(without_scalars(seen(tiles)), "kernel", GRID).kind == kind


def test_scalars_alone_decide_only_where_they_fill_a_grid() -> None:
    assert judge(seen([2, 0, 3, 1], None), "kernel", GRID).kind == "permutation"
    assert judge(seen([2, 0, 3, 6], None), "kernel", GRID).kind == "not told"
    assert judge(without_scalars(seen([2, 0, 3, 1], None)), "kernel", GRID).kind == "not told"


def test_gaps_and_idle_programs_are_not_told() -> None:
    idle = replace(seen([2, 0, 3, 1], (replace(GAPS, programs=2),)), writes=np.arange(4) < 2)
    assert judge(idle, "kernel", GRID).kind == "not told"


def test_gaps_beside_shared_elements_are_refused_unless_the_tiles_are_all_taken() -> None:
    clash = replace(GAPS, shared=1, clash=((0,), 0, 1))
    assert judge(seen([2, 0, 3, 6], (clash,)), "kernel", GRID).kind == "not a permutation"
    assert judge(seen([2, 0, 3, 1], (clash,)), "kernel", GRID).kind == "not told"


def test_what_writes_nothing_is_not_told() -> None:
    nothing = replace(seen([2, 0, 3, 1], ()), writes=np.zeros(4, np.bool_))
    assert judge(nothing, "kernel", GRID).kind == "not told"


@pytest.mark.parametrize(
    ("tiles", "shared", "unwritten", "dropped"),
    [
        ([0, 0, 1, 2], 1, 1, True),
        ([0, 0, 1, 2], 1, 0, False),  # all that there is is computed, some of it twice
        ([0, 0, 1, 2], 0, 1, False),  # what is written by nobody may be meant to be
        ([0, 1, 2, 3], 1, 1, False),  # no two programs do the same
    ],
)
def test_dropped_tiles_are_told_where_there_is_no_doubt(
    tiles: list[int], shared: int, unwritten: int, dropped: bool
) -> None:
    output = replace(WHOLE, shared=shared, unwritten=unwritten, unwritten_range=((3, 3),))
    assert judge(seen(tiles, (output,)), "kernel", GRID).drops_tiles == dropped
