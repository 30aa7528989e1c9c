# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The front door: what happens where the host parses its command line.

Where one of our formulas is chosen, we run and the process ends; otherwise the host parses and
goes on as it always did, without a frame of ours on its stack.
"""

from __future__ import annotations

import argparse
import sys
from types import ModuleType

from intelliperf_swizzle.children import leave
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.host.parser import (
    chosen_formula,
    formula_action,
    host_parser,
    is_formula_file,
    ours_listed,
    with_ours,
)
from intelliperf_swizzle.options import FORMULAS
from intelliperf_swizzle.stopping import Interrupted, stopped_by_signals


def open_door(module: ModuleType) -> None:
    """Lets the host's parser see our formulas, unless it already does.

    Args:
        module: `intelliperf.__main__`, imported.
    """
    build = getattr(module, "intelliperf_parser", None)
    if build is None:
        return

    def intelliperf_parser() -> object:
        parser = host_parser(build)
        action = formula_action(parser) if parser else None
        if parser is None or action is None or FORMULAS[0] in (action.choices or ()):
            return build()
        chosen = chosen_formula(parser, sys.argv[1:])
        if (chosen in FORMULAS or is_formula_file(chosen)) and (fresh := host_parser(build)):
            sys.exit(_run(fresh))
        with ours_listed():
            return build()

    module.intelliperf_parser = intelliperf_parser  # type: ignore[attr-defined]


def _run(parser: argparse.ArgumentParser) -> int:
    try:
        with stopped_by_signals():
            options = with_ours(parser).parse_args()
            from intelliperf_swizzle.host.run import run  # heavy, and --help has no need of it

            return run(options)
    except SwizzleError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except Interrupted as signal:
        print(signal, file=sys.stderr)
        leave(signal.exit_code)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        print(f"error: {error.strerror or error}{where}", file=sys.stderr)
        return 1
