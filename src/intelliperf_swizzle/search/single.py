# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs that look at a kernel and do not search: explain and score."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.context import HardwareContext
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.history import History
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Attempt, Candidate, Capture
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.baseline import choose_evaluator, profile_baseline
from intelliperf_swizzle.search.recorded import choose_kernel, record_application
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject, describe
from intelliperf_swizzle.stopping import apart


def explain(setup: Setup, progress: Progress | None = None) -> HardwareContext:
    """What a language model would be told of the kernel; nothing is tried."""
    progress = progress or Silent()
    with record_application(setup, progress) as recorded:
        return apart(lambda: _explain(setup, recorded, progress))


def _explain(setup: Setup, recorded: Capture, progress: Progress) -> HardwareContext:
    subject = choose_kernel(recorded, setup, progress)
    baseline, _ = profile_baseline(setup, subject, progress)
    for caution in subject.cautions:
        progress.note(caution)
    return describe(setup, replace(subject, baseline=baseline))


def score(
    candidate: Candidate, setup: Setup, progress: Progress | None = None
) -> tuple[Subject, Attempt]:
    """Proves and evaluates one candidate on the application's kernel; no file is changed."""
    progress = progress or Silent()
    with (
        record_application(setup, progress) as recorded,
        temporary_folder("score") as folder,
    ):
        return apart(lambda: _score(candidate, setup, recorded, folder, progress))


def _score(
    candidate: Candidate, setup: Setup, recorded: Capture, folder: Path, progress: Progress
) -> tuple[Subject, Attempt]:
    subject = choose_kernel(recorded, setup, progress)
    history = History(folder / "history.jsonl", {})
    evaluator = choose_evaluator(setup, subject, history, recorded.folder.parent, progress)
    attempts = Attempts(setup, subject, history)
    screened = attempts.screen([candidate], attempts.prove([candidate]))
    evaluator.evaluate(attempts.edit(attempts.promising(screened, least=0.0)))
    [attempt] = attempts.current(screened)
    history.close()
    return replace(subject, baseline=evaluator.baseline), attempts.explained(attempt)
