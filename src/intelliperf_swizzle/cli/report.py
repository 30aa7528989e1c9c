# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`report`: show the result of an earlier run again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle.cli.arguments import PROGRAM, Parser
from intelliperf_swizzle.errors import UsageError


def run(arguments: Sequence[str]) -> int:
    """Renders a result file; nothing is run."""
    parser = Parser(
        prog=f"{PROGRAM} report", description="Show the result of an earlier run; runs nothing."
    )
    parser.add_argument("result", nargs="?", help="the result file, result.json")
    parser.add_argument("-o", "--output_file", help="write it here (default: standard output)")
    parser.add_argument(
        "--format", choices=("text", "html", "md"), help="(default: by -o's ending, else text)"
    )
    parser.add_argument(
        "--schema", action="store_true", help="print the JSON schema of result files instead"
    )
    options = parser.parse_args(arguments)

    from intelliperf_swizzle.report.files import FACES, face_name, write
    from intelliperf_swizzle.report.result import read_run, schema_text
    from intelliperf_swizzle.report.terminal import show, summary

    if options.schema:
        text = schema_text()
    elif options.result is None:
        raise UsageError("no result file is given", hint=f"{PROGRAM} report result.json")
    else:
        face = face_name(options.format, options.output_file)
        finished = read_run(Path(options.result))
        if face == "text" and not options.output_file:
            show(summary(finished), sys.stdout)
            return 0
        text = FACES[face](finished)
    if options.output_file:
        write(Path(options.output_file), text)
    else:
        sys.stdout.write(text)
    return 0
