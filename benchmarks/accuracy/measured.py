# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One measured pair of kernel configuration and mapping, read from a record of a JSON file."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intelliperf_swizzle.errors import UsageError

Middle = Callable[[Sequence[float]], float]
"""How several readings of one counter become one number."""


class UnusableError(Exception):
    """One pair or configuration cannot be compared; the message is the reason, in one line."""


@dataclass(frozen=True)
class MeasuredPair:
    """What was measured. Rates are from 0 to 1; None = not measured.

    Attributes:
        config: name of the kernel configuration.
        mapping: name of the order.
        hit_rate: L2 hit rate, on NVIDIA GPUs as the SMs see it.
        counter_hit_rate: as the profiler prints it, lookups between L2 partitions included; None
            where it is the same quotient.
        llc_hit_rate: of the last-level cache.
        time_ms: of one launch.
        profiled_time_ms: of one launch while it was profiled, a second reading.
        memory_read_bytes: from memory.
        occupancy: workgroups per CU, as the profiler says.
        axes: extents of the blocks' index, slowest first.
        spread_points: between the least and the greatest reading of the hit rate.
    """

    config: str
    mapping: str
    hit_rate: float
    counter_hit_rate: float | None = None
    llc_hit_rate: float | None = None
    time_ms: float | None = None
    profiled_time_ms: float | None = None
    memory_read_bytes: float | None = None
    occupancy: int | None = None
    axes: tuple[int, ...] | None = None
    spread_points: float = 0.0


def records_of(path: Path) -> list[Any]:
    """The records of a JSON file: a list, or a table with a list `records`.

    Raises:
        UsageError: the file cannot be read, is no JSON, or holds no records.
    """
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    records = stated.get("records") if isinstance(stated, Mapping) else stated
    if not isinstance(records, list) or not records:
        raise UsageError(f"{path} holds no records", hint="a list of tables, one a measured pair")
    return records


def read(
    record: Mapping[str, Any], config: str, mapping: str, middle: Middle = statistics.fmean
) -> MeasuredPair:
    """The reading of a record, whose fields hold a number or a list of repeated readings.

    Raises:
        UnusableError: it states no hit rate between 0 and 100 %.
    """
    rates = _sm_side(record)
    counter = numbers(record, "l2_hit_rate_pct")
    if not rates:
        rates, counter = counter, []
    if not rates:
        raise UnusableError("neither sm_side_hit_rate_pct nor l2_hit_rate_pct is a number")
    if not 0 <= middle(rates) <= 100:  # one reading may: counters of different passes
        raise UnusableError(f"a hit rate of {middle(rates):g} % is none")
    return MeasuredPair(
        config=config,
        mapping=mapping,
        hit_rate=middle(rates) / 100,
        counter_hit_rate=_scaled(counter, 100, middle),
        llc_hit_rate=_scaled(numbers(record, "llc_hit_rate_pct"), 100, middle),
        time_ms=_scaled(numbers(record, "time_ms"), 1, middle),
        profiled_time_ms=_scaled(numbers(record, "time_ns_under_ncu"), 1e6, middle),
        memory_read_bytes=_scaled(numbers(record, "dram_read_bytes"), 1, middle),
        occupancy=_occupancy(record.get("blocks_per_sm_limit")),
        axes=_axes(record.get("axes")),
        spread_points=max(rates) - min(rates),
    )


def numbers(record: Mapping[str, Any], field: str) -> list[float]:
    """The finite numbers that a field holds: none, one or several."""
    value = record.get(field)
    listed = value if isinstance(value, list) else [value]
    return [
        float(number)
        for number in listed
        if isinstance(number, (int, float))
        and not isinstance(number, bool)
        and math.isfinite(number)
    ]


def _sm_side(record: Mapping[str, Any]) -> list[float]:
    """Readings of the quotient that the SMs see, from its own field or from its counters."""
    rates = numbers(record, "sm_side_hit_rate_pct")
    if rates:
        return rates
    hits, sectors = (numbers(record, f"l1_to_l2_{name}") for name in ("sector_hits", "sectors"))
    return [100 * hit / all_ for hit, all_ in zip(hits, sectors, strict=False) if all_ > 0]


def _scaled(readings: Sequence[float], unit: float, middle: Middle) -> float | None:
    return middle(readings) / unit if readings else None


def _occupancy(limits: object) -> int | None:
    if not isinstance(limits, Mapping):
        return None
    known = [limit for name in limits for limit in numbers(limits, name)]
    return int(min(known)) if known else None


def _axes(axes: object) -> tuple[int, ...] | None:
    if not isinstance(axes, list) or not all(isinstance(extent, int) for extent in axes):
        return None
    return tuple(axes)
