# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The unmodified kernel's hit rate, and who evaluates candidates beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.frontends.ports import GpuLanguage
from intelliperf_swizzle.history import History
from intelliperf_swizzle.profile import Profiler
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Measurement
from intelliperf_swizzle.search.evaluator import Evaluator, Setting
from intelliperf_swizzle.search.on_gpu import OnGpu
from intelliperf_swizzle.search.on_model import OnModel
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.search.user_commands import UnitTest


def choose_evaluator(
    setup: Setup, subject: Subject, history: History, folder: Path, progress: Progress
) -> Evaluator:
    """The GPU if the application runs on one, else the model (or a profiler of the host).

    Args:
        setup: of the run.
        subject: the kernel.
        history: remembers what becomes of attempts.
        folder: for what the application's process is told and tells on a GPU.
        progress: told of each step.
    """
    options = setup.options
    baseline, profiler = profile_baseline(setup, subject, progress)
    setting = Setting(
        subject=subject,
        target=setup.target,
        language=setup.language,
        profiler=profiler,
        remember=history.record,
        progress=progress,
        rank=setup.formula.rank,
        num_attempts=options.num_attempts,
        tolerance=options.accordo_absolute_tolerance,
        validation_seconds=options.validation_seconds,
        unit_test=UnitTest(setup),
        share=setup.share,
    )
    if setup.device is None or not isinstance(setup.language, GpuLanguage):
        return OnModel(setting)
    runs = setup.language.on_gpu(
        setup.record_request(folder),
        (setup.device, setup.target),
        [(one.launch, one.trace) for one in subject.traced],
        tolerance=options.accordo_absolute_tolerance,
    )
    return OnGpu(setting, runs, baseline, options.measure)


def profile_baseline(
    setup: Setup, subject: Subject, progress: Progress
) -> tuple[Measurement, Profiler | None]:
    """The unmodified kernel's hit rate as the GPU's profiler reads it, and the profiler.

    Without a GPU the subject's own; also if the profiler turns out not to work and was not asked
    for by name.

    Raises:
        ProfileError: it reads none, and is the one that is asked for.
    """
    if setup.device is None or setup.profiler is None:
        return subject.baseline, setup.profiler
    progress.phase(f"profiling {subject.kernel} unmodified ({setup.profiler.name})")
    try:
        read = setup.profiler.measure(subject.traced)
    except ProfileError as error:
        if setup.options.profiler != "auto":
            raise
        progress.note(f"hit rates are modelled, times measured: {error}")
        return subject.baseline, None
    read = replace(read, time_ms=None, causes=subject.baseline.causes)
    return read, setup.profiler  # a profiler's own times are not compared
