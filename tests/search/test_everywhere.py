# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A swizzle is put into a kernel only where it is a permutation, whatever the size."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle import optimize
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.axes import Axis
from intelliperf_swizzle.propose.nest import Digit, Nest
from intelliperf_swizzle.records import Candidate, Grid
from intelliperf_swizzle.search.everywhere import condition_for_all_sizes, conditional
from intelliperf_swizzle.search.guard import OtherSizes
from intelliperf_swizzle.search.recorded import choose_kernel, record_application
from intelliperf_swizzle.search.setup import Setup, prepare
from intelliperf_swizzle.search.stages import (
    Edited,
    Evaluated,
    Proved,
    edit_source,
    prove_candidate,
    screen_candidate,
)
from intelliperf_swizzle.search.subject import Subject

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
TARGET = load_target("mi300x")
STENCIL = ["stencil_2d.py", "--m", "512", "--n", "512", "--block-m", "16", "--block-n", "32"]
"""32 × 16 programs."""


def subject_of(command: list[str], folder: Path) -> Iterator[tuple[Setup, Subject]]:
    options = Options(project_directory=str(folder), compute="never")
    words = (sys.executable, str(KERNELS / command[0]), *command[1:])
    setup = prepare(options, words, Silent(), target=TARGET)
    with record_application(setup, Silent()) as recorded:
        yield setup, choose_kernel(recorded, setup, Silent())


@pytest.fixture(scope="module")
def stencil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Setup, Subject]]:
    yield from subject_of(STENCIL, tmp_path_factory.mktemp("stencil"))


def proved(text: str, subject: Subject) -> Proved:
    outcome = prove_candidate(Candidate(text, "mine", "user"), subject, TARGET)
    assert isinstance(outcome, Proved), outcome
    return outcome


def nest(*digits: Digit, chunk: int | None = None) -> str:
    axes = (Axis("grid_1", 16), Axis("grid_0", 32))
    return Nest(axes, digits, chunk, linear=False).text()


def is_permutation(text: str, grid: Grid) -> bool:
    tile = evaluate(parse(text), grid, {}, num_xcds=8, cus_per_xcd=38)
    return np.array_equal(np.sort(tile), np.arange(math.prod(grid)))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("pid = num_pids - 1 - pid", None),
        (nest(Digit(1, 32), Digit(0, 16, reverse=True)), None),
        (nest(Digit(0, 4), Digit(1, 32), Digit(0, 4)), "grid_1 % 4 == 0"),
        (
            nest(Digit(0, 2), Digit(1, 4), Digit(0, 8), Digit(1, 8), chunk=4),
            "grid_0 % 8 == 0 and grid_1 % 8 == 0",
        ),
        ("pid_0 = 31 - pid_0\npid_1 = pid_1", "grid_0 == 32 and grid_1 == 16 and grid_2 == 1"),
    ],
)
def test_a_condition_makes_it_a_permutation_of_every_grid(
    stencil: tuple[Setup, Subject], text: str, condition: str | None
) -> None:
    setup, subject = stencil
    one = proved(text, subject)
    assert condition_for_all_sizes(one, setup) == condition
    grids: list[Grid] = [(a, b, 1) for a, b in itertools.product(range(1, 41), repeat=2)]
    if condition:
        assert not all(is_permutation(text, grid) for grid in grids)
        text = conditional(text, one.swizzle.outputs, condition)
        assert proved(text, subject).fingerprint == one.fingerprint
    assert all(is_permutation(text, grid) for grid in grids)


def test_what_needs_a_condition_is_not_handed_over_without(stencil: tuple[Setup, Subject]) -> None:
    """Nor by a run that is stopped before the condition is there."""
    setup, subject = stencil
    others = OtherSizes(setup, subject, Silent())
    for number, (text, sound) in enumerate((("pid_0 = 31 - pid_0", False), (WHOLE, True))):
        edited = edit_source(screen_candidate(proved(text, subject), number, 0.6, 0.5), setup)
        assert isinstance(edited, Edited)
        one = Evaluated(edited.proved, edited.attempt, edited.edit)
        assert (others.sound(one) is one) is sound
        guarded = others.guard(one)
        assert guarded is not None
        assert others.sound(Evaluated(guarded.proved, guarded.attempt, guarded.edit)) is not None
    assert others.sound(None) is None


WHOLE = "pid_0 = grid_0 - 1 - pid_0"


def test_arguments_of_the_kernel_are_changed_with_the_grid(tmp_path: Path) -> None:
    """A flat grid of a GEMM: a text that reads `N` holds at the sizes that it is launched with."""
    command = ["gemm.py", "--m", "512", "--n", "512", "--k", "64", "--group-m", "1"]
    blocks = ["--block-m", "32", "--block-n", "32", "--block-k", "32"]
    cols = "cdiv(N, BLOCK_SIZE_N)"
    axes = (Axis(f"num_pids // {cols}", 16), Axis(cols, 16))
    whole = Nest(axes, (Digit(1, 16), Digit(0, 16))).text()
    split = Nest(axes, (Digit(0, 2), Digit(1, 16), Digit(0, 8))).text()
    for setup, subject in subject_of([*command, *blocks], tmp_path):
        assert condition_for_all_sizes(proved(whole, subject), setup) is None
        assert condition_for_all_sizes(proved(split, subject), setup) == (
            "num_pids == 256 and BLOCK_SIZE_N == 32 and N == 512"
        )


def test_the_patch_carries_the_condition(tmp_path: Path) -> None:
    run = optimize(
        [sys.executable, str(KERNELS / STENCIL[0]), *STENCIL[1:]], target=TARGET, compute="never",
        candidates=60, project_directory=str(tmp_path),
    )  # fmt: skip
    assert run.best is not None
    text = run.best.candidate.text
    assert run.best.proof is not None
    assert run.best.proof.condition is None
    assert all(is_permutation(text, (a, b, 1)) for a in range(1, 41) for b in range(1, 41))
