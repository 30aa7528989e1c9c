# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the shell offers after TAB, by argcomplete; see `docs/agents.md` for the one line it needs.

argcomplete starts the command with `_ARGCOMPLETE` set to the number of words before the first
argument, and the line typed so far in `COMP_LINE`; what parses it then offers what fits.
"""

from __future__ import annotations

import importlib
import os
import shlex
from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import Parser
from intelliperf_swizzle.options import add_options

VARIABLE = "_ARGCOMPLETE"


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
    module = importlib.import_module(f"intelliperf_swizzle.cli.{words[0].replace('-', '_')}")
    return int(module.run(words[1:]))


def _typed() -> list[str]:
    """The words after the command, the one being typed included only if a space follows it."""
    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))]
    complete_words = line if line[-1:].isspace() else line.rpartition(" ")[0]
    try:
        return shlex.split(complete_words)[int(os.environ[VARIABLE]) :]
    except ValueError:  # a quotation that is still open
        return complete_words.split()[1:]
