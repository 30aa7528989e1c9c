# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The model screens, the hardware decides: on a GPU, or with the interpreter in its place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from intelliperf_swizzle.loop import Settings, choose, recorded
from intelliperf_swizzle.trials import Trials
from intelliperf_swizzle.workbench import Workbench

from intelliperf_swizzle import testbed
from intelliperf_swizzle.capture.settings import gpu_of
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.gpu import Rig
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.history import History
from intelliperf_swizzle.kernel.edit import Edit
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.model import ModelProfiler
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import Attempt, Candidate, Interval, Measurement, Proof, Timing

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
TARGET = replace(
    load_target("h200"), l2_bytes_per_xcd=65536, l2_channels_per_xcd=1, l2_ways=16,
    l2_channel_bits=None, l2_set_bits=None, cus_per_xcd=4,
)  # fmt: skip
CANDIDATES = [
    Candidate(
        load_pattern("grouped-rows").bind(cols=8, group=group), f"grouped-rows {group}", "pattern"
    )
    for group in (2, 4, 8)
]


class Counters:
    """A hardware profiler at its boundary: it reads fixed hit rates."""

    name = "counters"
    device = "a test"
    runs_application = True

    def __init__(self) -> None:
        self.edits: list[Edit | None] = []

    def measure(
        self, launches: Sequence[TracedLaunch], proofs: Sequence[Proof], edit: Edit | None = None
    ) -> Measurement:
        self.edits.append(edit)
        rate = 0.5 if edit is None else 0.75
        return Measurement(self.name, self.device, l2_hit_rate=rate, memory_bytes=1000)


class TimedBed(testbed.Testbed):
    """A testbed whose clock is the test's: the interpreter's times say nothing of a GPU's."""

    ratios: dict[int, float]

    def try_out(self, edits):  # type: ignore[no-untyped-def]
        tried = super().try_out(edits)
        return {
            n: replace(one, timing=self.clock(n)) if one.timing else one for n, one in tried.items()
        }

    def time_again(self, edits):  # type: ignore[no-untyped-def]
        timings = super().time_again(edits)
        assert all(timings.values())
        return {number: self.clock(number) for number in timings}

    def clock(self, number: int) -> Timing:
        ratio = self.ratios[number]
        around = Interval(ratio, ratio - 0.001, ratio + 0.001)
        return Timing("a test", Interval(2.0, 2.0, 2.0), Interval(2 * ratio, 2.0, 2.0), around, 11)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("project")
    small = {"m": 256, "n": 256, "k": 64, "block-m": 32, "block-n": 32, "block-k": 32, "group-m": 1}
    options = [word for name, value in small.items() for word in (f"--{name}", str(value))]
    command = (sys.executable, str(KERNELS / "gemm.py"), *options)
    settings = Settings(command, folder, folder, compute="never")
    with recorded(settings, TARGET, Silent()) as captured:
        subject, _ = choose(captured, settings, TARGET, ModelProfiler(TARGET), Silent())
        rig = Rig(command, folder, captured.folder.parent, "a test", gpu=gpu_of(TARGET))
        profiler = Counters()
        history = History(folder / "history.jsonl", {})
        bed = TimedBed(rig, subject.traced, 1e-6)
        baseline = profiler.measure(subject.traced, ())
        subject = replace(subject, predicted=subject.baseline, baseline=baseline)
        yield Workbench(subject, TARGET, profiler, history, 1e-6, 5.0, bed)
        history.close()


def test_the_fastest_that_agrees_is_named_with_what_was_counted(bench: Workbench) -> None:
    trials = Trials(bench, Silent(), budget=10, num_attempts=3, measured=3)
    attempts = trials(CANDIDATES)
    numbers = [one.number for one in attempts]
    assert isinstance(bench.testbed, TimedBed)
    bench.testbed.ratios = dict(zip(numbers, (0.9, 1.2, 1.001), strict=True))
    best = trials.decide()
    fast, slow, same = (bench.history.attempts[number - 1] for number in numbers)
    assert best == fast
    check_named(fast)
    assert slow.verdict.kind == "slower"
    assert "time +20.0 % (+19.9 % to +20.1 %)".replace(" %", "%") in slow.verdict.reason
    assert slow.predicted is not None, "the prediction stays beside it"
    assert same.measurement is not None
    assert same.measurement.profiler == "counters"
    assert bench.subject.baseline.time_ms == 2.0


def check_named(fast: Attempt) -> None:
    assert fast.verdict.kind == "better"
    assert fast.validation is not None
    assert (fast.validation.method, fast.validation.same_bits) == ("gpu", True)
    assert fast.validation.tiles_compared == fast.validation.tiles == 64
    assert fast.measurement is not None
    assert (fast.measurement.profiler, fast.measurement.l2_hit_rate) == ("counters", 0.75)
    assert fast.measurement.time_ms == 1.8
    assert fast.predicted is not None
    assert fast.predicted.profiler == "model"
    assert fast.proof is not None
    assert fast.proof.grids_checked > 10
    assert fast.diff
