# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Our formulas as entry points, for a host that reads those of `intelliperf.formulas`.

The host asks for our options, parses, and calls the formula with what it has parsed.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable

from intelliperf_swizzle.children import clean_up
from intelliperf_swizzle.errors import SwizzleError, UsageError
from intelliperf_swizzle.options import add_options
from intelliperf_swizzle.stopping import Interrupted, stopped_by_signals


class Swizzle:
    """A formula of the host; the options say which of ours."""

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
            from intelliperf_swizzle.host.run import run  # heavy, and --help has no need of it

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
