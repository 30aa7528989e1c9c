# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How far the cache model lies from measured counters.

`folder`, `published` and `runs` read measurements and the kernels that they were taken of,
`configuration` records and traces those without a GPU, `table` replays them under the measured
orders, `compare` sets modelled beside measured, and `statistics` sums it up.
"""

from __future__ import annotations

from pathlib import Path

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.fidelity.compare import Fidelity, Measurements, Pair, compare
from intelliperf_swizzle.fidelity.folder import FolderOfMeasurements
from intelliperf_swizzle.fidelity.published import PublishedMeasurements
from intelliperf_swizzle.fidelity.runs import MeasuredRuns
from intelliperf_swizzle.hardware import Target

__all__ = ["Fidelity", "Measurements", "Pair", "compare", "measurements_at"]


def measurements_at(path: Path, target: Target) -> Measurements:
    """The measurements at a path: of a folder, of the target in a file of records, or of runs.

    Raises:
        UsageError: there are none, or they are unusable as a whole.
    """
    if path.is_dir():
        return FolderOfMeasurements(path)
    if path.suffix == ".jsonl" and path.is_file():
        return MeasuredRuns(path)
    if path.is_file():
        return PublishedMeasurements(path, target.name)
    raise UsageError(
        f"there are no measurements at {path}",
        hint="a folder with kernels.py, mappings.py and measured.json, or a file of records",
    )
