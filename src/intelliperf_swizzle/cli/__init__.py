# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs of `intelliperf-swizzle`: parsing, printing and exit codes; no logic.

Exit codes: 0 the run completed, with or without improvement (`prove`: a permutation); 1 the
application, the capture or a tool failed (`prove`, `score`: not a permutation; `validate-model`:
something measured could not be compared); 2 bad usage or
input; 130 and 143 interrupted by SIGINT and SIGTERM; 124 at --seconds, before any search.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from intelliperf_swizzle.children import kill_all, leave
from intelliperf_swizzle.errors import SwizzleError, UsageError, did_you_mean
from intelliperf_swizzle.readers import bindings, utf8
from intelliperf_swizzle.stopping import Interrupted, abandoned, stopped_by_signals

if TYPE_CHECKING:
    from intelliperf_swizzle.formulas import Pattern
    from intelliperf_swizzle.report.terminal import Quiet

VERBS = (
    "prove", "score", "explain", "apply", "report", "mcp", "patterns", "targets", "doctor",
    "overlay", "validate-model", "install-hook", "remove-hook",
)  # fmt: skip
"""Each is a function of its arguments that returns the exit code; without a verb, `optimize`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        for number, argument in enumerate(arguments, 1):
            utf8(argument, f"argument {number}")
        abandoned.clear()
        with stopped_by_signals():
            code = _run_verb(arguments)
        if abandoned.is_set():  # Python would wait for it
            kill_all()
            leave(code)
        return code
    except SwizzleError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except Interrupted as signal:
        print(signal, file=sys.stderr)
        leave(signal.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"error: {error.strerror or error} {error.filename or ''}".rstrip(), file=sys.stderr)
        return 1


def _run_verb(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in VERBS:
        first = arguments[0] if arguments else "-"
        near = did_you_mean(first, VERBS).strip()
        if near and not first.startswith("-") and not shutil.which(first):
            raise UsageError(f"there is no verb `{first}`", hint=near)
        return run("optimize", arguments)
    return run(arguments[0], arguments[1:])


PROGRAM = "intelliperf-swizzle"


class Parser(argparse.ArgumentParser):
    """Reports bad usage as one error of this package."""

    def error(self, message: str) -> NoReturn:
        """Raises UsageError."""
        unknown = message.rpartition("unrecognized arguments: ")[2].partition(" ")[0]
        near = did_you_mean(unknown, self._option_string_actions)
        raise UsageError(message, hint=f"{near}{self.prog} --help")


def run(verb: str, arguments: Sequence[str]) -> int:
    """Runs a verb, whose module is imported for it; the exit code."""
    module = "searches" if verb in ("optimize", "score", "explain") else "verbs"
    module = "prove" if verb == "prove" else module
    return int(getattr(import_module(f"{__package__}.{module}"), verb.replace("-", "_"))(arguments))


def parse_with_application(
    parser: Parser, arguments: Sequence[str]
) -> tuple[argparse.Namespace, tuple[str, ...]]:
    """Options before `--`, the application after it.

    Raises:
        UsageError: bad usage; where only the `--` is missing, with the line that has it.
    """
    at = arguments.index("--") if "--" in arguments else len(arguments)
    own, command = arguments[:at], tuple(arguments[at + 1 :])
    try:
        options = parser.parse_args(own)
    except UsageError as error:
        begin = None if command else _begin_of_application(parser, own)
        if begin is None:
            raise
        line = [*parser.prog.split(), *own[:begin], "--", *own[begin:]]
        raise UsageError(
            f"there is no `--` before the application `{' '.join(own[begin:])}`",
            hint=shlex.join(line),
        ) from error
    if not command:
        raise UsageError(
            "no application is given", hint=f"{PROGRAM} [options] -- python app.py ..."
        )
    return options, command


def _begin_of_application(parser: Parser, words: Sequence[str]) -> int | None:
    """Where a program stands behind complete options, as if `--` stood before it."""
    for place, word in enumerate(words):
        if not word.startswith("-") and (shutil.which(word) or is_file(word)):
            with suppress(UsageError):
                parser.parse_args(words[:place])
                return place
    return None


SWIZZLE = "a pattern's name, the statements themselves, a file of them or of YAML, or - for stdin"
"""What the verbs take for a swizzle."""

SET = "a parameter of the pattern, or an argument of the kernel"
"""What `--set` takes."""


def swizzle_of(argument: str) -> Pattern:
    """The named, given, stored or piped swizzle."""
    from intelliperf_swizzle.formulas import bare_swizzle, load_pattern, load_swizzle

    if argument == "-":
        return load_swizzle(sys.stdin)
    if "=" in argument and not is_file(argument):
        return bare_swizzle(argument)
    if Path(argument).suffix in (".yaml", ".yml", ".txt") or is_file(argument):
        return load_swizzle(argument)
    return load_pattern(argument)


def settings_of(options: Sequence[str]) -> dict[str, int]:
    """The values of `--set NAME=VALUE`; raises UsageError."""
    from intelliperf_swizzle.language import INPUTS

    return bindings(options, INPUTS)


def is_file(argument: str) -> bool:
    """Whether an argument names a file, or a pipe; a text may be too long to."""
    try:
        return Path(argument).exists() and not Path(argument).is_dir()
    except (OSError, ValueError):
        return False


def condition_hint(pattern: Pattern) -> str | None:
    """When the pattern holds, where it does not always."""
    return f"{pattern.name} is a permutation if {pattern.condition}" if pattern.condition else None


def progress_display(quiet: bool = False) -> Quiet:
    """A live view on a terminal, plain lines in a pipe, nothing if that is asked for."""
    from intelliperf_swizzle.report.terminal import Lines, Live, Quiet

    if quiet:
        return Quiet()
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Live(sys.stderr) if terminal else Lines(sys.stderr)


def say(sentence: str) -> None:
    """Says a note beside the result."""
    print(f"note: {sentence}", file=sys.stderr)
