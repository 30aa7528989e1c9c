# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The context in words, section by section; pure functions from the record to text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict

import numpy as np

from intelliperf_swizzle.context import HardwareContext, TensorUse
from intelliperf_swizzle.context.locality import describe_tensors, describe_values, placement
from intelliperf_swizzle.hardware import BitRule, NvidiaGpu, Target, load_target, targets
from intelliperf_swizzle.hardware.target import FOLDER
from intelliperf_swizzle.readers import factor, milliseconds, percent, points, size
from intelliperf_swizzle.records import LINE_BYTES, Access, Int64Array, Launch, Measurement, Trace

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
    "arithmetic_time_ms": ("arithmetic alone takes at least", milliseconds),
    "overlapped_time_ms": ("modelled time of L2, memory and arithmetic", milliseconds),
    "causes": ("why (modelled)", describe_tensors),
}
"""Fields of a measurement by what people call them, and how they are written."""


def readings(measured: Measurement, counters: Collection[str]) -> Iterator[tuple[str, str]]:
    """Name and value of those counters that were collected, in the order of `counters`."""
    for counter in counters:
        value = getattr(measured, counter)
        if value is not None:
            name, write = COUNTERS[counter]
            yield name, write(value)


def render(context: HardwareContext, section: str, counters: Collection[str]) -> str:
    """One section of the context in words.

    Args:
        context: the record.
        section: one of `SECTIONS`.
        counters: those of `COUNTERS` that matter to whoever reads it.
    """
    return SECTIONS[section](context, counters)


def _bottleneck(context: HardwareContext, counters: Collection[str]) -> str:
    measured, bound = context.baseline, context.ceiling.l2_hit_rate
    source = "modelled" if measured.profiler == "model" else f"measured with {measured.profiler}"
    lines = [f"Objective: the L2 hit rate; higher is better ({source})."]
    lines += [f"- {name}: {value}" for name, value in readings(measured, counters)]
    if len(counters) > 1:
        reached = min(bound, _with_these_requests(measured))
        told = percent(bound)
        if percent(reached) != told:
            told = f"{percent(reached)} while no more requests reach the L2, nor {told} in any case"
        lines.append(
            f"- no permutation exceeds {told}: headroom {points(measured.l2_hit_rate, reached)}"
        )
    if measured.imbalance is not None:
        lines.append(
            "- workgroups differ in work, so time comes before the hit rate: the longer of memory "
            "and arithmetic time, times the load imbalance; heavy tiles should start first"
        )
    return "\n".join(lines)


def _with_these_requests(measured: Measurement) -> float:
    """The highest L2 hit rate of as many requests; 1 where it is not known why they miss.

    The ceiling is of all requests that programs make, the L1s' hits included, so it is far higher
    if the L1s serve most of them.
    """
    causes = measured.causes or ()
    requests = sum(cause.requests for cause in causes)
    return 1 - sum(one.compulsory for one in causes) / requests if requests else 1.0


def _target(context: HardwareContext, _: Collection[str]) -> str:
    target, wave = context.target, context.wave
    domain, cu = target.domain_name, target.cu_name
    lines = [
        f"{target.product} ({target.arch})",
        f"- {target.domain_count} of {target.cus_per_xcd} {cu}s: {target.cus} {cu}s",
        f"- L2: {size(target.l2_bytes_per_xcd)} an {domain}, {target.l2_ways} ways, lines of "
        f"{LINE_BYTES} B; "
        + (
            f"it serves the {cu}s of its {domain} only, so a line that two {domain}s need is "
            "fetched twice"
            if target.deals_in_turn
            else f"a line that {cu}s of both sides read is kept in both"
        ),
        f"- L1: {size(target.l1_bytes)} a {cu}",
        *_places(target),
    ]
    if target.llc_bytes is not None:
        lines.append(f"- last-level cache: {size(target.llc_bytes)}, shared by all {domain}s")
    bandwidths = [("L2", target.l2_gb_s), ("last-level cache", target.llc_gb_s)]
    bandwidths.append(("memory", target.memory_gb_s))
    named = [f"{name} {speed:,.0f} GB/s" for name, speed in bandwidths if speed is not None]
    lines.append(f"- bandwidth of the device: {', '.join(named)}")
    if isinstance(target, NvidiaGpu):
        lines.append(
            "- a `//` or `%` of the remap by a number that is not compiled in: "
            f"{target.clocks_division} clocks of each workgroup"
        )
    lines.append(
        f"- {wave.occupancy} workgroup{'s' if wave.occupancy > 1 else ''} of this kernel on a "
        f"{cu} at once: {wave.workgroups_per_domain} on an {domain}, "
        f"{wave.workgroups_per_domain * target.num_xcds} on the device (one wave)"
    )
    return "\n".join(lines)


def _places(target: Target) -> list[str]:
    """How an address picks its place in an L2, where that is not a hash of everything."""
    if target.l2_channel_bits is None:
        return []
    channel_bytes = target.l2_bytes_per_xcd // target.l2_channels_per_xcd
    within = (
        "the set in it is a hash"
        if target.l2_set_bits is None
        else f"bits {_bits(target.l2_set_bits)} one of {target.l2_sets_per_channel} sets in it"
    )
    return [
        f"- place of a line in the L2: of its number (address / {LINE_BYTES}), bits "
        f"{_bits(target.l2_channel_bits)} pick one of {target.l2_channels_per_xcd} channels of "
        f"{size(channel_bytes)}, and {within}; rows at a stride of a power of two may crowd a few "
        "of them while others stay empty"
    ]


def _bits(rule: BitRule) -> str:
    """`0^16, 1^17, 4`: each index bit is the parity of the line bits joined by `^`."""
    return ", ".join("^".join(map(str, bits)) for bits in rule)


def _dispatch(context: HardwareContext, _: Collection[str]) -> str:
    if not context.target.deals_in_turn:
        return _dispatch_to_free(context)
    target, launch = context.target, context.launch
    domain = target.domain_name
    cycle, count = target.dispatch_domains, len(target.dispatch_domains)
    place = f"i % {count}" if cycle == tuple(range(count)) else f"{list(cycle)}[i % {count}]"
    lines = [
        "Workgroups are dispatched in launch order (program_id(0) varies fastest), in turn to the "
        f"{domain}s: launch index i runs on {domain} {place}. A remap cannot change "
        "that; it changes which tile the workgroup computes.",
        *_loop_words(launch),
        f"On this grid, launch index (its own tile) -> {domain}:",
    ]
    for first in range(0, min(launch.programs, ROUNDS * len(cycle)), len(cycle)):
        last = min(first + len(cycle), launch.programs)
        places = [f"{i} {_tile(launch, i)} -> {cycle[i % len(cycle)]}" for i in range(first, last)]
        lines.append(f"- round {first // len(cycle)}: " + ", ".join(places))
    per_domain = launch.tiles // target.num_xcds
    or_one_more = f" or {per_domain + 1}" if launch.tiles % target.num_xcds else ""
    what = "tiles" if launch.loop else "workgroups"
    lines.append(
        f"Each {domain} runs {per_domain}{or_one_more} {what} in "
        f"{context.wave.waves} wave{'s' if context.wave.waves > 1 else ''}."
    )
    if context.wave.waves > 1:
        lines.append(
            f"The first ones of each {domain} start together, as many as its CUs hold. After that "
            "each starts when another one ends, in launch order: waves have no common beginning, "
            "and neighbours in launch order drift apart."
        )
    return "\n".join(lines)


def _dispatch_to_free(context: HardwareContext) -> str:
    """Dispatch where the launch index does not say which L2 a workgroup is next to."""
    target, launch, wave = context.target, context.launch, context.wave
    first = min(wave.workgroups_per_domain, launch.programs)
    return "\n".join(
        [
            "Workgroups start in launch order (program_id(0) varies fastest): the first "
            f"{first} together, on the {target.cu_name}s of one GPC after another, and each "
            f"further one where one ends. Which {target.domain_name} a workgroup is next to is no "
            "function of its launch index; a line has its home in one, by its address; reads "
            "from the other side take longer and are kept there, too. So a remap decides which "
            "tiles run at the same time, and not next to which part of the L2.",
            *_loop_words(launch),
            f"The {'tiles' if launch.loop else 'workgroups'} take {wave.waves} "
            f"wave{'s' if wave.waves > 1 else ''} of {wave.workgroups_per_domain}.",
        ]
    )


def _loop_words(launch: Launch) -> list[str]:
    """What stands for the number of a tile, where workgroups take several in a loop."""
    loop = launch.loop
    if loop is None:
        return []
    own = np.flatnonzero(loop.program == 0)[:4].tolist()
    return [
        f"Each workgroup takes tiles one after another, by `{loop.name}`: `pid` stands for that "
        f"number, `num_pids` = {loop.tiles} for how many there are, `program` for the launch index "
        f"and `num_programs` = {launch.programs} for the workgroups. Workgroup 0 takes the numbers "
        f"{', '.join(map(str, own))}, … A remap changes which tile a number computes."
    ] + [
        f"These are {len(loop.starts)} runs, whose lengths are read from memory. Each is remapped "
        "as if it were all: the remap must hold for every `num_pids` and not read `program`."
    ] * bool(loop.read_from)


def _axes(launch: Launch) -> int:
    """How many axes of the grid are used; at least one."""
    return max([1, *(axis + 1 for axis in range(3) if launch.grid[axis] > 1)])


def _tile(launch: Launch, index: int) -> str:
    places = np.unravel_index(index, launch.grid[: _axes(launch)], order="F")
    return f"({', '.join(map(str, places))})"


def _locality(context: HardwareContext, _: Collection[str]) -> str:
    if context.trace.is_unknown:
        return "Not known: the launch could not be traced."
    parts = ["Computed from a trace of every memory access of the launch."]
    about = ""
    if context.sampled > 1:
        about = "about "
        parts = [
            "Computed from a trace of the launch; numbers after `about` are estimates, from one "
            f"line in {context.sampled}."
        ]
    parts += [_tensor(tensor, context, about) for tensor in context.tensors]
    reuse, wave, target = context.reuse, context.wave, context.target
    domain = target.domain_name if target.deals_in_turn else "GPU"
    other = (
        f"- touched before, but on other {domain}s only, so fetched again: "
        f"{about}{percent(reuse.other_domain)}\n"
    ) * target.deals_in_turn
    parts.append(
        "Where a tile finds its lines, unmodified (of all pairs of tile and line):\n"
        f"- touched by no tile before: {about}{percent(reuse.first)}\n"
        f"{other}- touched by another tile of the same {domain} in the same wave: "
        f"{about}{percent(reuse.same_wave)}\n"
        f"- touched on the same {domain}, but in an earlier wave: "
        f"{about}{percent(reuse.earlier_wave)}"
        + _distance(context, about)
        + (
            f"\nA line that more than one tile touches is fetched by "
            f"{about}{reuse.domains_per_shared_line:.1f} of {target.domain_count}."
        )
        * target.deals_in_turn
    )
    parts.append(
        f"Working set of one wave: {about}{size(wave.domain_bytes)} on an {domain} (its L2 holds "
        f"{size(target.meeting_l2_bytes)}; tiles of a wave advance side by side, so they share "
        f"lines that they touch at the same step), {about}{size(wave.device_bytes)} on the device."
    )
    return "\n\n".join(parts)


def _distance(context: HardwareContext, about: str) -> str:
    reuse, target = context.reuse, context.target
    if reuse.distance_bytes is None:
        return ""
    domain = target.domain_name if target.deals_in_turn else "GPU"
    return (
        f"; the {domain} touches {about}{size(reuse.distance_bytes)} in between "
        f"(median), which fits its L2 of {size(context.target.meeting_l2_bytes)} in "
        f"{about}{percent(reuse.distance_fits)} of the cases"
    )


def _tensor(tensor: TensorUse, context: HardwareContext, about: str) -> str:
    """A paragraph on a tensor; `about` stands before what may be sampled."""
    launch, target = context.launch, context.target
    words = {"read": tensor.reads, "written": tensor.writes, "updated": tensor.atomics}
    kinds = " and ".join(word for word, count in words.items() if count)
    lines = [
        f"{', '.join(tensor.names)}: {kinds}; {percent(tensor.traffic_share)} of all line accesses",
        f"- {size(tensor.touched_bytes)} touched ({tensor.touched_bytes // LINE_BYTES:,} lines), "
        f"{about}{size(tensor.tile_bytes)} by a tile",
        f"- a line is touched by {about}{tensor.tiles_per_line:.1f} tiles on average, "
        f"{about}{tensor.most_tiles_per_line} at most",
    ]
    if target.deals_in_turn and target.num_xcds > 1 and tensor.tiles_per_line >= SHARED_FROM:
        of = (target.num_xcds, target.domain_name)
        placed = placement(tensor.names, [tensor.domains_per_line], launch.grid, of)
        lines.append(f"- {about}{placed}")
    if tensor.tiles_per_line < SHARED_FROM and tensor.passes >= PASSES_FROM:
        lines.append(
            f"- each tile accesses its own lines {tensor.passes:.1f} times and shares them with no "
            "other: what misses there, no order of the workgroups saves"
        )
    for axis, share in enumerate(tensor.shared_with_neighbour):
        if share is not None:
            lines.append(
                f"- along axis {axis} (pid_{axis}): a tile and the next one have "
                f"{about}{percent(share)} of their lines in common"
            )
    steps = [f"+{one.distance} ({about}{percent(one.share)})" for one in tensor.next_tiles]
    if steps:
        where = "launch index" if _axes(launch) > 1 else "pid"
        lines.append(f"- the next tile on the same line lies, in {where}, at {', '.join(steps)}")
    return "\n".join(lines)


def _launch(context: HardwareContext, _: Collection[str]) -> str:
    lines = [_one_launch(context.launch)]
    if context.integer_inputs:
        lines.append("Integer tensors that no program writes:")
    lines += [
        f"- {tensor.name}, {len(tensor.values):,} values: {describe_values(tensor.values)}"
        for tensor in context.integer_inputs
    ]
    others = [launch for launch in context.launches if launch is not context.launch]
    if others:
        lines.append("The application also launches it with (the remap must hold there too):")
        lines += [f"- {_one_launch(other)}" for other in others[:8]]
        if len(others) > 8:
            lines.append(f"- and {len(others) - 8} more")
    return "\n".join(lines)


def _one_launch(launch: Launch) -> str:
    grid = " x ".join(str(extent) for extent in launch.grid[: _axes(launch)])
    constants = ", ".join(f"{name} = {value}" for name, value in launch.constants.items())
    reads = ", ".join(f"pid_{axis}" for axis in range(_axes(launch)))
    return (
        f"{launch.kernel} on a grid of {grid} programs ({reads}; {launch.programs} in all), "
        f"integer arguments: {constants or 'none'}"
    )


def _source(context: HardwareContext, _: Collection[str]) -> str:
    source = context.launch.source
    others = [one.text for key, one in source.functions.items() if key != source.kernel]
    return "\n\n".join(text.rstrip() for text in [source.entry.text, *others])


def _everything(context: HardwareContext, _: Collection[str]) -> str:
    """All there is, unfiltered: every counter, every tile, every GPU."""
    counters = [f"{name} = {value}" for name, value in asdict(context.baseline).items()]
    counts = _tile_accesses(context.trace)
    tiles = [
        f"{tile} {_tile(context.launch, tile)}: {reads} {writes} {atomics}"
        for tile, (reads, writes, atomics) in enumerate(counts)
    ]
    gpus = [
        "\n".join(f"{name} = {value}" for name, value in asdict(load_target(gpu)).items())
        for gpu in targets()
    ]
    return "\n\n".join(
        [
            "Counters:\n" + "\n".join(counters),
            "Tile: line reads, line writes, line atomics:\n" + "\n".join(tiles),
            "Tile: access, kind, lines, first line:\n" + "\n".join(_accesses(context.trace)),
            *gpus,
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
        first = trace.access_base[access]
        yield f"{tile_of[access]} ({access}): {kind} {lengths[shape]} {first}"


def _tile_accesses(trace: Trace) -> Int64Array:
    lengths = np.diff(trace.shape_offset)[trace.access_shape]
    kind = trace.shape_kind[trace.access_shape].astype(np.int64)
    tile = np.repeat(np.arange(trace.tiles), np.diff(trace.tile_offset))
    counts = np.bincount(tile * 3 + kind, weights=lengths, minlength=3 * trace.tiles)
    return counts.reshape(-1, 3)[:OVERLOAD_ROWS].astype(np.int64)


SECTIONS: Mapping[str, Callable[[HardwareContext, Collection[str]], str]] = {
    "source": _source,
    "launch": _launch,
    "bottleneck": _bottleneck,
    "locality": _locality,
    "target": _target,
    "dispatch": _dispatch,
    "everything": _everything,
}
"""The sections by name, and who writes them."""
