# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The context as text, section by section; pure functions from the record to text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from intelliperf_swizzle.context import HardwareContext
from intelliperf_swizzle.context.locality import describe_tensors, placement
from intelliperf_swizzle.hardware import BitRule, Target, load_target, targets
from intelliperf_swizzle.hardware.target import FOLDER
from intelliperf_swizzle.readers import average, count, factor, milliseconds, percent, points, size
from intelliperf_swizzle.records import LINE_BYTES, Access, Int64Array, Launch, Measurement, Trace

if TYPE_CHECKING:
    import jinja2

ROUNDS = 3
"""Rounds of the dispatch that the worked example shows."""

SHARED_FROM, PASSES_FROM = 1.05, 1.5
"""Tiles a line from which a tensor counts as shared, and accesses a line as read more than once."""
OVERLOAD_ROWS = 1500
"""Rows of each of the unfiltered tables."""


def _domains(rates: tuple[float, ...]) -> str:
    return f"{percent(min(rates))} lowest, {percent(max(rates))} highest of {len(rates)} L2s"


COUNTERS: Mapping[str, tuple[str, Callable[..., str]]] = {
    "l2_hit_rate": ("L2 hit rate", percent),
    "l2_hit_rate_per_domain": ("hit rate of each L2", _domains),
    "llc_hit_rate": ("last-level cache hit rate", percent),
    "l2_requests": ("L2 requests", "{:,}".format),
    "l2_bytes": ("bytes from L2", size),
    "llc_bytes": ("bytes between L2 and last-level cache", size),
    "memory_bytes": ("bytes from memory", size),
    "compulsory_bytes": ("bytes of distinct lines, each fetched once", size),
    "balance": ("requests of the least-loaded L2 / of the most-loaded", "{:.3f}".format),
    "imbalance": ("load imbalance: the last workgroup's end / the earliest possible", factor),
    "time_ms": ("time", milliseconds),
    "modelled_memory_time_ms": ("modelled memory time", milliseconds),
    "arithmetic_time_ms": ("arithmetic alone takes", milliseconds),
    "overlapped_time_ms": ("modelled time of L2, memory and arithmetic", milliseconds),
    "causes": ("why (modelled)", describe_tensors),
}
"""Fields of a measurement by what people call them, and how they are written."""


def counter_rows(measured: Measurement, counters: Collection[str]) -> Iterator[tuple[str, str]]:
    """Name and value of those counters that were collected, in the order of `counters`."""
    for counter in counters:
        value = getattr(measured, counter)
        if value is not None:
            name, write = COUNTERS[counter]
            yield name, write(value)


def render(context: HardwareContext, section: str, counters: Collection[str]) -> str:
    """One section of the context as text.

    Args:
        context: the record.
        section: one of `SECTIONS`.
        counters: those of `COUNTERS` that matter to whoever reads it.
    """
    if section in _WHOLE:
        return _WHOLE[section](context)
    view = _template().new_context({**vars(context), **_view(context), "counters": counters})
    return "".join(_template().blocks[section](view)).strip("\n")


@functools.cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        counter_rows=counter_rows, percent=percent, points=points, size=size, count=count,
        bits=_bits, speed="{:,.0f} GB/s".format, axes=_axes, described=_one_launch,
        placement=placement, average=average, line_bytes=LINE_BYTES,
        shared_from=SHARED_FROM, passes_from=PASSES_FROM,
    )  # fmt: skip
    return environment.get_template("sections.j2")


def _view(context: HardwareContext) -> dict[str, Any]:
    """What the template shows beside the fields of the context."""
    target, launch, cycle = context.target, context.launch, context.target.dispatch_domains
    shown, domains = min(launch.programs, ROUNDS * len(cycle)), len(cycle)
    places = [f"{i} {_tile(launch, i)} -> {cycle[i % domains]}" for i in range(shown)]
    usual = cycle == tuple(range(domains))
    return {
        "read": context.baseline,
        "ceiling": context.ceiling.l2_hit_rate,
        "reachable": min(context.ceiling.l2_hit_rate, _with_these_requests(context.baseline)),
        "domain": target.domain_name,
        "cu": target.cu_name,
        "in_turn": target.deals_in_turn,
        "place": f"i % {domains}" if usual else f"{list(cycle)}[i % {domains}]",
        "rounds": [places[first : first + domains] for first in range(0, shown, domains)],
        "own_tiles": np.flatnonzero(launch.loop.program == 0)[:4].tolist() if launch.loop else [],
        "others": [other for other in context.launches if other is not launch],
    }


def _with_these_requests(measured: Measurement) -> float:
    """The highest L2 hit rate of as many requests; 1 if it is not known why they miss.

    The ceiling is of all requests that programs make, the L1s' hits included, so it is far higher
    if the L1s serve most of them.
    """
    causes = measured.causes or ()
    requests = sum(cause.requests for cause in causes)
    return 1 - sum(cause.compulsory for cause in causes) / requests if requests else 1.0


def _bits(rule: BitRule) -> str:
    """`0^16, 1^17, 4`: each index bit is the parity of the line bits joined by `^`."""
    return ", ".join("^".join(map(str, bits)) for bits in rule)


def _axes(launch: Launch) -> int:
    """How many axes of the grid are used; at least one."""
    return max([1, *(axis + 1 for axis in range(3) if launch.grid[axis] > 1)])


def _tile(launch: Launch, index: int) -> str:
    places = np.unravel_index(index, launch.grid[: _axes(launch)], order="F")
    return f"({', '.join(map(str, places))})"


def _one_launch(launch: Launch) -> str:
    grid = " x ".join(str(extent) for extent in launch.grid[: _axes(launch)])
    constants = ", ".join(f"{name} = {value}" for name, value in launch.constants.items())
    reads = ", ".join(f"pid_{axis}" for axis in range(_axes(launch)))
    return (
        f"{launch.kernel} on a grid of {grid} programs ({reads}; {launch.programs} in all), "
        f"integer arguments: {constants or 'none'}"
    )


def _source(context: HardwareContext) -> str:
    source = context.launch.source
    others = [function.text for key, function in source.functions.items() if key != source.kernel]
    return "\n\n".join(text.rstrip() for text in [source.entry.text, *others])


def _fields(record: Measurement | Target) -> str:
    return "\n".join(f"{name} = {value}" for name, value in asdict(record).items())


def _everything(context: HardwareContext) -> str:
    """All there is, unfiltered: every counter, every tile, every GPU."""
    counts = _tile_accesses(context.trace)
    tiles = [
        f"{tile} {_tile(context.launch, tile)}: {reads} {writes} {atomics}"
        for tile, (reads, writes, atomics) in enumerate(counts)
    ]
    return "\n\n".join(
        [
            "Counters:\n" + _fields(context.baseline),
            "Tile: line reads, line writes, line atomics:\n" + "\n".join(tiles),
            "Tile: access, kind, lines, first line:\n" + "\n".join(_accesses(context.trace)),
            *(_fields(load_target(gpu)) for gpu in targets()),
            *(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))),
        ]
    )


def _accesses(trace: Trace) -> Iterator[str]:
    """The memory accesses of the first tiles, one by one."""
    lengths = np.diff(trace.shape_offset)
    tile_of = np.repeat(np.arange(trace.tiles), np.diff(trace.tile_offset))
    for access in range(min(OVERLOAD_ROWS, len(trace.access_base))):
        shape = trace.access_shape[access]
        kind = Access(trace.shape_kind[shape]).name.lower()
        yield f"{tile_of[access]} ({access}): {kind} {lengths[shape]} {trace.access_base[access]}"


def _tile_accesses(trace: Trace) -> Int64Array:
    lengths = np.diff(trace.shape_offset)[trace.access_shape]
    kind = trace.shape_kind[trace.access_shape].astype(np.int64)
    tile = np.repeat(np.arange(trace.tiles), np.diff(trace.tile_offset))
    counts = np.bincount(tile * 3 + kind, weights=lengths, minlength=3 * trace.tiles)
    return counts.reshape(-1, 3)[:OVERLOAD_ROWS].astype(np.int64)


_WHOLE = {"source": _source, "everything": _everything}
SECTIONS = ("source", "launch", "bottleneck", "locality", "target", "dispatch", "everything")
"""The sections; the words of most are in `sections.j2`."""
