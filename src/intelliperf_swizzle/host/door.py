# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The front door: what happens between the `intelliperf` command and the host's own `main`.

Where one of our formulas is chosen, we run; otherwise the host's `main` runs as it always did.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

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


def open_door(module: ModuleType) -> None:
    """Lets the host's `main` see our formulas, unless it already does.

    Args:
        module: `intelliperf.__main__`, imported.
    """
    main = getattr(module, "main", None)
    build = getattr(module, "intelliperf_parser", None)
    if main is None or build is None:
        return

    def enter() -> object:
        parser = host_parser(build)
        action = formula_action(parser) if parser else None
        if action is None or FORMULAS[0] in (action.choices or ()):
            return main()
        return _enter(build, main)

    enter.__doc__ = main.__doc__
    module.main = enter  # type: ignore[attr-defined]


def _enter(build: Callable[[], object], main: Callable[[], object]) -> object:
    parser = host_parser(build)
    assert parser is not None
    chosen = chosen_formula(parser, sys.argv[1:])
    if chosen not in FORMULAS and not is_formula_file(chosen):
        with ours_listed():
            return main()
    return _run(build)


def _run(build: Callable[[], object]) -> int:
    from intelliperf_swizzle.host.run import run

    parser = host_parser(build)
    assert parser is not None
    try:
        return run(with_ours(parser).parse_args())
    except SwizzleError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; what was tried is in the history file", file=sys.stderr)
        return 130
