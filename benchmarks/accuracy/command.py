# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`validate-model`: the cache model beside measured counters."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle.cli import PROGRAM, Parser, progress_display


def main(arguments: Sequence[str]) -> int:
    """Prints the comparison, of what there is if it is stopped.

    Returns:
        1 where something measured could not be compared.
    """
    parser = Parser(
        prog=f"{PROGRAM} validate-model",
        description="Set the cache model's L2 hit rates beside measured ones.",
        epilog="Exit code 1: something measured could not be compared; each such thing is named.",
    )
    parser.add_argument(
        "folder",
        type=Path,
        help="a folder with kernels.py, mappings.py and measured.json",
    )
    parser.add_argument("--target", default="h200", help="GPU that was measured (h200)")
    parser.add_argument("-o", "--output_file", type=Path, help="write all pairs as JSON")
    options = parser.parse_args(arguments)

    from accuracy import FolderOfMeasurements, ModelAccuracy, compare_each
    from accuracy.tables import as_table, table
    from intelliperf_swizzle.disk import user_cache, write_whole
    from intelliperf_swizzle.hardware import load_target
    from intelliperf_swizzle.stopping import interruptibly

    target = load_target(options.target)
    if options.output_file:
        options.output_file.parent.mkdir(parents=True, exist_ok=True)
    known: list[ModelAccuracy] = []

    def compare() -> None:
        measured = FolderOfMeasurements(options.folder)
        for so_far in compare_each(measured, target, progress, user_cache()):
            known[:] = [so_far]
            if options.output_file:
                text = json.dumps(as_table(so_far), indent=1, ensure_ascii=False)
                write_whole(options.output_file, f"{text}\n".encode())

    try:
        with progress_display() as progress:
            interruptibly(compare)
    finally:
        for so_far in known:
            for reason in so_far.skipped:
                print(f"skipped: {reason}", file=sys.stderr)
            print(table(so_far))
    return 1 if known[0].skipped else 0
