# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which programs of a launch depend on each other: all that is kept of most traces.

Also which memory of a launch its programs read, write or update.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle import records
from intelliperf_swizzle.errors import TraceError

Bits: TypeAlias = npt.NDArray[np.bool_]
SECTORS = records.LINE_BYTES // records.SECTOR_BYTES


@dataclass(frozen=True, eq=False)
class Dependence:
    """How the programs of a launch depend on each other.

    Attributes:
        chains: int64[pairs, 2]; tiles, the first one smaller, whose order implies that of all
            pairs that depend on each other.
        waits: whether programs wait for each other.
        tensors: names of what they share.
        unknown: why nothing is known of all this; empty where it is.
        deciding: as of the function, if the launch's trace is not kept.
    """

    chains: records.Int64Array
    waits: bool = False
    tensors: tuple[str, ...] = ()
    unknown: str = ""
    deciding: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether programs depend on each other, or may."""
        return bool(len(self.chains) or self.waits or self.unknown)


NO_PAIRS = np.zeros((0, 2), np.int64)


def not_known(reason: str) -> Dependence:
    """The dependence of a launch of which there is no trace."""
    return Dependence(NO_PAIRS, unknown=reason)


def find_dependence(trace: records.Trace, launch: records.Launch) -> Dependence:
    """Which tiles of a launch must keep their order.

    Two programs depend on each other if they touch the same sector of a tensor, and of that sector
    some program reads or stores over what another writes; in a launch that waits, if some program
    writes it. This takes too many pairs for dependent (neighbours in a sector), never
    too few.

    Calls that differ only in what float tensors hold are recorded as one launch. A trace that had
    to be made one program at a time may follow from floats, so nothing is known of the others then.
    """
    floats = any(tensor.dtype.startswith(("fp", "bf")) for _, tensor in launch.tensors())
    if launch.count > 1 and trace.method == "sequential" and floats:
        return not_known("calls with other contents of float tensors were recorded as one launch")
    if records.NOT_RECORDED in launch.varying:
        return not_known(records.NOT_RECORDED)
    known = {*trace.immaterial, *(() if trace.placed else dict(launch.tensors()))}
    if decisive := [name for name in launch.varying if name not in known]:
        return not_known(f"not every launch was recorded, and accesses depend on `{decisive[0]}`")
    if trace.unresolved and (trace.shape_kind != records.Access.READ).any():
        return not_known(trace.unresolved[0])
    if not trace.shared_writes and not trace.waits:
        return Dependence(NO_PAIRS)
    found = Dependence(_chains(trace), trace.waits, trace.shared_writes)
    if launch.loop is None or not len(found.chains):
        return found
    if not trace.waits or (found.chains < launch.loop.tiles).any():
        return not_known("tiles that programs take in a loop depend on each other")
    return replace(found, chains=NO_PAIRS)  # after the loop, where programs are not renumbered


def deciding(trace: records.Trace, launch: records.Launch) -> tuple[str, ...]:
    """Tensors whose contents decide what programs access, and device variables if theirs do.

    Any integers may decide an access that no program has made yet, and floats that decide one.
    """
    views = dict(launch.tensors()) if trace.placed else {}
    floats = {name for name, view in views.items() if view.dtype.startswith(("fp", "bf"))}
    without = {*trace.immaterial} & ({*views} if not trace.unseen else floats - {*trace.floats})
    names = (name for name in views if name not in without)
    return (*names, *["device variables"] * trace.by_variables)


def safe_order(dependence: Dependence, tile: records.Int64Array) -> str | None:
    """Why a permutation may not be used on a launch whose programs depend on each other, or None.

    Programs that depend on each other must be launched in the order in which they were. Where
    programs wait, a program may be waiting for one that is launched after it, which works only
    while both are resident; so there the programs concerned must keep their very places. Where
    nothing is known, all must.

    Args:
        dependence: of the launch's programs.
        tile: int64[programs]; launch index -> tile.
    """
    if not len(dependence.chains) and not dependence.unknown:
        return None
    launch_index = np.empty_like(tile)
    launch_index[tile] = np.arange(len(tile))
    if dependence.unknown:
        moved = np.flatnonzero(launch_index != np.arange(len(tile)))
        return f"not checked: {dependence.unknown}" if len(moved) else None
    chains = dependence.chains
    if dependence.waits:
        involved = np.unique(chains)
        moved = involved[launch_index[involved] != involved]
        if len(moved):
            return (
                f"programs wait for each other, and tile {moved[0]} would be launched "
                f"as number {launch_index[moved[0]]}"
            )
    swapped = np.flatnonzero(launch_index[chains[:, 0]] > launch_index[chains[:, 1]])
    if len(swapped):
        first, second = chains[swapped[0]]
        tensors = ", ".join(f"`{name}`" for name in dependence.tensors) or "a tensor"
        return (
            f"tiles {first} and {second} touch the same part of {tensors}, which one of "
            f"them writes, and would be launched in the opposite order"
        )
    return None


MOST_REMEMBERED = 64
"""Launches whose trace another one may turn out to have."""


def find_each(
    launches: Sequence[records.Launch], trace_one: Callable[[records.Launch], records.Trace]
) -> Iterator[Dependence]:
    """The dependence of each launch, in order; launches that have the same trace are traced once.

    One that cannot be traced (`TraceError`) is not known.
    """
    known: list[tuple[records.Launch, records.Trace, Dependence]] = []
    for launch in launches:
        found = next((k[2] for k in known if same_trace(k[1], k[0], launch)), None)
        if found is None:
            try:
                trace = trace_one(launch)
            except TraceError as error:
                found = not_known(error.fact)
            else:
                found = find_dependence(trace, launch)
                found = replace(found, deciding=deciding(trace, launch))
                known.append((launch, _without_accesses(trace), found))
        yield found
        del known[:-MOST_REMEMBERED]


def _without_accesses(trace: records.Trace) -> records.Trace:
    """What `same_trace` needs of it."""
    nothing = np.zeros(0, np.int32)
    return replace(trace, access_base=nothing, access_shape=nothing, tile_arithmetic=None)


def same_trace(trace: records.Trace, launch: records.Launch, other: records.Launch) -> bool:
    """Whether another launch has the trace of a launch: it differs in nothing that decides it."""
    return _decisive(launch, trace.immaterial) == _decisive(other, trace.immaterial)


def _decisive(launch: records.Launch, immaterial: tuple[str, ...]) -> records.Launch:
    """The launch without what decides no access: values of scalars, contents of tensors."""
    arguments, storages = dict(launch.arguments), dict(launch.storages)
    tensors = dict(launch.tensors())
    for name in immaterial:
        if name in tensors:
            number = tensors[name].storage
            storages[number] = replace(storages[number], contents=None)
        elif name in arguments:  # else what an address leads to
            arguments[name] = _type(arguments[name])
    return replace(
        launch, arguments=arguments, storages=storages, count=1, computed=False, ordinal=0
    )


def _type(scalar: records.Argument) -> str:
    """Equal for scalars to which Triton gives the same type."""
    bits = scalar.bit_length() if isinstance(scalar, int) else 0
    return f"{type(scalar).__name__} of {bits if bits > 31 else 31} bits"


@lru_cache(maxsize=32)
def _chains(trace: records.Trace) -> records.Int64Array:
    """Pairs of tiles (int64[pairs, 2], first < second) whose order implies that of all pairs.

    The tiles that share a sector form a chain in the order of their numbers; its links suffice.
    """
    sector, tile, writes = _touches(trace)
    if trace.contested is not None and not trace.waits:
        known = np.isin(sector, trace.contested)
        sector, tile, writes = sector[known], tile[known], writes[known]
    order = np.lexsort((tile, sector))
    sector, tile, writes = sector[order], tile[order], writes[order]
    if not len(sector):
        return np.zeros((0, 2), np.int64)
    starts = np.flatnonzero(np.diff(sector, prepend=sector[0] - 1))
    written = np.logical_or.reduceat(writes, starts)
    in_written = np.repeat(written, np.diff(starts, append=len(sector)))
    link = (sector[1:] == sector[:-1]) & (tile[1:] != tile[:-1]) & in_written[1:]
    return np.unique(np.stack([tile[:-1][link], tile[1:][link]], axis=1), axis=0)


def _touches(trace: records.Trace) -> tuple[records.Int64Array, records.Int64Array, Bits]:
    """Sector, tile and whether it writes, for touches of tensors that programs share, in any tensor
    where programs wait, near what is written."""
    every, written = trace.waits, set(trace.shared_writes)
    those = np.array([every or not written.isdisjoint(s.names) for s in trace.segments], np.bool_)
    shared = those[trace.segment_of(trace.access_base.astype(np.int64))]
    stores = (trace.shape_kind != records.Access.READ)[trace.access_shape]
    stored = np.unique(trace.touches(np.flatnonzero(shared & stores))[2])
    lowest, highest = _reach(trace)
    near = np.searchsorted(stored, lowest) < np.searchsorted(stored, highest, side="right")
    accesses = np.flatnonzero(shared & near)  # the others may be a thousand times as many
    which, entry, line = trace.touches(accesses)
    tile = (np.searchsorted(trace.tile_offset, accesses, side="right") - 1)[which]
    touch, sector = np.nonzero(trace.shape_sectors[entry, None] >> np.arange(SECTORS) & 1)
    return line[touch] * SECTORS + sector, tile[touch], stores[accesses][which[touch]]


def touched(trace: records.Trace, *kinds: records.Access) -> set[records.Segment]:
    """The memory of which some program touches a byte so."""
    chosen = np.isin(trace.shape_kind, kinds)[trace.access_shape]
    numbers = (np.unique(trace.segment_of(line[chosen])) for line in _reach(trace))
    return {trace.segments[number] for some in numbers for number in some}


def _reach(trace: records.Trace) -> tuple[records.Int64Array, records.Int64Array]:
    """The lowest and the highest line of each access."""
    starts, lines = trace.shape_offset[:-1], trace.shape_line.astype(np.int64)
    base, shape = trace.access_base.astype(np.int64), trace.access_shape
    lowest, highest = np.minimum.reduceat(lines, starts), np.maximum.reduceat(lines, starts)
    return base + lowest[shape], base + highest[shape]


def touched_storages(
    launch: records.Launch, trace: records.Trace, *kinds: records.Access
) -> frozenset[int]:
    """Numbers of the storages of which some program touches a byte so, of those in arguments."""
    storages = {name: tensor.storage for name, tensor in launch.tensors()}
    names = (name for segment in touched(trace, *kinds) for name in segment.names)
    return frozenset(storages[name] for name in names if name in storages)


def summed_storages(launch: records.Launch, trace: records.Trace) -> frozenset[int]:
    """Numbers of those in which programs update the same elements."""
    if not trace.order_matters:
        return frozenset()
    return touched_storages(launch, trace, records.Access.ATOMIC)
