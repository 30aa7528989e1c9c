# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A kernel configuration, recorded and traced without a GPU, and its replay under any order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import Protocol

import numpy as np

from accuracy.order_table import (
    PROBED_PROGRAMS,
    OrderTable,
    digest_of,
    first_programs,
    same_blocks,
    stream_under,
    under_order,
)
from intelliperf_swizzle.cache import FULL, Physics, add_division_time
from intelliperf_swizzle.cache.model import measurement, traffic, with_times
from intelliperf_swizzle.cache.stream import ReferenceStream, stream_of
from intelliperf_swizzle.errors import BuildError
from intelliperf_swizzle.frontends.triton.source import build
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.hardware.target import occupancy
from intelliperf_swizzle.records import Int64Array, Launch, Measurement, Trace
from intelliperf_swizzle.records.launches import as_text

MOST_PROGRAMS = 1 << 21
"""Programs of a launch that are replayed: 4 GB of memory and minutes are enough for so many."""


class Work(Protocol):
    """One launch of a configuration, as any order makes it."""

    def under(self, order: Int64Array) -> tuple[ReferenceStream, Int64Array]:
        """What the tiles refer to, and the tile of each launch index."""

    def text_under(self, order: Int64Array) -> str:
        """All that this follows from."""


@dataclass(frozen=True)
class Renumbered:
    """A launch whose program at `i` does what that of block `order[i]` does under no order.

    Attributes:
        text: all that the launch follows from.
        trace: by block.
        table: where the kernel reads its block from; None if the order is spliced in.
    """

    text: str
    trace: Trace
    table: OrderTable | None = None

    def under(self, order: Int64Array) -> tuple[ReferenceStream, Int64Array]:
        """The stream with the table's loads where they belong."""
        if self.table is None:
            return stream_of(self.trace), order
        return stream_under(self.trace, self.table, order), order

    def text_under(self, order: Int64Array) -> str:
        """That of the launch, and the order."""
        return f"{self.text} {self.table} {digest_of(order)}"


@dataclass(frozen=True)
class Retraced:
    """A launch that is traced under each order.

    Attributes:
        launch_under: gives the launch under an order.
    """

    launch_under: Callable[[Int64Array], Launch]

    def under(self, order: Int64Array) -> tuple[ReferenceStream, Int64Array]:
        """The stream of the unmodified launch under the order."""
        traced = trace(self.launch_under(order))
        return stream_of(traced), np.arange(traced.tiles)

    def text_under(self, order: Int64Array) -> str:
        """That of the launch under the order."""
        return as_text(self.launch_under(order))


@dataclass(frozen=True)
class Configuration:
    """A kernel at one size, ready to be replayed.

    Attributes:
        name: as the measurements call it.
        axes: extents of the blocks' index, slowest first.
        orders: launch index -> block, by name; integers, not all permutations.
        unreadable: names of mappings that are no arrays, and why.
        works: its launches, with the workgroups that a CU holds of each.
        notes: sentences for the report.
        seconds: wall time to record, build and trace it.
        divisions: by mapping, on the longest dependence chain of its swizzle; absent means none.
    """

    name: str
    axes: tuple[int, ...]
    orders: Mapping[str, Int64Array]
    unreadable: Mapping[str, str]
    works: Sequence[tuple[Work, int]]
    notes: tuple[str, ...]
    seconds: float
    divisions: Mapping[str, int] = field(default_factory=dict)

    @property
    def occupancy(self) -> int:
        """Workgroups that a CU holds of its first launch."""
        return self.works[0][1]

    def text_under(self, order: Int64Array) -> str:
        """All that a replay follows from, but for the target and the physics."""
        return repr([(work.text_under(order), resident) for work, resident in self.works])

    def replay(
        self, order: Int64Array, target: Target, physics: Sequence[Physics] = (FULL,)
    ) -> list[Measurement]:
        """What the model reads under an order, for each physics.

        Raises:
            TraceError: it must be traced under each order, and cannot be.
        """
        runs = [(*work.under(order), 1, resident) for work, resident in self.works]

        def replay(effects_: Physics) -> Measurement:
            parts = (traffic(run[0], run[1], target, run[3], effects_) for run in runs)
            return with_times(measurement(reduce(add, parts), target, effects_), runs, target)

        return [replay(effects) for effects in physics]

    def add_swizzle_time(self, modelled: Measurement, mapping: str, target: Target) -> Measurement:
        """What was modelled of a mapping, with the time of its swizzle's own divisions."""
        rounds = math.prod(self.axes) / (self.occupancy * target.cus)
        return add_division_time(modelled, self.divisions.get(mapping, 0), rounds, target)


def work_of(launch: Launch, table: OrderTable, probe: Int64Array, folder: Path) -> Work:
    """How to get the launch under an order from as few traces as will do.

    Of a launch of more than `MOST_PROGRAMS` programs the first ones are traced under each order.

    Args:
        launch: recorded under the order `probe`.
        table: the argument that holds it.
        probe: a random order.
        folder: for tables of other orders; must outlive the work.

    Raises:
        TraceError: the kernel cannot be interpreted.
    """
    identity = np.arange(len(probe))
    if launch.programs == len(probe) <= MOST_PROGRAMS:
        by_block = trace(under_order(launch, table, identity, folder / "identity.npy"))
        by_order = trace(first_programs(launch, PROBED_PROGRAMS))
        if same_blocks(by_block, by_order, probe, table):
            return Renumbered(as_text(launch), by_block, table)

    def launch_under(order: Int64Array) -> Launch:
        name = f"{launch.ordinal}-{digest_of(order)}.npy"
        return first_programs(under_order(launch, table, order, folder / name), MOST_PROGRAMS)

    return Retraced(launch_under)


def resident_workgroups(launch: Launch, target: Target) -> tuple[int, tuple[str, ...]]:
    """Workgroups that a CU holds, from the compiled kernel (1 if it does not build), and notes."""
    try:
        built = build(launch, target)
    except BuildError as error:
        return 1, (f"one workgroup a {target.cu_name} is assumed: {error.fact}",)
    spilled = built.stack_bytes or 0
    note = f"each thread spills {spilled} bytes to local memory, in the counters and not modelled"
    return occupancy(built, target), (note,) if spilled else ()
