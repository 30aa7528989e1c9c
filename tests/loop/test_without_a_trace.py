# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""On a GPU a kernel that nobody can trace is searched by proof, bytes, times and counters alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from test_decided_on_gpu import KERNELS, TARGET, Counters, Timed

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.ports import GpuOutcome
from intelliperf_swizzle.frontends.triton import trials
from intelliperf_swizzle.frontends.triton.capture.settings import gpu_of
from intelliperf_swizzle.frontends.triton.gpu import Rig
from intelliperf_swizzle.frontends.triton.language import Triton
from intelliperf_swizzle.hardware import Device
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.report.sentences import outcome as told_of
from intelliperf_swizzle.search import examine, plan
from intelliperf_swizzle.search.kernel import optimize_kernel
from intelliperf_swizzle.search.setup import prepare


class Untraced(Triton):
    """Triton whose tracer gives up; what runs on the GPU runs under the interpreter."""

    def trace(self, launch, **_):
        raise TraceError("`tt.elementwise_inline_asm` is not known")

    def trace_each(self, launches, **_):
        return [None for _ in launches]

    def on_gpu(self, request, gpu, traced, *, tolerance):
        rig = Rig(replace(request, device=None), "a test", gpu=gpu_of(TARGET))
        return FirstIsFast(rig, traced, tolerance)


class FirstIsFast(Timed):
    """The first candidate is fast."""

    def validate_and_time(self, edits: Mapping[int, Edit]) -> dict[int, GpuOutcome]:
        self.ratios = {n: 0.7 if n == min(edits) else 1.1 for n in edits}
        return super().validate_and_time(edits)


def test_it_is_proved_compared_timed_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "RACE_SECONDS", 0.1)
    small = {"m": 256, "n": 256, "k": 64, "block-m": 32, "block-n": 32, "block-k": 32, "group-m": 1}
    words = [word for name, value in small.items() for word in (f"--{name}", str(value))]
    options = Options(project_directory=str(tmp_path), profiler="model", candidates=60)
    command = (sys.executable, str(KERNELS / "gemm.py"), *words)
    setup = prepare(options, command, Silent(), target=TARGET, language=Untraced())
    counters = Counters()
    device = Device(0, "a test", "cuda", None)
    with examine.record_application(setup, Silent()) as recorded:
        with pytest.raises(TraceError):
            examine.examine_kernels(recorded, setup, Silent())
        own = replace(setup, device=device, profiler=counters)
        subjects, rows = examine.examine_kernels(recorded, own, Silent())
        [one] = plan.plan_searches(subjects, own)
        outcome = optimize_kernel(one, recorded, (OfflineProposer(),), tmp_path, Silent())
    run = outcome.run
    assert not rows
    tried = {attempt.candidate.name: attempt.verdict for attempt in run.attempts}
    assert run.best is not None, [item for item in tried.items() if item[1].kind != "screened out"]
    assert run.best.verdict.kind == "better"
    assert run.best.measurement is not None
    assert (run.best.measurement.profiler, run.best.measurement.l2_hit_rate) == ("counters", 0.75)
    assert run.best.validation is not None
    assert run.best.validation.tiles_compared == 64
    assert run.best.proof is not None
    assert run.best.proof.extent == "the recorded sizes"
    assert "cannot be modelled" in run.cautions[0]
    assert "inline_asm" in run.cautions[0]
    assert run.independence is None, "it is not known"
    slow = [attempt for attempt in run.attempts if attempt.verdict.kind == "slower"]
    assert slow
    assert all(
        attempt.measurement is None and "L2" not in attempt.verdict.reason for attempt in slow
    )
    text = "\n".join(told_of(run))
    assert "modelled" not in text
    outcome.lock.release()
