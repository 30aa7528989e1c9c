# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Our formulas as entry points, for a host that reads those of `intelliperf.formulas`.

The host asks for our options, parses, and calls the formula with what it has parsed. To a host that
reads no entry points, `parse_as_host` shows them when its command line is parsed (`hook`).
"""

import argparse
import copy
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from intelliperf_swizzle.children import clean_up
from intelliperf_swizzle.errors import SwizzleError, UsageError
from intelliperf_swizzle.options import FORMULAS, add_options
from intelliperf_swizzle.stopping import Interrupted, stopped_by_signals


class _Choices(list[str]):
    """The names of formulas; the path of a formula's YAML file is one of them too."""

    def __contains__(self, text: object) -> bool:
        return super().__contains__(text) or is_formula_file(text)


class _UnparsableError(Exception):
    """The command line cannot be parsed."""


def is_formula_file(text: object) -> bool:
    """Whether it is the path of a YAML file."""
    return isinstance(text, str) and text.endswith((".yaml", ".yml")) and Path(text).is_file()


def formula_action(parser: argparse.ArgumentParser) -> argparse.Action | None:
    """The option of the parser that chooses the formula from a list, or None."""
    for action in parser._actions:
        if action.dest == "formula" and isinstance(action.choices, list):
            return action
    return None


def list_ours(parser: argparse.ArgumentParser) -> None:
    """Adds our formulas, if one is chosen: to the choices, and to the help if it lists them."""
    action = formula_action(parser)
    if action is None:
        return
    known = list(action.choices or ())
    action.choices = _Choices([*known, *FORMULAS])
    if action.help and known and known[-1] in action.help:
        head, last, tail = action.help.rpartition(known[-1])
        if not head.endswith(("default: ", "default ")):
            action.help = f"{head}{last}, {', '.join(FORMULAS)}{tail}"


def with_ours(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The host's parser with our formulas and options; raises UsageError as `options.preset`."""
    list_ours(parser)
    add_options(parser, host=False)
    return parser


def chosen_formula(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> str | None:
    """What the arguments choose, whatever else is wrong with them; None if it cannot be seen.

    Args:
        parser: the host's, fresh: it is used up.
        arguments: of the command line.
    """

    def fail(message: str) -> None:
        raise _UnparsableError(message)

    list_ours(parser)
    add_options(parser, host=False, environment={})
    for action in parser._actions:
        action.type = None
        if action.dest != "formula":
            action.choices = None
    # `--help` says nothing and goes on, so that what comes after it is seen too.
    vars(parser).update(error=fail, print_help=lambda: None, exit=lambda: None)
    seen = argparse.Namespace(formula=None)
    with suppress(_UnparsableError):
        parser.parse_known_args(list(arguments), seen)
    chosen: str | None = seen.formula
    return chosen


class Swizzle:
    """A formula of the host; the options say which of our formulas."""

    @staticmethod
    def add_options(parser: argparse.ArgumentParser) -> None:
        """Adds our options to the host's parser."""
        try:
            add_options(parser, host=False)
        except UsageError as error:
            parser.error(str(error))

    @staticmethod
    def run(options: argparse.Namespace) -> int:
        """Runs the formula; the exit code.

        Args:
            options: the host's command line, parsed; `remaining` is the application's command.
        """
        command = ["--", *options.remaining]
        return exit_code_of(lambda: argparse.Namespace(**{**vars(options), "remaining": command}))


def exit_code_of(parse: Callable[[], argparse.Namespace]) -> int:
    """Parses and runs; what fails is printed as one error."""
    try:
        with stopped_by_signals():
            options = parse()
            from intelliperf_swizzle.host.command import run  # heavy, and --help has no need of it

            return run(options)
    except SwizzleError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except Interrupted as interrupted:
        print(interrupted, file=sys.stderr)
        clean_up()  # then the host ends as at any signal
        signal.signal(interrupted.number, signal.SIG_DFL)
        signal.raise_signal(interrupted.number)
        return interrupted.exit_code
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        print(f"error: {error.strerror or error}{where}", file=sys.stderr)
        return 1


def parse_as_host(
    parser: argparse.ArgumentParser, parse: Callable[..., object], *given: object
) -> object:
    """What the host's parser reads, with our formulas listed; runs ours if one is chosen.

    A parser that chooses no formula, or lists ours already, is left alone.

    Args:
        parser: whose `parse_args` was called.
        parse: what that is without us.
        given: what it was called with.
    """
    action = formula_action(parser)
    if action is None or FORMULAS[0] in (action.choices or ()):
        return parse(parser, *given)
    defaults = {id(a.default): a.default for a in parser._actions}  # streams have no copies
    chosen = chosen_formula(copy.deepcopy(parser, defaults), sys.argv[1:])
    if chosen in FORMULAS or is_formula_file(chosen):
        sys.exit(exit_code_of(lambda: with_ours(parser).parse_args()))
    list_ours(parser)
    return parse(parser, *given)
