# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run under the host: our loop, with the host's command line, trace files and output."""

import argparse
import importlib
import inspect
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.options import read_options
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Attempt
from intelliperf_swizzle.report.files import STDOUT
from intelliperf_swizzle.report.terminal import Lines, show, summary
from intelliperf_swizzle.search.deliver import Outcome, deliver
from intelliperf_swizzle.search.run import optimize_as_asked
from intelliperf_swizzle.search.setup import invocation, prepare

NAME = "intelliperf"

TESTED = ("6bd1939", "a8ffd40", "172b698")
"""Commits of github.com/AMDResearch/intelliperf that this was tested with."""

OPTIONS = (
    "accordo_absolute_tolerance", "build_command", "in_place", "instrument_command", "kernel",
    "num_attempts", "output_file", "project_directory", "remaining", "top_n", "trace_path",
    "unittest_command",
)  # fmt: skip
"""What we read of the host's command line."""

METHODS = {
    "record": ("event_type", "data"),
    "save_iteration_code": ("kernel_name", "iteration_num", "code_content"),
    "flush": ("output_file",),
}
"""What we call of its logger."""


class DriftError(UsageError):
    """The host is not as we know it."""

    def __init__(self, missing: tuple[str, ...]):
        super().__init__(
            "unsupported IntelliPerf version",
            details=missing,
            hint=(
                f"it was tested with a checkout (pip install -e) at {', '.join(TESTED)}; "
                "`intelliperf-swizzle` takes the same command line and needs no IntelliPerf"
            ),
        )


def probe(options: argparse.Namespace) -> Any:
    """The host's class `Logger`.

    Args:
        options: as the host's parser gave them.

    Raises:
        DriftError: something is not there, or cannot be called as we call it; names all of it.
    """
    missing = [f"option --{name}" for name in OPTIONS if not hasattr(options, name)]
    logger = None
    try:
        logger = getattr(importlib.import_module("intelliperf.core.logger"), "Logger", None)
    except (Exception, SystemExit) as error:
        missing.append(f"module intelliperf.core.logger: {type(error).__name__}: {error}")
    else:
        _check(logger, "Logger", ("run_name",), missing)
    for method, arguments in METHODS.items() if logger else ():
        _check(getattr(logger, method, None), f"Logger.{method}", ("self", *arguments), missing)
    if missing:
        raise DriftError(tuple(missing))
    return logger


def _check(callee: Any, called: str, arguments: Sequence[str], missing: list[str]) -> None:
    """Notes it if there is no such callable, or one that does not take these by name."""
    try:
        inspect.signature(callee).bind(**dict.fromkeys(arguments))
    except TypeError as error:
        missing.append(f"{called}(): {error}" if callee else f"no {called}")


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
    logger = probe(namespace)
    set_logging(namespace.verbose)
    log = logger(run_name=time.strftime("%Y_%m_%d-%H_%M_%S"))
    try:
        options = read_options(namespace)
        progress = Traced(log, Lines(sys.stderr))
        command = command_of(namespace)
        setup = prepare(options, command, progress, invocation=invocation(NAME, sys.argv[1:]))
        outcome = optimize_as_asked(setup, progress)
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
