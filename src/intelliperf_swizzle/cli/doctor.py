# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`doctor`: what is here, what is missing, and what would be used."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import PROGRAM, Parser
from intelliperf_swizzle.options import add_options, read_options

USAGE = f"""\
{PROGRAM} doctor [--json] [options of a run] [-- python app.py ...]"""


def run(arguments: Sequence[str]) -> int:
    """Prints the diagnosis; 1 where what is asked for cannot work."""
    parser = Parser(
        prog=f"{PROGRAM} doctor",
        usage=USAGE,
        description="Report what is installed, what a run would use, and how to get the rest.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_options(parser, "doctor")
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    namespace = parser.parse_args(own)

    from intelliperf_swizzle.doctor import as_json, as_text, diagnose

    diagnosis = diagnose(read_options(namespace))
    print(json.dumps(as_json(diagnosis), indent=2) if namespace.json else as_text(diagnosis))
    return 0 if diagnosis.works else 1
