# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs that run an application: find a swizzle, `score` one, `explain` a kernel."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from intelliperf_swizzle import __version__, cli
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.options import Options, add_options, read_options

USAGE = f"""\
{cli.PROGRAM} [options] -- python app.py ...      find a swizzle for a Triton application
       {cli.PROGRAM} [options] -b make -- ./app          find a swizzle for a HIP or CUDA program
       {cli.PROGRAM} score SWIZZLE [options] -- python app.py ...
       {cli.PROGRAM} explain [options] -- python app.py ...
       {cli.PROGRAM} prove SWIZZLE --grid G [G ...]
       {cli.PROGRAM} prove --source kernel.py [-k KERNEL] -- python app.py ...
       {cli.PROGRAM} apply SWIZZLES.json -- python app.py ...
       {cli.PROGRAM} report RESULT.json [--format text|html|md] [-o FILE]
       {cli.PROGRAM} validate-model FOLDER --target TARGET [-o FILE]
       {cli.PROGRAM} overlay | patterns | targets | doctor | mcp | install-hook | remove-hook

SWIZZLE is a pattern's name, statements such as 'pid = num_pids - 1 - pid', a file of them or of
YAML, or - for standard input."""


def _parse(
    parser: cli.Parser, verb: str, arguments: Sequence[str]
) -> tuple[Options, tuple[str, ...], argparse.Namespace]:
    """The options of a verb, the application, and all that was parsed."""
    swizzle = " SWIZZLE" * (verb == "score")
    parser.usage = parser.usage or f"{parser.prog}{swizzle} [options] -- python app.py ..."
    add_options(parser, verb)
    namespace, command = cli.parse_with_application(parser, arguments)
    return read_options(namespace), command, namespace


def optimize(arguments: Sequence[str]) -> int:
    """Runs the loop and prints what it found."""
    parser = cli.Parser(
        prog=cli.PROGRAM,
        usage=USAGE,
        description="Find, prove and validate a workgroup swizzle for Triton, HIP or CUDA.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{cli.PROGRAM} {__version__}")
    options, command, _ = _parse(parser, "optimize", arguments)

    from intelliperf_swizzle.report.files import STDOUT
    from intelliperf_swizzle.report.terminal import kernels, show, summary
    from intelliperf_swizzle.search.deliver import deliver
    from intelliperf_swizzle.search.run import optimize_as_asked
    from intelliperf_swizzle.search.setup import invocation, prepare

    with cli.progress_display(options.quiet) as progress:
        setup = prepare(options, command, progress, invocation=invocation(cli.PROGRAM, arguments))
        try:
            outcome = optimize_as_asked(setup, progress, cli.say)
        except SwizzleError as error:
            if error.kernels:
                show(kernels(error.kernels), sys.stdout)
                cli.say("no kernel can be traced: no verdict and no result file")
            if options.output_file or not error.kernels:
                raise
            cli.say(str(error))
            return 0
    written, failure = [], None
    try:
        written = deliver(outcome, options)
    except OSError as error:
        failure = error
    stream = sys.stderr if options.output_file == STDOUT else sys.stdout
    show(summary(outcome.run, written, -1 if options.quiet else options.verbose), stream)
    if failure:
        raise SwizzleError(
            f"cannot write {failure.filename or outcome.folder}: {failure.strerror}",
            hint="the verdict and the swizzle are above; the remaining files were not written",
        )
    if outcome.interrupted:
        raise outcome.interrupted
    return 0


def score(arguments: Sequence[str]) -> int:
    """Prints the proof and the measurement; 1 if there is none.

    On a target of which it is not settled how many L2s it has, for each that it may be.
    """
    parser = cli.Parser(prog=f"{cli.PROGRAM} score", description="Prove and evaluate one swizzle.")
    parser.add_argument("swizzle", help=cli.SWIZZLE)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=cli.SET)
    options, command, namespace = _parse(parser, "score", arguments)

    from intelliperf_swizzle.hardware import variants
    from intelliperf_swizzle.report.terminal import scores, show
    from intelliperf_swizzle.search.score import score
    from intelliperf_swizzle.search.setup import prepare

    pattern = cli.swizzle_of(namespace.swizzle)
    text = pattern.bind(**cli.settings_of(namespace.set))
    with cli.progress_display(options.quiet) as progress:
        setup = prepare(options, command, progress)
        alike = [setup.target] if setup.device else variants(setup.target)
        setups = [replace(setup, target=target) for target in alike]
        results = score(text, pattern.name, setups, progress)
    for (found, known), target in zip(results, alike, strict=True):
        show(scores(found, known, target.name), sys.stdout)
    if found.attempt.verdict.kind == "not a swizzle":
        return 2
    return 0 if found.attempt.measurement else 1


def explain(arguments: Sequence[str]) -> int:
    """Prints the first calls whole, as DSPy sends them."""
    parser = cli.Parser(
        prog=f"{cli.PROGRAM} explain",
        description="Show what the formula would send to a language model about the kernel.",
    )
    options, command, _ = _parse(parser, "explain", arguments)

    from intelliperf_swizzle.propose.llm.transport import describe_question
    from intelliperf_swizzle.search.score import explain
    from intelliperf_swizzle.search.setup import prepare

    with cli.progress_display(options.quiet) as progress:
        questions = explain(prepare(options, command, progress), progress)
    for number, question in enumerate(questions, 1):
        print(f"# call {number}\n\n{describe_question(question)}")
    return 0
