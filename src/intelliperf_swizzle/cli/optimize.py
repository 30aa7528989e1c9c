# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`intelliperf-swizzle [options] -- app`: find a swizzle."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from intelliperf_swizzle import __version__
from intelliperf_swizzle.cli.arguments import (
    PROGRAM,
    Parser,
    add_host_options,
    parse_with_application,
    progress_display,
    say,
)
from intelliperf_swizzle.options import add_own_options

USAGE = f"""\
{PROGRAM} [options] -- python app.py ...      find a swizzle for a Triton application
       {PROGRAM} score SWIZZLE [options] -- python app.py ...
       {PROGRAM} explain [options] -- python app.py ...
       {PROGRAM} prove SWIZZLE --grid G [G ...]
       {PROGRAM} prove --source kernel.py [-k KERNEL] -- python app.py ...
       {PROGRAM} report RESULT.json [--format text|html|md] [-o FILE]
       {PROGRAM} validate-model FOLDER --target TARGET [-o FILE]
       {PROGRAM} patterns | targets | doctor | mcp

SWIZZLE is a pattern's name, a YAML file or - for standard input."""


def run(arguments: Sequence[str]) -> int:
    """Runs the loop and prints what it found."""
    parser = Parser(
        prog=PROGRAM,
        usage=USAGE,
        description="Find, prove and validate a workgroup swizzle for a Triton application.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    add_host_options(parser)
    add_own_options(parser)
    options, command = parse_with_application(parser, arguments)

    from intelliperf_swizzle.loop import optimize
    from intelliperf_swizzle.report.terminal import show, summary
    from intelliperf_swizzle.session import (
        STDOUT,
        finish,
        invocation,
        measured_by,
        proposer_of,
        run_build,
        settings_of,
        target_of,
    )

    settings = settings_of(options, command, say, invocation(PROGRAM, arguments))
    with progress_display(options.quiet) as progress:
        target = target_of(options, progress)
        settings, profiler = measured_by(options, settings, target, progress)
        proposer = proposer_of(options, progress)
        run_build(options.build_command, settings.project_directory)
        outcome = optimize(settings, target, profiler, proposer, progress)
    written = finish(options, settings, outcome)
    stream = sys.stderr if options.output_file == STDOUT else sys.stdout
    verbosity = -1 if options.quiet else options.verbose
    show(summary(outcome.run, written, verbosity), stream)
    if outcome.interrupted:
        raise outcome.interrupted
    return 0
