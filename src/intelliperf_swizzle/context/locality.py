# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Who shares what with whom, computed from a trace: tensors, neighbours, waves, reuse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle import context, records
from intelliperf_swizzle.cache.stream import Touches, shared_lines, stream_of
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.readers import average

NEXT_TILES = 3
"""Distances to the next tile on the same lines that are listed; further ones are rare."""


def hardware_context(
    launch: records.Launch,
    trace: records.Trace,
    target: Target,
    *,
    occupancy: int,
    baseline: records.Measurement,
    ceiling: records.Ceiling,
    launches: Sequence[records.Launch] = (),
) -> context.HardwareContext:
    """The context of a kernel.

    Args:
        launch: its largest launch.
        trace: of that launch.
        target: the GPU.
        occupancy: workgroups on one CU.
        baseline: the measurement of the unmodified kernel, over all launches.
        ceiling: the bound, over all launches.
        launches: all distinct launches, if there are more.

    Cost: about half a second a million references.
    """
    domain_of, resident = target.domain_of(trace.runs_in), target.cus_per_xcd * occupancy
    if not target.deals_in_turn:  # who meets where is not known, so the L2 is taken for one
        domain_of, resident = np.zeros_like(domain_of), target.cus * occupancy
    order = _Order(trace, target, stream_of(trace).touches, domain_of, resident)
    return context.HardwareContext(
        launch=launch, launches=tuple(launches) or (launch,), target=target, baseline=baseline,
        ceiling=ceiling, tensors=_tensors(order),
        reuse=_reuse(order), wave=_wave(order, occupancy), trace=trace, sampled=order.touches.step,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Order:
    """Where and when the tiles of a launch run, unmodified.

    Attributes:
        trace: of the launch.
        target: the GPU.
        touches: which tile touches what.
        domain_of: int64[tiles].
        resident: workgroups on a domain at once.
    """

    trace: records.Trace
    target: Target
    touches: Touches
    domain_of: records.Int64Array
    resident: int

    @cached_property
    def wave_of(self) -> records.Int64Array:
        """In which wave of its domain each tile runs: int64[tiles]."""
        rounds, rank = self.trace.rounds, np.empty(self.trace.tiles, np.int64)
        order = rounds[np.argsort(self.domain_of[rounds], kind="stable")]
        domain = self.domain_of[order]
        rank[order] = np.arange(len(order)) - np.searchsorted(domain, domain)
        return rank // self.resident

    @cached_property
    def wave_bytes(self) -> records.Int64Array:
        """Distinct bytes of each wave of each domain: int64[domains, waves]."""
        touches, waves = self.touches, int(self.wave_of.max()) + 1
        where = (self.domain_of * waves + self.wave_of)[touches.tile]
        units = int(touches.unit.max(initial=0)) + 1
        _, once = np.unique(where * units + touches.unit, return_index=True)
        size = waves * self.target.num_xcds
        counts = np.bincount(where[once], weights=touches.lines[once], minlength=size)
        return counts.reshape(-1, waves).astype(np.int64) * touches.step * records.LINE_BYTES


# --- tensors ------------------------------------------------------------------------------------


def _tensors(order: _Order) -> tuple[context.TensorUse, ...]:
    trace, stream = order.trace, stream_of(order.trace)
    shared = [shared_lines(trace, _neighbours(trace, axis)) for axis in range(len(trace.grid))]
    segment_of = trace.segment_of(stream.unit_line[stream.unit_offset[:-1]])
    touched = np.unique(segment_of[order.touches.unit]).tolist()
    used = [_tensor(order, shared, number, segment_of == number) for number in touched]
    return tuple(sorted(used, key=lambda tensor: (-tensor.traffic_share, tensor.names)))


def _tensor(
    order: _Order, shared: Sequence[Mapping[int, float]], number: int, units: npt.NDArray[np.bool_]
) -> context.TensorUse:
    trace, touches = order.trace, order.touches.only(units)
    unit, tile, lines = touches.unit, touches.tile, touches.lines
    reads, writes, atomics = touches.kinds[units].sum(axis=0).tolist()
    first = np.flatnonzero(np.diff(unit, prepend=-1))
    line_touches = int(lines.sum())
    all_lines = int(stream_of(trace).unit_lines[units].sum())
    return context.TensorUse(
        names=trace.segments[number].names,
        touched_bytes=all_lines * records.LINE_BYTES,
        tile_bytes=line_touches * touches.step * records.LINE_BYTES / len(np.unique(tile)),
        reads=reads,
        writes=writes,
        atomics=atomics,
        passes=(reads + writes + atomics) / (line_touches * touches.step),
        traffic_share=(reads + writes + atomics) / max(1, int(touches.kinds.sum())),
        tiles_per_line=touches.tiles_per_line,
        domains_per_line=touches.domains_per_line(order.domain_of),
        most_tiles_per_line=int(np.diff(np.append(first, len(unit))).max()),
        shared_with_neighbour=tuple(
            share.get(number, 0.0) if extent > 1 else None
            for share, extent in zip(shared, trace.grid, strict=True)
        ),
        next_tiles=_next_tiles(unit, tile, lines),
    )


def _neighbours(trace: records.Trace, axis: int) -> records.Int64Array:
    """The next tile along an axis of each: int64[tiles], -1 where there is none."""
    extent, stride = trace.grid[axis], int(np.prod(trace.grid[:axis], dtype=np.int64))
    tiles = np.arange(trace.tiles)
    inner = (tiles // stride % extent < extent - 1) & (tiles + stride < trace.tiles)
    return np.where(inner, tiles + stride, -1)


def _next_tiles(
    unit: records.Int64Array, tile: records.Int64Array, lines: records.Int64Array
) -> tuple[context.NextTile, ...]:
    same = unit[1:] == unit[:-1]
    weight = lines[1:][same]
    distances, where = np.unique((tile[1:] - tile[:-1])[same], return_inverse=True)
    if not len(distances):
        return ()
    shares = np.bincount(where, weights=weight) / weight.sum()
    order = np.lexsort((distances, -shares))[:NEXT_TILES]
    return tuple(context.NextTile(int(distances[i]), float(shares[i])) for i in order)


# --- waves and reuse ----------------------------------------------------------------------------


def _wave(order: _Order, occupancy: int) -> context.Wave:
    touches, per_domain = order.touches, order.wave_bytes
    cell = order.wave_of[touches.tile] * (int(touches.unit.max(initial=0)) + 1) + touches.unit
    _, once = np.unique(cell, return_index=True)
    device = int(touches.lines[once].sum()) * touches.step * records.LINE_BYTES
    return context.Wave(
        occupancy=occupancy,
        workgroups_per_domain=order.resident,
        waves=per_domain.shape[1],
        domain_bytes=float(per_domain.sum() / max(1, np.count_nonzero(per_domain))),
        device_bytes=device / per_domain.shape[1],
    )


def _reuse(order: _Order) -> context.Reuse:
    touches = order.touches
    by_domain = np.lexsort((touches.tile, order.domain_of[touches.tile], touches.unit))
    unit, lines, tile = (array[by_domain] for array in (touches.unit, touches.lines, touches.tile))
    domain, wave = order.domain_of[tile], order.wave_of[tile]
    again = np.zeros(len(unit), bool)
    again[1:] = (unit[1:] == unit[:-1]) & (domain[1:] == domain[:-1])
    before = np.concatenate([[0], wave[:-1]])
    first_tile = np.full(int(unit.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first_tile, unit, tile)
    first = tile == first_tile[unit]
    later = again & (wave > before)
    total = max(1, lines.sum())
    until = np.cumsum(order.wave_bytes, axis=1)  # each wave's bytes once
    distance = until[domain, wave][later] - until[domain, before][later]
    fits = lines[later][distance <= order.target.meeting_l2_bytes].sum()
    shared = np.bincount(unit, minlength=len(first_tile)) > 1
    fetched = ~again & shared[unit]  # one per unit and domain
    _, once = np.unique(unit[fetched], return_index=True)
    return context.Reuse(
        first=float(lines[first].sum() / total),
        other_domain=float(lines[~again & ~first].sum() / total),
        same_wave=float(lines[again & ~later].sum() / total),
        earlier_wave=float(lines[later].sum() / total),
        distance_bytes=float(np.median(distance)) if len(distance) else None,
        distance_fits=float(fits / max(1, lines[later].sum())),
        domains_per_shared_line=float(lines[fetched].sum() / max(1, lines[fetched][once].sum())),
    )


def placement(
    names: Sequence[str], domains: Sequence[float], grid: records.Grid, of: tuple[int, str],
    about: str = "",
) -> str:  # fmt: skip
    """On how many domains a cache line of a tensor is used, before, and after a swizzle.

    Args:
        names: of the tensor's arguments.
        domains: on average; one number, or two.
        grid: of the launch.
        of: how many domains there are, and what they are called.
        about: what stands before a number that is an estimate.
    """
    what, (count, name) = ", ".join(names), of
    numbers = [average(number) for number in domains]
    if max(domains) >= ALONE:
        return f"a cache line of {what} is used on {about}{' → '.join(numbers)} of {count} {name}s"
    why = f": grid_0 % {count} == 0" if grid[0] % count == 0 and grid[1] > 1 else ""
    return f"a cache line of {what} is already used on one {name}{why}"


ALONE = 1.05
"""Domains per cache line, below which it counts as used on one."""

CLASSES: Mapping[str, str] = {
    "other_domain": "another {}",
    "capacity": "capacity",
    "conflict": "conflict",
    "compulsory": "compulsory",
}
"""The classes of `MissCauses`, and how they are called; `{}` is what the target calls a domain."""

MOST_TENSORS = 4
"""Tensors that are listed one by one, those with the most misses; a kernel has two or three."""


def total(causes: Sequence[records.MissCauses]) -> dict[str, int]:
    """The misses of each class, over all tensors."""
    return {name: sum(getattr(cause, name) for cause in causes) for name in CLASSES}


def of_hundred(counts: Mapping[str, int], requests: int) -> dict[str, int]:
    """The counts per hundred requests, in whole numbers whose sum is that of the counts, rounded.

    What is below one half may become 0 or 1, so that they add up (largest remainder).
    """
    exact = {name: 100 * count / max(1, requests) for name, count in counts.items()}
    whole = {name: int(value) for name, value in exact.items()}
    left = round(sum(exact.values())) - sum(whole.values())
    for name in sorted(exact, key=lambda name: whole[name] - exact[name])[: max(0, left)]:
        whole[name] += 1
    return whole


def describe_causes(causes: Sequence[records.MissCauses], domain_name: str = "L2") -> str:
    """`60 of 100 requests miss: 41 another XCD, 12 capacity, 7 compulsory; mostly B`."""
    counts = of_hundred(total(causes), sum(cause.requests for cause in causes))
    missed = sum(counts.values())
    if not missed:
        return "fewer than 1 of 100 requests miss"
    return f"{missed} of 100 requests miss: {_classes(counts, domain_name)}{_mostly(causes)}"


def _classes(counts: Mapping[str, int], domain_name: str) -> str:
    """Those that are not 0, the largest first."""
    largest = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{n} {CLASSES[name].format(domain_name)}" for name, n in largest if n)


def _mostly(causes: Sequence[records.MissCauses]) -> str:
    """Whose misses most of them are: one tensor's three fifths, or two tensors' four."""
    misses = sum(cause.misses for cause in causes)
    for number, share in ((1, 0.6), (2, 0.8)):
        leading = causes[:number]
        if len(causes) > number and sum(cause.misses for cause in leading) >= share * misses:
            return f"; mostly {' and '.join(', '.join(cause.names) for cause in leading)}"
    return ""


def describe_tensors(causes: Sequence[records.MissCauses], domain_name: str = "L2") -> str:
    """The same with what each tensor has of it: `…; A 41 (40 another XCD, 1 compulsory), …`."""
    requests = sum(cause.requests for cause in causes)
    tensors: list[str] = []
    for cause in causes[:MOST_TENSORS]:
        counts = of_hundred(total([cause]), requests)
        missed = sum(counts.values())
        if missed and len(causes) > 1:
            tensors.append(f"{', '.join(cause.names)} {missed} ({_classes(counts, domain_name)})")
    return "; ".join([describe_causes(causes, domain_name), *tensors])
