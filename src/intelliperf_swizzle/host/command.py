# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run under the host: our loop, with the host's command line, trace files and output."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ProfileError, UsageError
from intelliperf_swizzle.hardware import devices
from intelliperf_swizzle.host.profiler import IntelliPerfProfiler, probe, why_not
from intelliperf_swizzle.options import Options, read_options
from intelliperf_swizzle.profile import Profiler, TracedLaunch
from intelliperf_swizzle.profile.installed import PROFILERS
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Attempt, Measurement
from intelliperf_swizzle.report.files import STDOUT, check_output, writable
from intelliperf_swizzle.report.terminal import Lines, show, summary
from intelliperf_swizzle.search.conclude import Outcome, deliver
from intelliperf_swizzle.search.run import optimize
from intelliperf_swizzle.search.setup import (
    Setup,
    choose_device,
    choose_proposers,
    invocation,
    prepare,
    run_build,
    with_hardware,
)

NAME = "intelliperf"


def prepare_with_host(options: Options, command: tuple[str, ...], progress: Progress) -> Setup:
    """What a run without the host would take, but that the host's profiler measures if it can.

    Raises:
        UsageError: there is no profiler of that name.
        ProfileError: the profiler that is asked for cannot measure.
    """
    known = (*PROFILERS, IntelliPerfProfiler.name)
    if options.profiler not in known:
        raise UsageError(
            f"there is no profiler `{options.profiler}`", hint=f"one of: {', '.join(known)}"
        )
    own = options.profiler not in ("auto", IntelliPerfProfiler.name)
    asked = options if own else replace(options, profiler="model")
    setup = prepare(asked, command, progress, invocation=invocation(NAME, sys.argv[1:]))
    run_build(setup)
    return setup if own else _with_host_profiler(replace(setup, options=options), progress)


def _with_host_profiler(setup: Setup, progress: Progress) -> Setup:
    """The setup with the GPU and the host's profiler; if that cannot measure, with another."""
    options, target = setup.options, setup.target
    device = choose_device(options, target)
    reason = why_not(target, device or next(iter(devices()), None))
    if options.profiler == IntelliPerfProfiler.name:
        if reason is not None:
            raise ProfileError(
                f"IntelliPerf cannot measure here: {reason}", hint="--profiler model needs no GPU"
            )
        setup = replace(setup, device=device)
        return replace(setup, profiler=IntelliPerfProfiler(setup))
    if reason is None and device is None:
        reason = f"the GPU here is not known as {target.name}"
    setup = with_hardware(setup, progress if reason else Silent())
    if reason is not None:
        progress.note(cannot_measure(reason, setup.profiler))
        return setup
    measures: Profiler = IntelliPerfProfiler(setup)
    if setup.profiler is not None:
        measures = FirstThatMeasures(measures, setup.profiler, progress)
    return replace(setup, profiler=measures)


class FirstThatMeasures:
    """IntelliPerf's profiler, or another from when the first profile has failed.

    Args:
        first: IntelliPerf's.
        second: what measures without IntelliPerf.
        progress: told why the second one does.
    """

    def __init__(self, first: Profiler, second: Profiler, progress: Progress):
        self.name, self.device = first.name, first.device
        self._profiler, self._second = first, second
        self._progress = progress

    def measure(self, launches: Sequence[TracedLaunch], edit: Edit | None = None) -> Measurement:
        """As the profiler that measures; raises ProfileError."""
        try:
            return self._profiler.measure(launches, edit)
        except ProfileError as error:
            if edit is not None or self._profiler is self._second:
                raise
            self._progress.note(cannot_measure(error, self._second))
            self._profiler = self._second
            self.name, self.device = self._second.name, self._second.device
            return self._profiler.measure(launches, edit)


def cannot_measure(reason: ProfileError | str, instead: Profiler | None) -> str:
    """Why IntelliPerf does not measure, and what does, in a line."""
    if isinstance(reason, ProfileError):
        reason = ": ".join((reason.fact, *reason.details[-1:]))
    other = f"{instead.name} does" if instead else "hit rates are modelled"
    return f"IntelliPerf cannot measure here ({reason}): {other}"


CHATTY = ("numba", "asyncio", "matplotlib", "urllib3")
"""Libraries whose debug messages would drown a run; `-vvv` asks for ours and the host's."""


def run(namespace: argparse.Namespace) -> int:
    """Runs the formula as the options say; the exit code.

    The result goes to stdout if no file is named, as the host has it.

    Raises:
        DriftError: the host lacks something we need; nothing was touched.
        SwizzleError: the application or a tool failed, or the input is wrong.
        Interrupted: a signal had ended the search.
    """
    host = probe(namespace)
    set_logging(namespace.verbose)
    log = host.logger(run_name=time.strftime("%Y_%m_%d-%H_%M_%S"))
    try:
        options = read_options(namespace)
        check_output(options.output_file)
        progress = Traced(log, Lines(sys.stderr))
        folder = writable(options.report_dir, progress.note)
        proposers = choose_proposers(options, progress)
        setup = prepare_with_host(options, command_of(namespace), progress)
        outcome = optimize(setup, proposers, folder, progress)
        output_file = options.output_file or STDOUT
        written = deliver(outcome, replace(options, output_file=output_file, trace_path=None))
        if options.trace_path:
            write_trace(log, outcome, options.trace_path)
            written.append(f"trace: {options.trace_path}")
    finally:
        log.buffer.clear()  # the host's logger flushes once more when it is collected
    show(summary(outcome.run, written), sys.stderr)
    if outcome.interrupted and outcome.interrupted.exit_code:
        raise outcome.interrupted
    return 0


@dataclass(frozen=True)
class Traced:
    """A run's progress, shown, and recorded in the host's log when it happens."""

    log: Any
    shown: Progress

    def phase(self, sentence: str) -> None:
        """A new phase begins."""
        self.log.record("phase", {"name": sentence})
        self.shown.phase(sentence)

    def step(self, done: int, total: int, best: str) -> None:
        """A step of the phase is over."""
        self.shown.step(done, total, best)

    def note(self, sentence: str) -> None:
        """Something the user should know."""
        self.log.record("note", {"text": sentence})
        self.shown.note(sentence)


def command_of(options: argparse.Namespace) -> tuple[str, ...]:
    """The application's command, which is all that follows `--`."""
    remaining = list(options.remaining or ())
    if not remaining or remaining[0] != "--" or len(remaining) == 1:
        raise UsageError(
            "no application is given", hint=f"{NAME} --formula swizzle -- python app.py ..."
        )
    return tuple(remaining[1:])


def write_trace(log: Any, outcome: Outcome, trace_path: str) -> None:
    """Writes the host's own kind of trace files: the run's events, and the kernel that is best.

    A path with a suffix is the file of the events; the kernel goes beside it. The events of
    phases have the time at which they began; the attempts are listed at the end.
    """
    path = Path(trace_path).absolute()
    folder = path.parent if path.suffix and not path.is_dir() else path
    log.trace_path = str(folder)
    run = outcome.run
    log.record("formula_init", {"name": run.formula, "kernel": run.kernel, "target": run.target})
    for attempt in run.attempts:
        if attempt.measurement is not None:
            log.record("optimization_pass", _event(attempt))
    if run.best is not None and outcome.optimized is not None:
        log.save_iteration_code(run.kernel, run.best.number, outcome.optimized)
    log.record("formula_end", {"success": run.best is not None})
    folder.mkdir(parents=True, exist_ok=True)
    log.flush(str(path))


def _event(attempt: Attempt) -> dict[str, object]:
    return {
        "attempt": attempt.number,
        "name": attempt.candidate.name,
        "swizzle": attempt.candidate.text,
        "verdict": attempt.verdict.kind,
        "reason": attempt.verdict.reason,
        "diff": attempt.diff or "",
    }


def set_logging(verbose: int) -> None:
    """What `-v` shows, as the host has it."""
    levels = {0: logging.WARNING, 1: logging.INFO, 2: logging.DEBUG}
    logging.basicConfig(
        level=levels.get(verbose, logging.NOTSET), format="[INTELLIPERF] %(levelname)s: %(message)s"
    )
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
