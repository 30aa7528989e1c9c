# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`prove`: is a swizzle, or the remap that a kernel has already, a permutation?"""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import (
    PROGRAM,
    SWIZZLE,
    Parser,
    condition_hint,
    parse_with_application,
    progress_display,
    swizzle_of,
)
from intelliperf_swizzle.errors import LanguageError, UsageError
from intelliperf_swizzle.options import DEFAULT_TARGET
from intelliperf_swizzle.readers import bindings, grid, seconds

USAGE = f"""\
{PROGRAM} prove SWIZZLE --grid G [G ...] [--set NAME=VALUE]
       {PROGRAM} prove --source kernel.py [-k KERNEL] [--sweep] -- python app.py ..."""


def prove(arguments: Sequence[str]) -> int:
    """Prints the proof or the witness; 1 where it is no permutation, or where it is not known."""
    if "--" in arguments or any(one.split("=")[0] == "--source" for one in arguments):
        return _run_source(arguments)
    return _run_swizzle(arguments)


def _run_source(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog=f"{PROGRAM} prove",
        usage=USAGE,
        description="Prove the remap that a kernel has already, on the grids it is launched with.",
    )
    parser.add_argument("--source", required=True, help="the file of the kernel, or of its remap")
    parser.add_argument("-k", "--kernel", help="only this kernel of the file")
    parser.add_argument(
        "--sweep", action="store_true", help="also look at each launch at other sizes"
    )
    parser.add_argument("-p", "--project_directory", default=".", help="where the application runs")
    parser.add_argument(
        "--target", default=DEFAULT_TARGET, help="GPU that the application is told of"
    )
    parser.add_argument(
        "--limit_seconds", type=seconds, default=300.0,
        help="end the application if it takes longer (default: 300)",
    )  # fmt: skip
    parser.add_argument(
        "--no_cache", "--no-cache", action="store_true",
        help="look anew at launches that an earlier run has looked at",
    )  # fmt: skip
    options, command = parse_with_application(parser, arguments)

    from intelliperf_swizzle.api import prove_source
    from intelliperf_swizzle.report.words import describe_remap

    with progress_display() as progress:
        verdicts = prove_source(command, progress=progress, **vars(options))
    print("\n".join(describe_remap(verdict) for verdict in verdicts))
    return 0 if all(verdict.kind == "permutation" for verdict in verdicts) else 1


def _swizzle_parser() -> Parser:
    parser = Parser(
        prog=f"{PROGRAM} prove", usage=USAGE, description="Prove that a swizzle is a permutation."
    )
    parser.add_argument("swizzle", help=SWIZZLE)
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
    return parser


def _run_swizzle(arguments: Sequence[str]) -> int:
    options = _swizzle_parser().parse_args(arguments)

    from intelliperf_swizzle.hardware import load_target
    from intelliperf_swizzle.language import INPUTS, parse
    from intelliperf_swizzle.mapping import extend, prove, refusal
    from intelliperf_swizzle.records import Witness
    from intelliperf_swizzle.report.words import proved

    target = load_target(options.target)
    extents = grid(options.grid)
    settings = bindings(options.set, INPUTS)
    pattern, text = swizzle_of(options.swizzle, settings)
    swizzle = parse(text)
    unread = set(settings) - set(pattern.parameters) - swizzle.names
    if unread:
        raise UsageError(
            f"`{pattern.name}` does not read `{sorted(unread)[0]}`",
            hint=f"its parameters are: {', '.join(pattern.parameters) or 'none'}",
        )
    constants = {name: settings[name] for name in set(settings) - set(pattern.parameters)}
    xcds, cus = target.num_xcds, target.cus_per_xcd
    verdict = prove(swizzle, extents, constants, num_xcds=xcds, cus_per_xcd=cus)
    if isinstance(verdict, Witness):
        if verdict.failure is not None:
            raise LanguageError(verdict.failure)
        refused = refusal(
            verdict,
            pattern.name,
            extents,
            domains=target.domain_count,
            hint=condition_hint(pattern),
        )
        print(f"Refused: {refused}")
        return 1
    whole = extend(verdict, swizzle, num_xcds=xcds, cus_per_xcd=cus)
    print(proved(pattern.name, whole, target.domain_count))
    return 0
