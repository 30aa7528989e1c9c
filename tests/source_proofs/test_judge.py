# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Verdicts on observations written down by hand."""

from dataclasses import replace

import numpy as np
import pytest

from intelliperf_swizzle.frontends.triton.source_proofs.judge import (
    Loads,
    Observation,
    Output,
    first_rule,
    judge,
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


def test_no_checked_elements_are_undecided() -> None:
    assert judge(seen([2, 0, 3, 1], None), "kernel", GRID).kind == "undecided"


def test_gaps_and_idle_programs_are_undecided() -> None:
    idle = replace(seen([2, 0, 3, 1], (replace(GAPS, programs=2),)), writes=np.arange(4) < 2)
    assert judge(idle, "kernel", GRID).kind == "undecided"


@pytest.mark.parametrize(
    ("tiles", "shared", "unwritten", "dropped"),
    [
        ([0, 0, 1, 2], 1, 1, True),
        ([0, 0, 1, 2], 1, 0, False),  # all that there is is computed, some of it twice
        ([0, 0, 1, 2], 0, 1, False),  # what is written by nobody may be meant to be
        ([0, 1, 2, 3], 1, 1, False),  # no two programs do the same
    ],
)
def test_dropped_tiles_are_reported_if_there_is_no_doubt(
    tiles: list[int], shared: int, unwritten: int, dropped: bool
) -> None:
    output = replace(WHOLE, shared=shared, unwritten=unwritten, unwritten_range=((3, 3),))
    assert judge(seen(tiles, (output,)), "kernel", GRID).drops_tiles == dropped


TILES = [2, 0, 3, 1]
TORN = replace(GAPS, unwritten=1, shared=1, clash=((0,), 0, 1), programs=3)
LOG = replace(WHOLE, name="log", blocks=False)
SHARED = replace(WHOLE, shared=1, clash=((0,), 0, 1))
FEW = replace(WHOLE, programs=3)
WRITES_NOTHING = replace(seen(TILES, ()), writes=np.zeros(4, np.bool_))
HALF = replace(seen(TILES, (GAPS,)), writes=np.arange(4) < 2)
LOADS = replace(seen(TILES), loads=(Loads("x", 4, 3),))
TWICE_AND_NEVER = "elements of `out` are stored by several programs, and others by none"

EXAMPLES = {
    "no program writes anything": (WRITES_NOTHING, seen(TILES)),
    "4 programs do the work of 3": (seen([2, 0, 2, 1]), seen(TILES)),
    TWICE_AND_NEVER: (seen(TILES, (TORN, LOG)), seen(TILES, (GAPS, LOG))),
    "elements of `out` are written by no program, and what is loaded is as long": (
        seen(TILES, (replace(GAPS, as_long=True),)),
        seen(TILES, (GAPS,)),
    ),
    "blocks of `x` are loaded twice, and others never": (LOADS, seen(TILES)),
    "each element of `out` is stored exactly once": (seen(TILES), seen(TILES, (FEW,))),
    "elements are stored by several programs": (seen(TILES, (SHARED,)), seen(TILES, (GAPS,))),
    "elements are written by no program, and it is not known whether they should be": (
        HALF,
        seen(TILES, (GAPS,)),
    ),
    "each element is stored exactly once": (seen(TILES, (FEW,)), seen(TILES, (FEW, GAPS))),
    "no two programs do the same work; nothing more is known": (
        seen(TILES, (GAPS,)),
        seen(TILES, (FEW,)),
    ),
}
"""Reason -> what is seen if it is given, and what if it is not."""
REFUSED = ("4 programs", TWICE_AND_NEVER)
PROVED = ("each element",)


@pytest.mark.parametrize("reason", EXAMPLES)
def test_each_rule_decides_alone(reason: str) -> None:
    holds, fails = EXAMPLES[reason]
    kind, given = first_rule(holds)
    assert given == reason
    assert (kind == "not a permutation") == reason.startswith(REFUSED)
    assert (kind == "permutation") == reason.startswith(PROVED)
    assert first_rule(fails)[1] != reason


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (replace(TORN, elements=9), "not a permutation"),
        (replace(TORN, elements=9, unwritten=5), "undecided"),  # in a larger tensor
        (replace(TORN, clash=((0,), 0, 3)), "undecided"),  # pid % 3, of four
        (replace(TORN, blocks=False, elements=9), "undecided"),  # a scalar for each program
        (replace(TORN, blocks=False, elements=2), "permutation"),  # flags: each serves several
        (replace(TORN, blocks=False, elements=9, unwritten=8), "permutation"),
    ],
)
def test_elements_that_are_left_beside_a_whole_tensor(output: Output, kind: str) -> None:
    assert first_rule(seen(TILES, (output, LOG)))[0] == kind


def test_what_is_loaded_may_decide_that_elements_are_left() -> None:
    listed = replace(seen(TILES, (TORN, LOG)), places_loaded=True)
    assert first_rule(listed) == ("undecided", TWICE_AND_NEVER)
