# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`score`: prove and measure one swizzle."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import (
    PROGRAM,
    SWIZZLE,
    Parser,
    parse_with_application,
    progress_display,
    swizzle_of,
)
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.options import add_options, read_options
from intelliperf_swizzle.readers import bindings


def run(arguments: Sequence[str]) -> int:
    """Prints the proof and the measurement; 1 where there is none."""
    parser = Parser(prog=f"{PROGRAM} score", description="Prove and evaluate one swizzle.")
    parser.add_argument("swizzle", help=SWIZZLE)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    add_options(parser, "score")
    namespace, command = parse_with_application(parser, arguments)
    options = read_options(namespace)

    from intelliperf_swizzle.language import INPUTS
    from intelliperf_swizzle.records import Candidate
    from intelliperf_swizzle.report.terminal import scored, show
    from intelliperf_swizzle.search.run import score
    from intelliperf_swizzle.search.setup import prepare
    from intelliperf_swizzle.search.user_commands import run_build

    bound = bindings(namespace.set, INPUTS)
    pattern, text = swizzle_of(namespace.swizzle, bound)
    for name in bound.keys() - pattern.parameters.keys():
        raise UsageError(
            f"`{pattern.name}` has no parameter `{name}`",
            hint=f"its parameters are: {', '.join(pattern.parameters) or 'none'}",
        )
    with progress_display(options.quiet) as progress:
        setup = prepare(options, command, progress)
        run_build(setup)
        subject, attempt = score(Candidate(text, pattern.name, "user"), setup, progress)
    show(
        scored(subject.kernel, subject.baseline, subject.ceiling, attempt, subject.cautions),
        sys.stdout,
    )
    if attempt.verdict.kind == "not a swizzle":
        return 2
    return 0 if attempt.measurement else 1
