# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which parts of each tensor the lines of a kernel access, and how many parts there are.

A part is the block that one program accesses at once, known by the address of its first lane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from intelliperf_swizzle.frontends.triton.ir.parse import Op
from intelliperf_swizzle.frontends.triton.source_proofs.observation import Parts
from intelliperf_swizzle.frontends.triton.walk.memory import Memory
from intelliperf_swizzle.records import Access, Int64Array, Launch, TensorArgument
from intelliperf_swizzle.trace.observer import Bits, BlockAccess

MOST_PARTS = 1 << 24
"""Pairs of program and part that are kept of a launch (256 MB)."""


@dataclass(frozen=True)
class Site:
    """An operation that accesses memory.

    Attributes:
        op: the operation.
        line: file and line of it.
        numbered: its address is computed from the numbers of programs.
        loaded: its address is computed from loaded values.
        decided: its address or its mask is.
    """

    op: Op
    line: str
    numbered: bool
    loaded: bool
    decided: bool


@dataclass(frozen=True)
class _Key:
    """Accesses that are compared with each other.

    Attributes:
        place: number of the storage.
        kind: of the access.
        site: the operation.
        extents: of the block.
        strides: int bytes between neighbouring lanes, along each axis of the block.
        item_bytes: of a lane.
    """

    place: int
    kind: Access
    site: Site
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    item_bytes: int

    @property
    def reach(self) -> int:
        """Bytes from the first lane to the end of the last."""
        axes = zip(self.extents, self.strides, strict=True)
        return self.item_bytes + sum((extent - 1) * max(step, 0) for extent, step in axes)


@dataclass(frozen=True)
class _AccessedParts:
    """The parts that a line accesses, each pair of part and program once, sorted by part.

    Attributes:
        key: of the accesses.
        name: of the tensor.
        view: the tensor.
        offset: int64[pairs]; where the part begins, in bytes from the begin of the storage.
        program: int64[pairs].
        touched: bool[pairs]; not all lanes are masked.
        strays: programs with a part outside the storage.
    """

    key: _Key
    name: str
    view: TensorArgument
    offset: Int64Array
    program: Int64Array
    touched: Bits
    strays: Int64Array


class PartWatch:
    """Notes which parts of which tensors programs access.

    Args:
        launch: whose tensors.
        memory: where they lie.
    """

    def __init__(self, launch: Launch, memory: Memory) -> None:
        self._memory = memory
        self._programs = launch.programs
        self._views = list(launch.tensors())
        self._seen: dict[_Key, list[tuple[Int64Array, Int64Array, Bits]]] = {}
        self._pairs = 0

    def access(self, block: BlockAccess, programs: Int64Array, site: Site, touched: Bits) -> None:
        """The active programs of a batch access a block; it makes no difference if they do again.

        Args:
            block: what they access.
            programs: int64[programs]; of the batch.
            site: the operation.
            touched: programs of which not all lanes are masked, as far as that is known.
        """
        if self._pairs > MOST_PARTS:
            return
        addresses = block.addresses
        first = sum(term.reshape(len(term), -1)[:, 0] for term in addresses)
        base = np.atleast_1d(np.asarray(first, np.int64))
        places = np.searchsorted(self._memory.begin, base, side="right") - 1
        place = int(np.bincount(np.maximum(places, 0)).argmax())
        extents = np.broadcast_shapes(*(term.shape[1:] for term in addresses))
        strides = tuple(_stride(addresses, axis - len(extents)) for axis in range(len(extents)))
        key = _Key(place, block.kind, site, extents, strides, block.item_bytes)
        rows = np.flatnonzero(block.active)
        own = np.broadcast_to(base, len(programs))[rows]
        self._seen.setdefault(key, []).append((programs[rows], own, touched[rows]))
        self._pairs += len(own)

    def parts(self) -> tuple[Parts, ...] | None:
        """What each line does to a tensor; None if programs access too many parts."""
        if self._pairs > MOST_PARTS:
            return None
        lines = [line for key in self._seen if (line := self._line(key)) is not None]
        together: dict[tuple[int, Access], list[Int64Array]] = {}
        for line in lines:
            together.setdefault((line.key.place, line.key.kind), []).append(line.offset)
        found = (self._order(line) for line in lines)
        orders = [np.arange(self._programs), *(order for order in found if order is not None)]
        return tuple(
            _parts_of(
                line, np.unique(np.concatenate(together[line.key.place, line.key.kind])), orders
            )
            for line in lines
        )

    def _order(self, line: _AccessedParts) -> Int64Array | None:
        """The programs' numbers in the order of what they store; None if not each stores its own.

        Who takes which tile is right there, whatever it is computed from.
        """
        programs, offset = _first_parts(line)
        parts = len(np.unique(line.offset))
        if line.key.kind != Access.WRITE or len(programs) < self._programs:
            return None
        if parts < len(line.offset) or not line.touched.all() or len(line.strays):
            return None
        return np.argsort(np.argsort(offset)).astype(np.int64)

    def _line(self, key: _Key) -> _AccessedParts | None:
        """Where a line's parts lie; None if in no tensor."""
        programs, base, touched = map(np.concatenate, zip(*self._seen[key], strict=True))
        begin, end = int(self._memory.begin[key.place]), int(self._memory.end[key.place])
        inside = (base < end) & (base + key.reach > begin)
        if not inside.any() or (end - begin + key.reach) * self._programs >= 1 << 62:
            return None
        offset = base[inside] - begin
        code = offset * self._programs + programs[inside]
        order = np.lexsort((~touched[inside], code))
        pair, first = np.unique(code[order], return_index=True)
        name, view = self._view(key.place, int(offset.min()), int(offset.max()))
        return _AccessedParts(
            key, name, view, pair // self._programs, pair % self._programs,
            touched[inside][order][first], np.unique(programs[~inside]),
        )  # fmt: skip

    def _view(self, place: int, low: int, high: int) -> tuple[str, TensorArgument]:
        """The smallest tensor in a storage that holds these bytes; else the largest there."""
        number = self._memory.numbers[place]
        views = [(name, view) for name, view in self._views if view.storage == number]
        views.sort(key=lambda named: _span(named[1]))
        for name, view in views:
            end = view.offset_bytes + _span(view) * view.item_bytes
            if view.offset_bytes <= max(low, 0) and high < end:
                return name, view
        return views[-1]


def _stride(addresses: Sequence[Int64Array], axis: int) -> int:
    """Bytes from one lane to the next along an axis of the block, counted from the end."""
    step = 0
    for term in addresses:
        if -axis < term.ndim and term.shape[axis] > 1:
            pair = np.moveaxis(term[0], axis, -1).reshape(-1, term.shape[axis])[0]
            step += int(pair[1]) - int(pair[0])
    return step


def _span(view: TensorArgument) -> int:
    """Elements from the first of a tensor to its last."""
    pairs = zip(view.shape, view.strides, strict=True)
    return 1 + sum((extent - 1) * max(stride, 0) for extent, stride in pairs)


def _parts_of(line: _AccessedParts, together: Int64Array, orders: Sequence[Int64Array]) -> Parts:
    """Counts of a line's parts.

    Args:
        line: the line.
        together: parts of all lines that access the tensor so.
        orders: int64[programs]; numbers of the programs of which no two are equal.
    """
    distinct, times = np.unique(line.offset, return_counts=True)
    own = np.bincount(np.append(line.program, line.strays))
    own = own[own > 0]
    run, by_strides = _run_axis(line), _stride_axes(line)
    rooms = [_room(_elements(line, distinct), by_strides)]
    lanes = math.prod(extent for extent, _ in _block(line))
    if run.block == lanes:  # a block with gaps is no piece of the memory as it lies
        rooms.append(_room(_elements(line, distinct), [run]))
    room = min(rooms, key=lambda room: abs(room - len(line.offset) - len(line.strays)))
    in_one_run = len(rooms) > 1 and room == rooms[1]
    pitch = _pitch(_elements(line, distinct), run.block)
    step = pitch * line.view.item_bytes
    hull = (int(distinct[-1]) - int(distinct[0])) // step + 1 if step else 1
    programs, first = _first_parts(line)
    return Parts(
        name=line.name,
        line=line.key.site.line,
        elements=math.prod(line.view.shape),
        access={Access.READ: "loaded", Access.WRITE: "stored"}.get(line.key.kind, "updated"),
        taken=len(distinct),
        repeats=len(line.offset) - len(distinct),
        outside=len(line.strays) + int((~line.touched).sum()),
        room=room,
        left=room - len(together),
        gaps=hull - len(distinct) if in_one_run and len(together) == len(distinct) else 0,
        least=int(own.min()),
        most=int(own.max()),
        even=bool((times == times[0]).all()),
        gathered=line.key.site.loaded,
        numbered=line.key.site.numbered,
        ordered=bool((np.diff(first) >= 0).all()),
        plain=any(_is_plain(order[programs], first, line.key.reach) for order in orders),
        single=math.prod(line.key.extents) == 1,
        clash=_clash(line),
    )


def _elements(line: _AccessedParts, offset: Int64Array) -> Int64Array:
    """Offsets in elements from the first of the tensor (or of a part that begins before it)."""
    return (offset - min(line.view.offset_bytes, int(offset[0]))) // line.view.item_bytes


def _first_parts(line: _AccessedParts) -> tuple[Int64Array, Int64Array]:
    """The programs, and where the first part of each of them begins."""
    order = np.lexsort((line.offset, line.program))
    programs, first = np.unique(line.program[order], return_index=True)
    return programs, line.offset[order][first]


@dataclass(frozen=True)
class _LatticeAxis:
    """An axis of a lattice of parts; stride and extent in elements, `block` of a part along it."""

    stride: int
    extent: int
    block: int


def _block(line: _AccessedParts) -> list[tuple[int, int]]:
    """Extent and stride, in elements, of a line's block along the axes that it has."""
    item = line.view.item_bytes
    axes = zip(line.key.extents, line.key.strides, strict=True)
    return [(extent, stride // item) for extent, stride in axes if extent > 1 and stride >= item]


def _run_axis(line: _AccessedParts) -> _LatticeAxis:
    """A line's tensor as it lies in memory, cut into runs as long as its block has them."""
    run = 1
    for extent, stride in sorted(_block(line), key=lambda axis: axis[1]):
        run = run * extent if stride == run else run
    return _LatticeAxis(1, _span(line.view), run)


def _stride_axes(line: _AccessedParts) -> list[_LatticeAxis]:
    """A line's tensor cut into its blocks by the strides of both, slowest axis first."""
    view, block, span = line.view, _block(line), _span(line.view)
    strides = [1]
    of_view = (s for n, s in zip(view.shape, view.strides, strict=True) if n > 1)
    for stride in sorted({s for s in (*of_view, *(s for _, s in block)) if s > 1}):
        if stride % strides[-1] == 0 and stride < span:
            strides.append(stride)
    axes = []
    for stride, above in zip(strides, [*strides[1:], 0], strict=True):
        extent = above // stride if above else -(-span // stride)
        here = ((n, s) for n, s in block if s % stride == 0 and (s < above or not above))
        own = max((1 + (n - 1) * (s // stride) for n, s in here), default=1)
        axes.append(_LatticeAxis(stride, extent, own))
    return axes[::-1]


def _room(first: Int64Array, axes: Sequence[_LatticeAxis]) -> int:
    """How many parts there are, if some begin at these elements (int64[n], increasing)."""
    rest = first - min(int(first[0]), 0)
    room = 1
    for axis in axes:
        at, rest = rest // axis.stride, rest % axis.stride
        pitch = _pitch(at, axis.block) if len(first) > 1 else axis.block
        if pitch:
            room *= -(-(axis.extent - int(at.min()) % pitch) // pitch)
    return room


def _pitch(at: Int64Array, block: int) -> int:
    """The step from part to part along an axis, at most a block; 0 where all begin alike."""
    return min(int(np.gcd.reduce(at - at.min())), block)


def _is_plain(number: Int64Array, offset: Int64Array, reach: int) -> bool:
    """Whether parts lie side by side in the order of a digit of the programs' numbers.

    A digit is `number // a % b`.
    """
    order = np.argsort(number)
    number, offset = number[order], offset[order]
    distinct, rank = np.unique(offset, return_inverse=True)
    steps = np.unique(np.diff(distinct))
    if len(steps) != 1 or int(steps[0]) > reach:
        return False
    changes = np.flatnonzero(np.diff(rank))
    run = int(number[changes[0] + 1] - number[0])
    return bool((rank == (number - number[0]) // run % len(distinct)).all())


def _clash(line: _AccessedParts) -> tuple[int, int] | None:
    """Two programs with the same part."""
    same = np.flatnonzero(line.offset[1:] == line.offset[:-1])
    return (int(line.program[same[0]]), int(line.program[same[0] + 1])) if len(same) else None
