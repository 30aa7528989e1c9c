# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A launch run in batches while its scalars, its accesses and what they depend on are noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from intelliperf_swizzle.frontends.triton.interpreter.batch import Bound, Origins
from intelliperf_swizzle.frontends.triton.interpreter.batched import run_batched_programs
from intelliperf_swizzle.frontends.triton.interpreter.blocks import (
    Array,
    align,
    is_known,
    origin_of,
    shape_of,
)
from intelliperf_swizzle.frontends.triton.interpreter.revive import LiveLaunch
from intelliperf_swizzle.frontends.triton.source_proofs.accessed_parts import Origin, PartWatch
from intelliperf_swizzle.frontends.triton.source_proofs.observation import (
    UNDEFINED,
    Observation,
    Site,
)
from intelliperf_swizzle.frontends.triton.source_proofs.stores import Written
from intelliperf_swizzle.frontends.triton.tile_loops.marks import listen
from intelliperf_swizzle.records import Access, Int64Array

MOST_SCALARS = 1 << 27
"""Values of scalars that are kept (1 GB); of launches with more, the scalars are not told."""

_FIRST_BIT = 256
"""Of the sites in the origin of a value; the bits below stand for storages."""
_STORAGES = (1 << _FIRST_BIT) - 1


def observe(live: LiveLaunch, sites: tuple[Site, ...]) -> Observation:
    """Run a launch whose kernel is `watched`.

    Raises:
        NotBatchableError: an unknown value decides what a program does.
        Exception: whatever the kernel raises.
    """
    watcher = Watcher(live, len(sites))
    origins = _SiteOrigins(watcher)
    listen(live, origins.watch)
    programs = np.arange(live.launch.programs, dtype=np.int64)
    run_batched_programs(live, watcher, programs, origins=origins)
    return watcher.observation(sites)


class _SiteOrigins(Origins):
    """Values carry the sites that they were last computed from, as bits of their origin.

    One bit a site for what is computed from it, and one for what is loaded from where it says.
    """

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._computed = (1 << watcher.sites) - 1 << _FIRST_BIT
        self._loaded_shift = watcher.sites

    def _sites_of(self, *handles: TensorHandle | None) -> int:
        """The sites (bit set) that values come from, computed or loaded."""
        origin = 0
        for handle in handles:
            origin |= origin_of(handle)
        both = origin | origin >> self._loaded_shift
        return (both & self._computed) >> _FIRST_BIT

    def watch(self, site: int, value: tl.tensor | tl.constexpr | int) -> None:
        """A name is assigned; from here on its value comes from this site alone."""
        if not isinstance(value, tl.tensor):
            self._watcher.size(getattr(value, "value", value))
            return
        handle = value.handle
        whole = value.dtype.is_int() and not value.dtype.is_int1()
        if shape_of(handle) != () or not whole or not is_known(handle):
            return
        if not self._sites_of(handle):
            self._watcher.size(int(np.asarray(handle.data).reshape(-1)[0]))
            return
        handle.origin = origin_of(handle) & _STORAGES | 1 << _FIRST_BIT + site
        self._watcher.scalar(site, handle.data)

    def program_id(self, axis: int, values: Array) -> int:
        """They come from the site of their axis."""
        self._watcher.scalar(axis, values)
        return 1 << _FIRST_BIT + axis

    def loop(self, *bounds: Bound | None) -> int:
        """The loop's variable comes from where its bounds come from."""
        return self._sites_of(*(getattr(bound, "handle", None) for bound in bounds)) << _FIRST_BIT

    def load(self, ptr: TensorHandle, mask: TensorHandle | None) -> int:
        """What is loaded comes from where the address comes from."""
        return self._sites_of(ptr, mask) << _FIRST_BIT + self._loaded_shift

    def touch(self, ptr: TensorHandle, mask: TensorHandle | None) -> None:
        """Whoever looks for the frontier is told of address and mask."""
        loaded, sites = bool(origin_of(ptr) & _STORAGES), self._sites_of(ptr)
        self._watcher.depends_on(
            sites | self._sites_of(mask),
            loaded=loaded or bool(origin_of(mask) & _STORAGES),
            address=Origin(loaded, bool(sites)),
        )

    def write(self, value: TensorHandle) -> None:
        """What is written may be computed from the program id alone."""
        self._watcher.puts((origin_of(value) & self._computed) >> _FIRST_BIT)


@dataclass
class _Snapshot:
    """The scalars of a batch at a write, and which programs wrote while they held them."""

    values: dict[int, Array]
    wrote: npt.NDArray[np.bool_]


@dataclass
class _Samples:
    """What is kept of all batches."""

    program: list[Int64Array] = field(default_factory=list)
    values: list[Int64Array] = field(default_factory=list)
    wrote: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    rows: int = 0


class Watcher:
    """Takes scalars and accesses from the interpreter; a recorder of `interpreter.batched`.

    Args:
        live: the launch.
        sites: how many there are.
    """

    def __init__(self, live: LiveLaunch, sites: int) -> None:
        programs = live.launch.programs
        self.sites = sites
        self._written = Written(live.launch, live.memory)
        files = {function.fn.__code__.co_filename for function in live.functions.values()}
        self._parts = PartWatch(live.launch, live.memory, frozenset(files))
        self._address = Origin()
        self._work = np.zeros(programs, np.uint64)
        self._writes = np.zeros(programs, np.bool_)
        self._frontier = 0
        self._places_loaded = False
        self._kept = _Samples()
        self._sizes = {*live.launch.grid, *live.launch.constants.values()}
        self._hash: npt.NDArray[np.uint64]
        self.begin(np.zeros(0, np.int64))

    def size(self, value: object) -> None:
        """An integer that is the same in all programs."""
        if isinstance(value, int) and not isinstance(value, bool):
            self._sizes.add(value)

    def scalar(self, site: int, values: Array) -> None:
        """The programs of the batch assign a scalar (or one value for all)."""
        if not np.array_equal(self._current.get(site, ()), values):
            self._changed = True
        self._current[site] = values

    def depends_on(self, sites: int, *, loaded: bool, address: Origin) -> None:
        """What the next access is computed from.

        Args:
            sites: of its address and mask (bit set).
            loaded: address or mask are computed from loaded values.
            address: likewise, of the address alone.
        """
        self._frontier |= sites
        self._places_loaded |= loaded
        self._address = address

    def puts(self, sites: int) -> None:
        """What is written is computed from these sites (bit set): their values are work too."""
        for site, values in self._current.items():
            if sites >> site & 1:
                self._hash = _mixed(self._hash * _ODD[1] + values.astype(np.uint64))

    def begin(self, programs: Int64Array) -> None:
        """A batch begins."""
        self._programs = programs
        self._hash = np.zeros(len(programs), np.uint64)
        self._wrote = np.zeros(len(programs), np.bool_)
        self._current: dict[int, Array] = {}
        self._snapshots: list[_Snapshot] = []
        self._changed = True

    def access(
        self,
        kind: Access,
        addresses: Sequence[Array],
        mask: Sequence[Array],
        item_bytes: int,
        active: npt.NDArray[np.bool_],
    ) -> int:
        """The active programs access a block."""
        self._hash = _mixed(
            self._hash * _ODD[0]
            + _mixed(_lanes_hash(addresses, mask) + np.uint64(int(kind) << 8 | item_bytes))
        )
        if kind == Access.READ:
            touched = np.ones(len(self._programs), np.bool_)
            self._parts.access(kind, addresses, item_bytes, self._address, touched)
            return 0
        wrote = self._written.write(kind, addresses, mask, item_bytes, self._programs, active)
        self._parts.access(kind, addresses, item_bytes, self._address, wrote)
        self._wrote |= wrote
        if self._changed:
            self._snapshots.append(_Snapshot(dict(self._current), wrote))
            self._changed = False
        else:
            self._snapshots[-1].wrote = self._snapshots[-1].wrote | wrote
        return 0

    def end(self, active: npt.NDArray[np.bool_], value_loads: Mapping[int, int]) -> None:
        """A batch is over: keep what the active programs did."""
        self._parts.end(self._programs, active)
        programs = self._programs[active]
        self._work[programs] = self._hash[active]
        self._writes[programs] = self._wrote[active]
        snapshots = self._snapshots or [_Snapshot(self._current, self._wrote)]
        kept = self._kept
        kept.rows += len(snapshots) * len(programs)
        if kept.rows * self.sites > MOST_SCALARS:
            return
        for snapshot in snapshots:
            values = np.full((len(programs), self.sites), UNDEFINED, np.int64)
            for site, array in snapshot.values.items():
                values[:, site] = array[active] if len(array) == len(active) else array
            kept.program.append(programs)
            kept.values.append(values)
            kept.wrote.append(snapshot.wrote[active])

    def observation(self, sites: tuple[Site, ...]) -> Observation:
        """All that was seen."""
        kept = self._kept
        whole = kept.rows * self.sites <= MOST_SCALARS
        frontier = tuple(site for site in range(len(sites)) if self._frontier >> site & 1)
        return Observation(
            sites=sites,
            work=self._work,
            writes=self._writes,
            frontier=frontier if whole else (),
            program=np.concatenate(kept.program) if whole else np.zeros(0, np.int64),
            values=np.concatenate(kept.values) if whole else np.zeros((0, len(sites)), np.int64),
            wrote=np.concatenate(kept.wrote) if whole else np.zeros(0, np.bool_),
            sizes=frozenset(size for size in self._sizes if size > 0),
            outputs=self._written.outputs(),
            lanes_outside=self._written.lanes_outside,
            places_loaded=self._places_loaded,
            parts=self._parts.parts(),
        )


# --- a number for what a program accesses --------------------------------------------------------

_ODD = np.random.default_rng(0).integers(0, 1 << 63, 8, np.uint64) * np.uint64(2) + np.uint64(1)
_weights: dict[tuple[int, int], npt.NDArray[np.uint64]] = {}


def _weights_of(axis: int, extent: int) -> npt.NDArray[np.uint64]:
    """Fixed random weights of the lanes along an axis; their sum is odd."""
    if (axis, extent) not in _weights:
        weights = np.random.default_rng((axis, extent)).integers(0, 1 << 63, extent, np.uint64)
        weights[-1] += np.uint64(1) - weights.sum() % np.uint64(2)
        _weights[axis, extent] = weights
    return _weights[axis, extent]


def _lanes_hash(addresses: Sequence[Array], mask: Sequence[Array]) -> npt.NDArray[np.uint64]:
    """uint64[programs or 1]: equal where all addresses and all terms of the mask are.

    The hash of addresses is linear, so that it does not depend on how a sum is kept apart.
    """
    extents = np.broadcast_shapes(*(term.shape[1:] for term in (*addresses, *mask)))
    hashed = np.zeros(1, np.uint64)
    for term in addresses:
        hashed = hashed + _weighted(term.view(np.uint64), extents)
    for term in mask:
        hashed = hashed + _mixed(_weighted(term.astype(np.uint64), extents))
    return hashed


def _weighted(term: npt.NDArray[np.uint64], extents: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    """The sum over all lanes of value times weight."""
    summed: npt.NDArray[Any] = align(term, len(extents))
    for axis in reversed(range(len(extents))):
        weights = _weights_of(axis, extents[axis])
        lanes = summed.shape[axis + 1]
        summed = summed.sum(axis=-1) * weights.sum() if lanes == 1 else summed @ weights
    return summed


def _mixed(number: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of splitmix64, a bijection."""
    number = (number ^ number >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ number >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return number ^ number >> np.uint64(31)
