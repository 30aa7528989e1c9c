# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the verbs share: options before `--`, the application after it, swizzles; and TAB.

argcomplete (see `docs/agents.md` for the one line it needs) starts the command with `_ARGCOMPLETE`
set to the number of words before the first argument, and the line typed so far in `COMP_LINE`; what
parses it then offers what fits: verbs, options, and the names of targets, patterns and formulas.
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
from typing import TYPE_CHECKING, Any, NoReturn

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.options import FORMULAS, add_options

if TYPE_CHECKING:
    from intelliperf_swizzle.formulas import Pattern
    from intelliperf_swizzle.report.terminal import Lines, Live, Quiet

PROGRAM = "intelliperf-swizzle"


class Parser(argparse.ArgumentParser):
    """Reports bad usage as one error of ours; answers the shell where that asks what fits."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As of its base."""
        if VARIABLE in os.environ:
            import argcomplete

            offer_names(self)
            argcomplete.autocomplete(self)
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raises UsageError."""
        raise UsageError(message, hint=f"{self.prog} --help")


def run(verb: str, arguments: Sequence[str]) -> int:
    """Runs a verb, whose module is imported for it; the exit code."""
    runs = verb in ("optimize", "score", "explain")
    module = "applications" if runs else "proofs" if verb == "prove" else "verbs"
    function = getattr(import_module(f"{__package__}.{module}"), verb.replace("-", "_"))
    return int(function(arguments))


def parse_with_application(
    parser: Parser, arguments: Sequence[str]
) -> tuple[argparse.Namespace, tuple[str, ...]]:
    """Options before `--`, the application after it.

    Raises:
        UsageError: bad usage; where only the `--` is missing, with the line that has it.
    """
    arguments = list(arguments)
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


def swizzle_of(argument: str, settings: Mapping[str, int]) -> tuple[Pattern, str]:
    """The named, given, stored or piped swizzle, and its text with the settings bound it knows."""
    from intelliperf_swizzle.formulas import bare_swizzle, load_pattern, load_swizzle

    if argument == "-":
        pattern = load_swizzle(sys.stdin)
    elif "=" in argument and not is_file(argument):
        pattern = bare_swizzle(argument)
    elif Path(argument).suffix in (".yaml", ".yml", ".txt") or is_file(argument):
        pattern = load_swizzle(argument)
    else:
        pattern = load_pattern(argument)
    bound = {name: value for name, value in settings.items() if name in pattern.parameters}
    return pattern, pattern.bind(**bound)


def is_file(argument: str) -> bool:
    """Whether an argument names a file, or a pipe; a text may be too long to."""
    try:
        return Path(argument).exists() and not Path(argument).is_dir()
    except (OSError, ValueError):
        return False


def condition_hint(pattern: Pattern) -> str | None:
    """When the pattern holds, where it does not always."""
    return f"{pattern.name} holds where {pattern.condition}" if pattern.condition else None


def progress_display(quiet: bool = False) -> Lines | Live | Quiet:
    """A live view on a terminal, plain lines in a pipe, nothing where that is asked for."""
    from intelliperf_swizzle.report.terminal import Lines, Live, Quiet

    if quiet:
        return Quiet()
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Live(sys.stderr) if terminal else Lines(sys.stderr)


def say(sentence: str) -> None:
    """Says a note beside the result."""
    print(f"note: {sentence}", file=sys.stderr)


VARIABLE = "_ARGCOMPLETE"


def offer_names(parser: argparse.ArgumentParser) -> None:
    """Has argcomplete offer what options and arguments may be called."""
    for action in parser._actions:
        if action.dest in _NAMES:
            action.completer = _NAMES[action.dest]  # type: ignore[attr-defined]


def _targets(prefix: str, **_: object) -> list[str]:
    from intelliperf_swizzle.hardware import targets

    return [*targets(), *_files(prefix, ".yaml")]


def _swizzles(prefix: str, **_: object) -> list[str]:
    from intelliperf_swizzle.formulas import patterns

    return [*(one.name for one in patterns()), *_files(prefix, ".yaml", ".yml", ".txt")]


def _files(prefix: str, *endings: str) -> list[str]:
    from argcomplete.completers import FilesCompleter

    return list(FilesCompleter(endings)(prefix))


_NAMES = {
    "target": _targets,
    "swizzle": _swizzles,
    "formula": lambda prefix, **_: [*FORMULAS, *_files(prefix, ".yaml")],
}


def complete(verbs: Sequence[str]) -> int:
    """Has the parser of the verb that is being typed offer what fits."""
    words = _typed()
    if not words or words[0] not in verbs:
        parser = Parser()
        if len(words) < 2 and not "".join(words).startswith("-"):
            parser.add_argument("verb", choices=verbs)
        add_options(parser)
        parser.parse_args([])
        return 0
    os.environ[VARIABLE] = str(int(os.environ[VARIABLE]) + 1)
    return run(words[0], words[1:])


def _typed() -> list[str]:
    """The words after the command, the one being typed included only if a space follows it."""
    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))]
    complete_words = line if line[-1:].isspace() else line.rpartition(" ")[0]
    try:
        return shlex.split(complete_words)[int(os.environ[VARIABLE]) :]
    except ValueError:  # a quotation that is still open
        return complete_words.split()[1:]
