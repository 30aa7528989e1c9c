# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run under the host: our loop, with the host's command line, trace files and output."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from intelliperf_swizzle.errors import ProfileError, UsageError
from intelliperf_swizzle.hardware import devices
from intelliperf_swizzle.host.profiler import (
    FirstThatMeasures,
    IntelliPerfProfiler,
    cannot_measure,
    why_not,
)
from intelliperf_swizzle.host.requirements import Host, probe
from intelliperf_swizzle.options import Options, read_options
from intelliperf_swizzle.profile import Profiler
from intelliperf_swizzle.profile.tools import PROFILERS
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.report.files import STDOUT, check_output, writable
from intelliperf_swizzle.report.terminal import Lines, show, summary
from intelliperf_swizzle.search.deliver import deliver
from intelliperf_swizzle.search.run import Outcome, optimize
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
CHATTY = ("numba", "asyncio", "matplotlib", "urllib3")
"""Libraries whose debug messages would drown a run; `-vvv` asks for ours and the host's."""


def run(options: argparse.Namespace) -> int:
    """Runs the formula as the options say; the exit code.

    Raises:
        DriftError: the host lacks something we need; nothing was touched.
        SwizzleError: the application or a tool failed, or the input is wrong.
    """
    host = probe(options)
    set_logging(options.verbose)
    hand_over(options, explore(options), host)
    return 0


def explore(namespace: argparse.Namespace) -> Outcome:
    """The loop, with the host's profiler if it can measure; nothing of the user's is changed.

    Args:
        namespace: the host's options and ours.

    Raises:
        SwizzleError: the application or a tool failed, or the input is wrong.
    """
    progress = Lines(sys.stderr)
    options = read_options(namespace)
    check_output(options.output_file)
    folder = writable(options.report_dir, progress.note)
    proposers = choose_proposers(options, progress)
    setup = prepare_with_host(options, command_of(namespace), progress)
    return optimize(setup, proposers, folder, progress)


def hand_over(namespace: argparse.Namespace, outcome: Outcome, host: Host) -> None:
    """Writes the files of an outcome, applies it if asked for and prints the summary.

    The result goes to stdout if no file is named, as the host has it.

    Raises:
        Interrupted: a signal had ended the search.
    """
    options = read_options(namespace)
    output_file = options.output_file or STDOUT
    written = deliver(outcome, replace(options, output_file=output_file, trace_path=None))
    if options.trace_path:
        write_trace(host, outcome, options.trace_path)
        written.append(f"trace: {options.trace_path}")
    show(summary(outcome.run, written), sys.stderr)
    if outcome.interrupted:
        raise outcome.interrupted


def command_of(options: argparse.Namespace) -> tuple[str, ...]:
    """The application's command, which is all that follows `--`."""
    remaining = list(options.remaining or ())
    if not remaining or remaining[0] != "--" or len(remaining) == 1:
        raise UsageError(
            "no application is given", hint=f"{NAME} --formula swizzle -- python app.py ..."
        )
    return tuple(remaining[1:])


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
    run_build(options.build_command, setup.project)
    return setup if own else _with_host_profiler(replace(setup, options=options), progress)


def _with_host_profiler(setup: Setup, progress: Progress) -> Setup:
    """The setup with the GPU and the host's profiler; if that cannot measure, with another."""
    options, target = setup.options, setup.target
    device = choose_device(options, target)
    reason = why_not(target, device or next(iter(devices()), None))
    if options.profiler == IntelliPerfProfiler.name:
        if reason is not None:
            raise ProfileError(
                f"IntelliPerf cannot measure here: {reason}",
                hint="--profiler model needs no GPU",
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


def write_trace(host: Host, outcome: Outcome, trace_path: str) -> None:
    """Writes the host's own kind of trace files: the run's events, and the kernel that is best.

    A path with a suffix is the file of the events; the kernel goes beside it.
    """
    path = Path(trace_path).absolute()
    folder = path.parent if path.suffix and not path.is_dir() else path
    log = host.logger(run_name=time.strftime("%Y_%m_%d-%H_%M_%S"))
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
    log.buffer.clear()  # the host's logger flushes once more when it is collected


def _event(attempt: Any) -> dict[str, Any]:
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
        level=levels.get(verbose, logging.NOTSET),
        format="[INTELLIPERF] %(levelname)s: %(message)s",
    )
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
