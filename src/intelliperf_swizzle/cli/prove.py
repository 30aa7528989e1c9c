# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verb that proves, as a function of its arguments that returns the exit code."""

from collections.abc import Sequence

from intelliperf_swizzle import cli
from intelliperf_swizzle.errors import LanguageError
from intelliperf_swizzle.options import DEFAULT_TARGET, add_options
from intelliperf_swizzle.readers import grid

PROVE = f"""\
{cli.PROGRAM} prove SWIZZLE --grid G [G ...] [--set NAME=VALUE]
       {cli.PROGRAM} prove --source kernel.py [-k KERNEL] [--sweep] -- python app.py ..."""


def prove(arguments: Sequence[str]) -> int:
    """Prints the proof or the witness; returns 1 unless it is proved to be a permutation."""
    if "--" in arguments or any(argument.split("=")[0] == "--source" for argument in arguments):
        return _run_source(arguments)
    return _run_swizzle(arguments)


def _run_source(arguments: Sequence[str]) -> int:
    parser = cli.Parser(
        prog=f"{cli.PROGRAM} prove",
        usage=PROVE,
        description="Prove the remap that a kernel already has, on the grids it is launched with.",
    )
    parser.add_argument("--source", required=True, help="the file of the kernel, or of its remap")
    parser.add_argument(
        "--sweep", action="store_true", help="also look at each launch at other sizes"
    )
    parser.add_argument("--target", default=DEFAULT_TARGET, help=f"GPU (default: {DEFAULT_TARGET})")
    add_options(parser, "prove_source")
    options, command = cli.parse_with_application(parser, arguments)

    from intelliperf_swizzle.proofs import prove_source
    from intelliperf_swizzle.report.sentences import describe_remap

    with cli.progress_display() as progress:
        verdicts = prove_source(command, progress=progress, **vars(options))
    print("\n".join(describe_remap(verdict) for verdict in verdicts))
    return 0 if all(verdict.kind == "permutation" for verdict in verdicts) else 1


def _run_swizzle(arguments: Sequence[str]) -> int:
    parser = cli.Parser(
        prog=f"{cli.PROGRAM} prove",
        usage=PROVE,
        description="Prove that a swizzle is a permutation.",
    )
    parser.add_argument("swizzle", help=cli.SWIZZLE)
    parser.add_argument(
        "--grid", nargs="+", required=True, metavar="G", help="programs along the axes: 4096, 64 64"
    )
    parser.add_argument("--target", default=DEFAULT_TARGET, help=f"GPU (default: {DEFAULT_TARGET})")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=cli.SET)
    options = parser.parse_args(arguments)

    from intelliperf_swizzle.mapping import refusal
    from intelliperf_swizzle.proofs import prove_with, target_of
    from intelliperf_swizzle.records import Witness
    from intelliperf_swizzle.report.sentences import proved

    target, extents = target_of(options.target), grid(options.grid)
    pattern = cli.swizzle_of(options.swizzle)
    verdict = prove_with(pattern, extents, cli.settings_of(options.set), target)
    if not isinstance(verdict, Witness):
        print(proved(pattern.name, verdict, target.domain_count))
        return 0
    if verdict.failure is not None:
        raise LanguageError(verdict.failure)
    domains, hint = target.domain_count, cli.condition_hint(pattern)
    print(f"Refused: {refusal(verdict, pattern.name, extents, domains=domains, hint=hint)}")
    return 1
