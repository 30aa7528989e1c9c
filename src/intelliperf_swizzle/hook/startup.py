# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Python runs `install` at start-up: it lets `intelliperf --formula swizzle` find us.

IntelliPerf has no plugins: its list of formulas is fixed. So that the list can be longer, a process
whose command says `intelliperf` shows its parser to `intelliperf_swizzle.host`, which is loaded
only then; other processes are left alone. `intelliperf-swizzle install-hook` put it here,
`intelliperf-swizzle remove-hook` removes it, `INTELLIPERF_SWIZZLE_DISABLE=1` switches it off. Where
the package itself is gone it does nothing.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOST, COMMAND = "intelliperf", "/intelliperf/__main__.py"
SWITCH = "INTELLIPERF_SWIZZLE_DISABLE"


def install() -> None:
    """Have the parser of IntelliPerf's command line shown to us, if this is its process."""
    if os.environ.get(SWITCH, "0") not in ("", "0") or not any(HOST in w for w in sys.orig_argv):
        return
    from argparse import ArgumentParser
    from importlib import import_module

    parse = ArgumentParser.parse_args

    def parse_args(parser: "ArgumentParser", args: "Any" = None, namespace: "Any" = None) -> "Any":
        if not sys._getframe(1).f_globals.get("__file__", "").endswith(COMMAND):
            return parse(parser, args, namespace)  # another program's, with a name like that
        try:
            host = import_module("intelliperf_swizzle.host")
        except ImportError:
            return parse(parser, args, namespace)
        return host.parse_as_host(parser, parse, args, namespace)

    ArgumentParser.parse_args = parse_args  # type: ignore[method-assign, assignment]
