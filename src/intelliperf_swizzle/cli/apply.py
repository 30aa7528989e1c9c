# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`apply`: run an application with the swizzles of a file, and no source touched."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle.cli.arguments import PROGRAM, Parser, parse_with_application
from intelliperf_swizzle.errors import UsageError


def run(arguments: Sequence[str]) -> int:  # noqa: RET503 (the process becomes another program)
    """Becomes the application, in which each Python applies the swizzles once it imports Triton."""
    from intelliperf_swizzle.frontends.ports import Overlay, frontends

    parser = Parser(
        prog=f"{PROGRAM} apply",
        description="Run an application with the swizzles of a file: kernels change when they are"
        " compiled, sources stay.",
    )
    parser.add_argument("swizzles", metavar="SWIZZLES.JSON", help="a run writes it")
    parser.add_argument(
        "--vendor",
        action="store_true",
        help="write the module that applies swizzles to this file instead, for your own project",
    )
    [able, *_] = [one for one in frontends() if isinstance(one, Overlay)]
    if "--vendor" in arguments:
        file = Path(parser.parse_args(arguments).swizzles)
        shutil.copyfile(able.overlay_module, file)
        print(f"{file}: `with applied('swizzles.json'):` applies a file of swizzles")
        return 0
    options, command = parse_with_application(parser, arguments)
    file = Path(options.swizzles)
    if not file.is_file():
        raise UsageError(f"there is no file {file}", hint="a run writes swizzles.json")
    if shutil.which(command[0]) is None:
        raise UsageError(f"there is no program `{command[0]}`")
    sys.stdout.flush()
    os.execvpe(command[0], command, able.applying(file, os.environ))
