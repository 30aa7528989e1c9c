# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`explain`: what a language model would be sent of the kernel."""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import (
    PROGRAM,
    Parser,
    parse_with_application,
    progress_display,
)
from intelliperf_swizzle.options import add_options, read_options


def run(arguments: Sequence[str]) -> int:
    """Prints the first calls whole, as DSPy sends them."""
    parser = Parser(
        prog=f"{PROGRAM} explain",
        description="Say what the formula would tell a language model of the kernel.",
    )
    add_options(parser, "explain")
    namespace, command = parse_with_application(parser, arguments)
    options = read_options(namespace)

    from intelliperf_swizzle.propose.llm.prompt import first_questions
    from intelliperf_swizzle.propose.llm.transport import shown
    from intelliperf_swizzle.search.setup import prepare
    from intelliperf_swizzle.search.single import explain
    from intelliperf_swizzle.search.user_commands import run_build

    with progress_display(options.quiet) as progress:
        setup = prepare(options, command, progress)
        run_build(setup)
        context = explain(setup, progress)
    for number, question in enumerate(first_questions(setup.formula, context), 1):
        print(f"# call {number}\n\n{shown(question)}")
    return 0
