# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs of `intelliperf-swizzle`: parsing, printing and exit codes; no logic.

Exit codes: 0 the run completed, with or without improvement (`prove`: a permutation); 1 the
application, the capture or a tool failed (`prove`, `score`: not a permutation; `validate-model`:
something measured could not be compared); 2 bad usage or
input; 130 and 143 interrupted by SIGINT and SIGTERM; 124 at --seconds, before any search.
"""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from collections.abc import Sequence

from intelliperf_swizzle.children import leave
from intelliperf_swizzle.cli.arguments import run
from intelliperf_swizzle.errors import SwizzleError, UsageError
from intelliperf_swizzle.readers import utf8
from intelliperf_swizzle.stopping import Interrupted, stopped_by_signals

VERBS = (
    "prove",
    "score",
    "explain",
    "apply",
    "report",
    "mcp",
    "patterns",
    "targets",
    "doctor",
    "validate-model",
    "install-hook",
    "remove-hook",
)
"""Each is a function of its arguments that returns the exit code; without a verb, `optimize`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        for number, argument in enumerate(arguments, 1):
            utf8(argument, f"argument {number}")
        with stopped_by_signals():
            return _run_verb(arguments)
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
        where = f" {error.filename}" if error.filename else ""
        print(f"error: {error.strerror or error}{where}", file=sys.stderr)
        return 1


def _run_verb(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in VERBS:
        first = arguments[0] if arguments else "-"
        close = difflib.get_close_matches(first, VERBS, 1)
        if close and not first.startswith("-") and not shutil.which(first):
            raise UsageError(f"there is no verb `{first}`", hint=f"did you mean `{close[0]}`?")
        return run("optimize", arguments)
    return run(arguments[0], arguments[1:])
