# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`doctor`: what is here, what is missing, and what would be used."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import PROGRAM, Parser, add_host_options
from intelliperf_swizzle.options import add_own_options

USAGE = f"""\
{PROGRAM} doctor [--json] [options of a run] [-- python app.py ...]"""


def run(arguments: Sequence[str]) -> int:
    """Prints the diagnosis; 1 where what is asked for cannot work."""
    parser = Parser(
        prog=f"{PROGRAM} doctor",
        usage=USAGE,
        description="Say what is here, what is missing, what would be used, and what mends it.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_host_options(parser)
    add_own_options(parser)
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    options = parser.parse_args(own)

    from intelliperf_swizzle.doctor import Wishes, as_json, as_text, diagnose

    wishes = Wishes(
        target=options.target,
        profiler=options.profiler,
        device=getattr(options, "device", None),
        proposer=options.proposer,
        formula=options.formula,
        model=options.model,
        provider=options.provider,
        internal=options.internal,
    )
    diagnosis = diagnose(wishes)
    print(json.dumps(as_json(diagnosis), indent=2) if options.json else as_text(diagnosis))
    return 0 if diagnosis.works else 1
