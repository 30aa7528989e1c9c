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

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.host.preparation import NAME, prepare_with_host
from intelliperf_swizzle.host.requirements import Host, probe
from intelliperf_swizzle.options import read_options
from intelliperf_swizzle.records import Attempt
from intelliperf_swizzle.report.files import STDOUT, check_output, writable
from intelliperf_swizzle.report.terminal import Lines, show, summary
from intelliperf_swizzle.search.conclude import Outcome
from intelliperf_swizzle.search.deliver import deliver
from intelliperf_swizzle.search.proposers import choose_proposers
from intelliperf_swizzle.search.run import optimize

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
        level=levels.get(verbose, logging.NOTSET),
        format="[INTELLIPERF] %(levelname)s: %(message)s",
    )
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
