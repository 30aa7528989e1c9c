# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Verdicts on observations written down by hand."""

from dataclasses import replace

import numpy as np
import pytest

from intelliperf_swizzle.frontends.triton.source_proofs.judge import (
    Facts,
    find_suspects,
    first_rule,
    judge,
)
from intelliperf_swizzle.frontends.triton.source_proofs.observation import (
    Observation,
    Output,
    Parts,
)

GRID = (4, 1, 1)
WHOLE = Output("out", (4,), 4, 0, 0, 0, 4, (), None)
GAPS = replace(WHOLE, unwritten=2, unwritten_range=((2, 3),))


def seen(tiles: list[int], outputs: tuple[Output, ...] | None = (WHOLE,)) -> Observation:
    """Four programs, each of which does the work of a tile."""
    return Observation(np.array(tiles, np.uint64), np.ones(4, np.bool_), outputs, 0)


def test_equal_work_is_refused_with_both_programs() -> None:
    verdict = judge(seen([2, 0, 2, 1], (GAPS,)), "kernel", GRID)
    assert verdict.kind == "not a permutation"
    assert "programs 0 and 2 access the same addresses in the same order" in verdict.evidence


def test_no_elements_looked_at_are_not_told() -> None:
    assert judge(seen([2, 0, 3, 1], None), "kernel", GRID).kind == "not told"


def test_gaps_and_idle_programs_are_not_told() -> None:
    idle = replace(seen([2, 0, 3, 1], (replace(GAPS, programs=2),)), writes=np.arange(4) < 2)
    assert judge(idle, "kernel", GRID).kind == "not told"


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


def facts(tiles: list[int], *outputs: Output, parts: tuple[Parts, ...] | None = ()) -> Facts:
    return Facts(replace(seen(tiles, outputs), parts=parts), GRID)


TILES = [2, 0, 3, 1]
CLASH = replace(GAPS, shared=1, clash=((0,), 0, 1))
MINE = Parts(
    name="out", line="k.py:7", access="stored", elements=4, taken=4, repeats=0, outside=0, room=4,
    left=0, gaps=0, least=1, most=1, even=True, gathered=False, numbered=True, ordered=False,
    plain=False, single=False, clash=None,
)  # fmt: skip
DROPS = replace(MINE, taken=3, repeats=1, left=1, even=False, clash=(0, 2))
WRITES_NOTHING = Facts(replace(seen(TILES, ()), writes=np.zeros(4, np.bool_)), GRID)

SHARED = replace(WHOLE, shared=1, clash=((0,), 0, 1))
FEW = replace(WHOLE, programs=3)
LOADED = replace(MINE, name="x", access="loaded")
TWICE_AND_NEVER = "are stored by several programs, and others by none"

EXAMPLES = {
    "no program writes anything": (WRITES_NOTHING, facts(TILES, WHOLE)),
    "4 programs do the work of 3": (facts([2, 0, 2, 1], WHOLE), facts(TILES, WHOLE)),
    f"parts of `out` {TWICE_AND_NEVER}": (
        facts(TILES, CLASH, parts=(DROPS,)),
        facts(TILES, GAPS, parts=(DROPS,)),
    ),
    f"elements {TWICE_AND_NEVER}": (facts(TILES, CLASH), facts(TILES, WHOLE, CLASH)),
    "elements of `out` are written by no program, and what is loaded is as long": (
        facts(TILES, GAPS, parts=(MINE, LOADED)),
        facts(TILES, GAPS, parts=(MINE, replace(LOADED, elements=9))),
    ),
    "parts of `out` are left, while others are taken twice or do not exist": (
        facts(TILES, WHOLE, parts=(DROPS,)),
        facts(TILES, WHOLE, parts=(MINE,)),
    ),
    "elements are stored by several programs, others by none, and there are too many accesses to "
    "say why": (facts(TILES, WHOLE, CLASH, parts=None), facts(TILES, WHOLE, parts=None)),
    "each element of `out` is stored exactly once": (
        facts(TILES, WHOLE, CLASH),
        facts(TILES, FEW),
    ),
    "elements are stored by several programs": (facts(TILES, SHARED), facts(TILES, GAPS)),
    "elements are written by no program, and it is not known whether they should be": (
        Facts(replace(seen(TILES, (GAPS,)), writes=np.arange(4) < 2), GRID),
        facts(TILES, GAPS),
    ),
    "each element is stored exactly once": (facts(TILES, FEW), facts(TILES, FEW, GAPS)),
    "no two programs do the same, and no more is known": (facts(TILES, GAPS), facts(TILES, FEW)),
}
"""Reason -> facts for which it is given, and facts for which it is not."""
REFUSED = ("4 programs", f"parts of `out` {TWICE_AND_NEVER}", f"elements {TWICE_AND_NEVER}")
PROVED = ("each element",)


@pytest.mark.parametrize("reason", EXAMPLES)
def test_each_rule_decides_alone(reason: str) -> None:
    holds, fails = EXAMPLES[reason]
    kind, given, _ = first_rule(holds)
    assert given == reason
    assert (kind == "not a permutation") == reason.startswith(REFUSED)
    assert (kind == "permutation") == reason.startswith(PROVED)
    assert first_rule(fails)[1] != reason


@pytest.mark.parametrize(
    "parts",
    [
        DROPS,
        replace(DROPS, access="updated"),
        replace(DROPS, access="loaded"),
        replace(DROPS, room=9, left=6),  # in a larger tensor
        replace(DROPS, repeats=0, outside=1),  # past the end
        replace(DROPS, taken=2, repeats=2, left=2, even=True),
        replace(DROPS, taken=6, repeats=4, left=2, least=1, most=2),  # a persistent loop
        replace(DROPS, plain=True),  # pid % 3, of four
        replace(DROPS, gathered=True),  # a work list that has a tile twice
    ],
)
def test_parts_that_are_left_are_suspect(parts: Parts) -> None:
    assert find_suspects(replace(seen(TILES), parts=(parts,))) == (parts,)


@pytest.mark.parametrize(
    "parts",
    [
        MINE,
        replace(MINE, room=9, left=5),  # padding
        replace(DROPS, left=0),  # another line takes them
        replace(DROPS, plain=True, single=True),
        replace(DROPS, plain=True, room=9, left=6),
        replace(DROPS, plain=True, access="loaded"),
        replace(DROPS, numbered=False),  # the same place for all
        replace(DROPS, access="loaded", gathered=True),  # an embedding
        replace(DROPS, access="loaded", repeats=0, outside=1),  # a halo
        replace(DROPS, access="loaded", taken=2, repeats=2, room=9, left=7, even=True),
        replace(DROPS, access="loaded", room=9, left=6, ordered=True),
        replace(DROPS, access="loaded", room=9, left=6, least=1, most=5),  # a triangle
        replace(DROPS, access="updated", taken=2, repeats=2, room=9, left=7, even=True),
    ],
)
def test_scratch_padding_and_halos_are_not_suspect(parts: Parts) -> None:
    assert find_suspects(replace(seen(TILES), parts=(parts,))) == ()
