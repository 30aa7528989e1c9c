# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`prove`: is a swizzle a permutation on a grid?"""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import (
    PROGRAM,
    Parser,
    bindings_of,
    condition_hint,
    grid_of,
    swizzle_of,
)
from intelliperf_swizzle.errors import LanguageError, UsageError
from intelliperf_swizzle.options import DEFAULT_TARGET


def run(arguments: Sequence[str]) -> int:
    """Prints the proof or the witness; 1 where it is no permutation."""
    parser = Parser(prog=f"{PROGRAM} prove", description="Prove that a swizzle is a permutation.")
    parser.add_argument("swizzle", help="a pattern's name, a YAML file or - for standard input")
    parser.add_argument(
        "--grid", nargs="+", required=True, metavar="G", help="programs along the axes: 4096, 64 64"
    )
    parser.add_argument("--target", default=DEFAULT_TARGET, help=f"GPU ({DEFAULT_TARGET})")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the pattern, or an argument of the kernel",
    )
    options = parser.parse_args(arguments)

    from intelliperf_swizzle.hardware import load_target
    from intelliperf_swizzle.language import parse
    from intelliperf_swizzle.mapping import prove, refusal, sweep_grids
    from intelliperf_swizzle.records import Witness
    from intelliperf_swizzle.report.words import proved

    target = load_target(options.target)
    grid = grid_of(options.grid)
    pattern, text = swizzle_of(options.swizzle, options.set)
    swizzle = parse(text)
    settings = bindings_of(options.set)
    unread = set(settings) - set(pattern.parameters) - swizzle.names
    if unread:
        raise UsageError(
            f"`{pattern.name}` does not read `{sorted(unread)[0]}`",
            hint=f"its parameters are: {', '.join(pattern.parameters) or 'none'}",
        )
    constants = {name: settings[name] for name in set(settings) - set(pattern.parameters)}
    verdict = prove(
        swizzle,
        grid,
        constants,
        num_xcds=target.num_xcds,
        cus_per_xcd=target.cus_per_xcd,
        sweep=sweep_grids(grid),
    )
    if isinstance(verdict, Witness):
        if verdict.failure is not None:
            raise LanguageError(verdict.failure)
        refused = refusal(
            verdict, pattern.name, grid, num_xcds=target.num_xcds, hint=condition_hint(pattern)
        )
        print(f"Refused: {refused}")
        return 1
    print(proved(pattern.name, verdict, target.num_xcds))
    return 0
