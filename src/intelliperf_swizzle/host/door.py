# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The front door: what happens where the host parses its command line.

Where one of our formulas is chosen, we run and the process ends; otherwise the host parses and
goes on as it always did, without a frame of ours on its stack.
"""

from __future__ import annotations

import sys
from types import ModuleType

from intelliperf_swizzle.host.formula import exit_code_of
from intelliperf_swizzle.host.parser import (
    chosen_formula,
    formula_action,
    host_parser,
    is_formula_file,
    ours_listed,
    with_ours,
)
from intelliperf_swizzle.options import FORMULAS


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
            sys.exit(exit_code_of(lambda: with_ours(fresh).parse_args()))
        with ours_listed():
            return build()

    module.intelliperf_parser = intelliperf_parser  # type: ignore[attr-defined]
