# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The applications of this folder, recorded and traced without a GPU."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from accuracy.configuration import (
    Configuration,
    Renumbered,
    resident_workgroups,
)
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Int64Array, Launch
from intelliperf_swizzle.records.launches import as_text

BENCHMARKS = Path(__file__).parents[1]


def record_launches(command: Sequence[str], target: Target, scratch: Path) -> tuple[Launch, ...]:
    """The launches of an application, given as a script in `benchmarks/` and its arguments.

    Raises:
        CaptureError: they cannot be recorded.
    """
    script, *arguments = command
    launches: tuple[Launch, ...] = capture(
        RecordRequest(
            [sys.executable, str(BENCHMARKS / script), *arguments],
            folder=scratch / "capture",
            cwd=scratch,
            compute="never",
            target=target,
        )
    ).launches
    return launches


def configure(
    name: str,
    find_launch: Callable[[], Launch],
    find_mappings: Callable[[Launch], Mapping[str, Int64Array | str]],
    target: Target,
) -> Configuration:
    """A configuration of one launch, whose program at `i` does what that of block `order[i]` does.

    Args:
        name: of the configuration.
        find_launch: records it.
        find_mappings: launch index -> block by name, or why there is none.
        target: the GPU that it is built for.

    Raises:
        TraceError: the launch cannot be traced.
    """
    begun = time.monotonic()
    launch = find_launch()
    mappings = find_mappings(launch)
    resident, notes = resident_workgroups(launch, target)
    return Configuration(
        name=name,
        axes=tuple(launch.grid),
        orders={
            mapping: order for mapping, order in mappings.items() if not isinstance(order, str)
        },
        unreadable={
            mapping: order for mapping, order in mappings.items() if isinstance(order, str)
        },
        works=[(Renumbered(as_text(launch), trace(launch)), resident)],
        notes=notes,
        seconds=time.monotonic() - begun,
    )
