# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`explain`: what a language model would be told of the kernel."""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import (
    PROGRAM,
    Parser,
    add_host_options,
    parse_with_application,
    progress_display,
    say,
)
from intelliperf_swizzle.options import add_own_options


def run(arguments: Sequence[str]) -> int:
    """Prints the sections of the formula's context."""
    parser = Parser(
        prog=f"{PROGRAM} explain",
        description="Say what the formula would tell a language model of the kernel.",
    )
    add_host_options(parser)
    add_own_options(parser)
    options, command = parse_with_application(parser, arguments)

    from intelliperf_swizzle.context import render
    from intelliperf_swizzle.formula import load_formula
    from intelliperf_swizzle.loop import explain
    from intelliperf_swizzle.session import measured_by, run_build, settings_of, target_of

    formula = load_formula(options.formula)
    settings = settings_of(options, command, say)
    with progress_display(options.quiet) as progress:
        target = target_of(options, progress)
        settings, profiler = measured_by(options, settings, target, progress)
        run_build(options.build_command, settings.project_directory)
        context = explain(settings, target, profiler, progress)
    for section in formula.context:
        print(f"## {section}\n\n{render(context, section, formula.counters)}\n")
    return 0
