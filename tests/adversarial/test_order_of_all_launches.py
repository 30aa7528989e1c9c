# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whichever launch it is whose programs depend on each other, and however they wait: refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pytest_mock import MockerFixture

from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import Candidate, Verdict
from intelliperf_swizzle.report.establish import validation
from intelliperf_swizzle.search import builds, examine
from intelliperf_swizzle.search.examine import (
    check_dependences,
    examine_kernels,
    record_application,
)
from intelliperf_swizzle.search.setup import RunContext, prepare
from intelliperf_swizzle.search.subject import Subject

TARGET = load_target("mi300x")
REVERSED = "pid = num_pids - 1 - pid"
HEADER = """\
import torch
import triton
import triton.language as tl


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(*shape, dtype=dtype, device="cuda")


"""
MANY = """\
@triton.jit
def scale(x, y, carry, STEP, SEED, B: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) + SEED)
    tl.store(carry + (pid + 1) * STEP, tl.load(carry + (pid + STEP // 8) * STEP) + 1)


x, y, carry = zeros(16 * 64), zeros(16 * 64), zeros(65)
"""
SEEDS = MANY + "for seed in range(40):\n    scale[(64,)](x, y, zeros(8 * 65), 8, seed, B=16)\n"
CHAINED = SEEDS + "scale[(8,)](x, y, carry, 1, 99, B=16)\n"
TYPES = """\
@triton.jit
def copy(x, y, last, CHAIN, B: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at))
    if CHAIN:
        tl.store(last + pid, tl.load(last + pid + 1))


kinds = [torch.float32, torch.float16, torch.int32, torch.int8, torch.int64]
for tiles in (64, 48, 32, 16):
    for kind in kinds:
        x, y = (zeros(16 * 64, dtype=kind) for _ in range(2))
        copy[(tiles,)](x, y, zeros(80), int({chained} and tiles == 16 and kind is kinds[-1]), B=16)
"""
POLLS = """\
@triton.jit
def look(word):
    return {look}


@triton.jit
def scan(x, y, word, B: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at))
    seen = look(word + pid)
    {spin}
        seen = look(word + pid)
    tl.atomic_xchg(word + pid + 1, seen + 1)


word = zeros(65, dtype=torch.int32)
word[0] = 1
scan[(64,)](zeros(16 * 64), zeros(16 * 64), word, B=16)
"""
ROWS = """\
@triton.jit
def rows(start, value, bins, y, B: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.load(start + pid)
    end = tl.load(start + pid + 1)
    total = tl.zeros((B,), tl.float32)
    while at < end:
        lane = at + tl.arange(0, B)
        v = tl.load(value + lane, mask=lane < end, other=0)
        tl.atomic_add(bins + v, 1, mask=lane < end)
        total += v
        at += B
    tl.store(y + pid * B + tl.arange(0, B), total)


start = (torch.arange(65, dtype=torch.int32) * 20).to("cuda")
value = torch.arange(64 * 20, dtype=torch.int32).to("cuda") % 10
rows[(64,)](start, value, zeros(10, dtype=torch.int32), zeros(16 * 64), B=16)
"""


SPINS = ("while seen == 0:", "for _ in range(100 * (seen == 0)):")
LOOKS = ("tl.atomic_or(word, 0)", "tl.atomic_cas(word, 0, 0)", "tl.load(word, volatile=True)")
POLLING = {
    f"polls_{number}": POLLS.format(look=look, spin=spin)
    for number, (look, spin) in enumerate(product(LOOKS, SPINS))
}
MODULES = {
    "seeds": SEEDS,
    "chained": CHAINED,
    "kinds": TYPES.format(chained=False),
    "kinds_chained": TYPES.format(chained=True),
    "rows": ROWS,
    **POLLING,
}
"""Of one application, each with a kernel."""
Stage = Callable[[str], AbstractContextManager[Any]]
"""The stages of a run on the kernel of a module."""


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> RunContext:
    folder = tmp_path_factory.mktemp("application")
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(HEADER + text)
    (folder / "app.py").write_text(f"import {', '.join(MODULES)}\n")
    options = Options(project_directory=str(folder), profiler="model", top_n=len(MODULES))
    return prepare(options, (sys.executable, "app.py"), Silent(), target=TARGET)


@pytest.fixture(scope="module")
def subjects(setup: RunContext) -> Iterator[Mapping[str, Subject]]:
    """The kernel of each module, recorded in one run.

    Two launches of each are traced: the rule is the same for any number, and 16 take a minute.
    """
    with pytest.MonkeyPatch.context() as patch, record_application(setup, Silent()) as recorded:
        patch.setattr(builds, "MOST_LAUNCHES", 2)
        found, _ = examine_kernels(recorded, setup, Silent())
        yield {Path(subject.launches[0].source.file).stem: subject for subject in found}


@pytest.fixture
def stages(
    stages_on: Callable[..., AbstractContextManager[Any]],
    setup: RunContext,
    subjects: Mapping[str, Subject],
    tmp_path: Path,
) -> Stage:
    def on(module: str) -> AbstractContextManager[Any]:
        subject = check_dependences(subjects[module], setup, Silent())
        return stages_on(setup, tmp_path / "history.jsonl", subject)

    return on


def verdict(stages: Any, text: str) -> Verdict:
    [attempt] = stages.screen(Candidate(text, "tried", "user"))
    verdict: Verdict = attempt.verdict
    return verdict


def test_independent_launches_are_accepted_and_counted(stages: Stage) -> None:
    with stages("seeds") as tried:
        assert len(tried.subject.launches) == 40
        [attempt] = tried.screen(Candidate(REVERSED, "reversed", "user"))
        assert attempt.verdict.kind == "screened out"
        [edited] = tried.attempts.edit(tried.attempts.screened)
        outcome = tried.evaluator.validate(edited).attempt.validation
        late = verdict(tried, "pid = where(SEED == 39, 0 * pid, num_pids - 1 - pid)")
        assert late.kind == "not a permutation"
    assert outcome is not None
    assert outcome.same_bits
    assert "(2 of 40 launches)" in validation(outcome)


@pytest.mark.parametrize("module", ["chained", "kinds_chained"])
def test_the_last_and_smallest_launch_binds(stages: Stage, module: str) -> None:
    with stages(module) as tried:
        refused = verdict(tried, REVERSED)
        assert refused.kind == "unsafe order"
        last = max(launch.ordinal for launch in tried.subject.launches) + 1
        assert f"launch {last}, on the grid" in refused.reason
        assert verdict(tried, "pid = pid + 0").kind == "screened out"


def test_launches_of_many_types_are_accepted(stages: Stage) -> None:
    with stages("kinds") as tried:
        assert len(tried.subject.launches) == 20
        assert verdict(tried, REVERSED).kind == "screened out"


def test_a_launch_that_was_not_looked_at_is_not_vouched_for(
    stages: Stage, mocker: MockerFixture
) -> None:
    mocker.patch.object(examine, "DEPENDENCE_SECONDS", 0.0)
    with stages("seeds") as tried:
        refused = verdict(tried, REVERSED)
        assert refused.kind == "unsafe order"
        assert "not checked" in refused.reason
        assert verdict(tried, "pid = pid + 0").kind == "screened out"


@pytest.mark.parametrize("module", POLLING)
def test_polls_of_any_kind_bind(stages: Stage, module: str) -> None:
    with stages(module) as tried:
        assert verdict(tried, REVERSED).kind == "unsafe order"


def test_loops_over_what_no_program_writes_do_not_bind(stages: Stage) -> None:
    with stages("rows") as tried:
        assert verdict(tried, REVERSED).kind == "screened out"
