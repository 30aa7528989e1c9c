# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs of `intelliperf-swizzle`: parsing, printing and exit codes; no logic.

Exit codes: 0 the run completed, with or without improvement (`prove`: a permutation); 1 the
application, the capture or a tool failed (`prove`, `score`: not a permutation); 2 bad usage or
input; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from intelliperf_swizzle import __version__
from intelliperf_swizzle.children import ended_by_signals
from intelliperf_swizzle.errors import LanguageError, SwizzleError, UsageError
from intelliperf_swizzle.options import DEFAULT_TARGET, add_own_options, positive

if TYPE_CHECKING:
    from intelliperf_swizzle.formulas import Pattern
    from intelliperf_swizzle.report.terminal import Lines, Live

PROGRAM = "intelliperf-swizzle"
VERBS = ("prove", "score", "explain", "patterns", "targets")

USAGE = f"""\
{PROGRAM} [options] -- python app.py ...      find a swizzle for a Triton application
       {PROGRAM} score SWIZZLE [options] -- python app.py ...
       {PROGRAM} explain [options] -- python app.py ...
       {PROGRAM} prove SWIZZLE --grid G [G ...]
       {PROGRAM} patterns | targets

SWIZZLE is a pattern's name, a YAML file or - for standard input."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with ended_by_signals():
            return _dispatch(arguments)
    except SwizzleError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; what was tried is in the history file", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        print(f"error: {error.strerror or error}{where}", file=sys.stderr)
        return 1


def _dispatch(arguments: list[str]) -> int:
    verb = arguments[0] if arguments and arguments[0] in VERBS else None
    if verb == "patterns":
        return _patterns(arguments[1:])
    if verb == "targets":
        return _targets(arguments[1:])
    if verb == "prove":
        return _prove(arguments[1:])
    if verb == "score":
        return _score(arguments[1:])
    if verb == "explain":
        return _explain(arguments[1:])
    return _optimize(arguments)


# --- options ------------------------------------------------------------------------------------


def add_host_options(parser: argparse.ArgumentParser) -> None:
    """IntelliPerf's options, with IntelliPerf's meaning."""
    group = parser.add_argument_group("options of IntelliPerf")
    group.add_argument("-v", "--verbose", action="count", default=0, help="say more")
    group.add_argument("-b", "--build_command", help="run first, in the project directory")
    group.add_argument("-i", "--instrument_command", help="accepted; a swizzle needs none")
    group.add_argument(
        "-p", "--project_directory", default=".", help="where the application runs (default: here)"
    )
    group.add_argument("-f", "--formula", default="swizzle", help="the optimization target")
    group.add_argument("--top_n", type=positive, default=10, help="kernels to look at (10)")
    group.add_argument("--trace_path", help="also write each measured attempt's kernel here")
    group.add_argument(
        "--num_attempts", type=positive, default=10, help="candidates to validate at most (10)"
    )
    group.add_argument(
        "-t",
        "--accordo_absolute_tolerance",
        type=float,
        default=1e-6,
        help="for sums by atomics (1e-6); all other outputs must be the same bits",
    )
    group.add_argument("--unittest_command", help="must exit 0 with the swizzled kernel")
    group.add_argument("-m", "--model", default="gpt-4o", help="language model")
    group.add_argument("-r", "--provider", default="openai", help="its provider")
    group.add_argument("--internal", action="store_true", help="AMD's internal provider")
    group.add_argument(
        "-l", "--in_place", action="store_true", help="apply the best swizzle to your file"
    )
    group.add_argument(
        "-o", "--output_file", help="result file: .json, .csv or .txt; - for JSON on stdout"
    )
    group.add_argument("-k", "--kernel", help="the kernel (default: most to gain)")


class _Parser(argparse.ArgumentParser):
    """Reports bad usage as one error of ours."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"{self.prog} --help")


def _parse(parser: _Parser, arguments: Sequence[str]) -> tuple[argparse.Namespace, tuple[str, ...]]:
    """Options before `--`, the application after it."""
    own, separator, command = _split(arguments)
    options = parser.parse_args(own)
    if not separator or not command:
        raise UsageError(
            "no application is given", hint=f"{PROGRAM} [options] -- python app.py ..."
        )
    return options, command


def _split(arguments: Sequence[str]) -> tuple[list[str], bool, tuple[str, ...]]:
    if "--" not in arguments:
        return list(arguments), False, ()
    at = list(arguments).index("--")
    return list(arguments[:at]), True, tuple(arguments[at + 1 :])


# --- verbs --------------------------------------------------------------------------------------


def _optimize(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog=PROGRAM,
        usage=USAGE,
        description="Find, prove and validate a workgroup swizzle for a Triton application.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    add_host_options(parser)
    add_own_options(parser)
    options, command = _parse(parser, arguments)

    from intelliperf_swizzle.loop import optimize
    from intelliperf_swizzle.profile import choose_profiler
    from intelliperf_swizzle.report.terminal import console, summary
    from intelliperf_swizzle.session import (
        STDOUT,
        finish,
        proposer_of,
        run_build,
        settings_of,
        target_of,
    )

    settings = settings_of(options, command, _say)
    with _progress() as progress:
        target = target_of(options, progress)
        profiler = choose_profiler(options.profiler, target)
        proposer = proposer_of(options, progress)
        run_build(options.build_command, settings.project_directory)
        outcome = optimize(settings, target, profiler, proposer, progress)
    written = finish(options, settings, outcome)
    stream = sys.stderr if options.output_file == STDOUT else sys.stdout
    console(stream).print(summary(outcome.run, written))
    return 0


def _score(arguments: Sequence[str]) -> int:
    parser = _Parser(prog=f"{PROGRAM} score", description="Prove and measure one swizzle.")
    parser.add_argument("swizzle", help="a pattern's name, a YAML file or - for standard input")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    add_host_options(parser)
    add_own_options(parser)
    options, command = _parse(parser, arguments)

    from intelliperf_swizzle.loop import score
    from intelliperf_swizzle.profile import choose_profiler
    from intelliperf_swizzle.records import Candidate
    from intelliperf_swizzle.report.terminal import console, scored
    from intelliperf_swizzle.session import run_build, settings_of, target_of

    pattern, text = _swizzle(options.swizzle, options.set)
    settings = settings_of(options, command, _say)
    with _progress() as progress:
        target = target_of(options, progress)
        profiler = choose_profiler(options.profiler, target)
        run_build(options.build_command, settings.project_directory)
        candidate = Candidate(text, pattern.name, "user")
        subject, attempt = score(candidate, settings, target, profiler, progress)
    console(sys.stdout).print(scored(subject.kernel, subject.baseline, subject.ceiling, attempt))
    if attempt.verdict.kind == "not a swizzle":
        return 2
    return 0 if attempt.measurement else 1


def _explain(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog=f"{PROGRAM} explain",
        description="Say what the formula would tell a language model of the kernel.",
    )
    add_host_options(parser)
    add_own_options(parser)
    options, command = _parse(parser, arguments)

    from intelliperf_swizzle.context import render
    from intelliperf_swizzle.formula import load_formula
    from intelliperf_swizzle.loop import explain
    from intelliperf_swizzle.profile import choose_profiler
    from intelliperf_swizzle.session import run_build, settings_of, target_of

    formula = load_formula(options.formula)
    settings = settings_of(options, command, _say)
    with _progress() as progress:
        target = target_of(options, progress)
        profiler = choose_profiler(options.profiler, target)
        run_build(options.build_command, settings.project_directory)
        context = explain(settings, target, profiler, progress)
    for section in formula.context:
        print(f"## {section}\n\n{render(context, section, formula.counters)}\n")
    return 0


def _prove(arguments: Sequence[str]) -> int:
    parser = _Parser(prog=f"{PROGRAM} prove", description="Prove that a swizzle is a permutation.")
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
    grid = _grid(options.grid)
    pattern, text = _swizzle(options.swizzle, options.set)
    swizzle = parse(text)
    settings = _bindings(options.set)
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
            verdict, pattern.name, grid, num_xcds=target.num_xcds, hint=_condition_hint(pattern)
        )
        print(f"Refused: {refused}")
        return 1
    print(proved(pattern.name, verdict, target.num_xcds))
    return 0


def _patterns(arguments: Sequence[str]) -> int:
    _Parser(prog=f"{PROGRAM} patterns", description="List the catalogue.").parse_args(arguments)
    from intelliperf_swizzle.formulas import patterns
    from intelliperf_swizzle.report.terminal import catalogue, console

    console(sys.stdout).print(catalogue(patterns()))
    return 0


def _targets(arguments: Sequence[str]) -> int:
    _Parser(prog=f"{PROGRAM} targets", description="List the GPUs.").parse_args(arguments)
    from intelliperf_swizzle.hardware import load_target, targets
    from intelliperf_swizzle.report.terminal import console, gpus

    console(sys.stdout).print(gpus([load_target(name) for name in targets()]))
    return 0


# --- parts of verbs -----------------------------------------------------------------------------


def _swizzle(argument: str, settings: Sequence[str]) -> tuple[Pattern, str]:
    """The named, stored or piped swizzle, and its text with the parameters bound."""
    from intelliperf_swizzle.formulas import load_pattern, load_swizzle

    if argument == "-":
        pattern = load_swizzle(sys.stdin)
    elif Path(argument).suffix in (".yaml", ".yml") or Path(argument).is_file():
        pattern = load_swizzle(argument)
    else:
        pattern = load_pattern(argument)
    bound = {
        name: value for name, value in _bindings(settings).items() if name in pattern.parameters
    }
    return pattern, pattern.bind(**bound)


def _bindings(settings: Sequence[str]) -> dict[str, int]:
    bindings = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        try:
            bindings[name.strip()] = int(value, 0)
        except ValueError as error:
            raise UsageError(
                f"`--set {setting}` is not a name and a number", hint="--set cols=64"
            ) from error
        if not equals or not name.strip().isidentifier():
            raise UsageError(f"`--set {setting}` is not a name and a number", hint="--set cols=64")
    return bindings


def _grid(texts: Sequence[str]) -> tuple[int, int, int]:
    """`4096`, `64 64`, `64x64` or `1024,1024,2` as a grid of three axes."""
    parts = [part for text in texts for part in text.replace(",", " ").replace("x", " ").split()]
    if not 1 <= len(parts) <= 3 or not all(part.isdigit() for part in parts):
        raise UsageError(f"`{' '.join(texts)}` is not a grid", hint="--grid 4096 or --grid 64 64")
    x, y, z = (*map(int, parts), 1, 1)[:3]
    return x, y, z


def _condition_hint(pattern: Pattern) -> str | None:
    return f"{pattern.name} holds where {pattern.condition}" if pattern.condition else None


def _progress() -> Lines | Live:
    from intelliperf_swizzle.report.terminal import Lines, Live

    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Live(sys.stderr) if terminal else Lines(sys.stderr)


def _say(sentence: str) -> None:
    print(f"note: {sentence}", file=sys.stderr)
