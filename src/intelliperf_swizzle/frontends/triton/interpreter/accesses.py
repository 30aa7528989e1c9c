# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Loads, stores and atomics of blocks; tiles of descriptors and block pointers; programs that wait.

Each operation is a function of the batch and of what Triton hands to the `create_…` of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import triton.language as tl
import triton.runtime.interpreter as triton_interpreter
from triton.runtime.interpreter import TensorDescHandle, TensorHandle

from intelliperf_swizzle.frontends.triton.interpreter.batch import (
    ARITHMETIC,
    Active,
    Batch,
    Poll,
    RefusalError,
)
from intelliperf_swizzle.frontends.triton.interpreter.blocks import (
    Array,
    Block,
    array_of,
    is_floating,
    is_known,
    is_single,
    merge,
    origin_of,
    shape_of,
    terms_of,
)
from intelliperf_swizzle.frontends.triton.interpreter.elementwise import add
from intelliperf_swizzle.frontends.triton.interpreter.updates import current_update
from intelliperf_swizzle.records import Access, Int64Array

if TYPE_CHECKING:
    from triton.runtime.interpreter import BlockPointerHandle  # Triton 3.6

VAIN_POLLS = 3
"""Polls of the same word after which a program is taken to wait, and the awaited value guessed."""
GUESSES = (1, 0, -1, 2, 3, 4)
"""What a waiting program may wait for, most likely first; each is offered twice."""

Write = Callable[[npt.NDArray[np.uint64], Array, npt.NDArray[np.bool_]], object]
"""Writes values at host addresses, in the lanes of a mask."""

# --- loads --------------------------------------------------------------------------------------


def load(batch: Batch, ptr: TensorHandle, *_: object) -> Block:
    """An unmasked load."""
    return masked_load(batch, ptr, None, None)


def masked_load(
    batch: Batch,
    ptr: TensorHandle,
    mask: TensorHandle | None,
    other: TensorHandle | None,
    *_: object,
) -> Block:
    """A load; a repeated one of a single word is no access."""
    block = _repeat(batch, ptr, mask)
    if block is None:
        number = _touch(batch, Access.READ, ptr, mask)
        block = _value(batch, number, ptr, mask, other)
        single = is_single(shape_of(ptr))
        batch.poll = Poll(_word(ptr, mask), block, number) if single else None
    block.origin |= batch.origins.load(ptr, mask)
    return block


def _touch(batch: Batch, kind: Access, ptr: TensorHandle, mask: TensorHandle | None) -> int:
    """Record an access; its number in the batch."""
    batch.origins.touch(ptr, mask)
    rank = len(shape_of(ptr))
    batch.deciding(ptr, "an address")
    if mask is not None:
        batch.deciding(mask, "a mask")
    addresses = [term.view(np.int64) for term in terms_of(ptr, rank)]
    masks = [] if mask is None else terms_of(mask, rank)
    return batch.recorder.access(kind, addresses, masks, _item_bytes(ptr), batch.active)


def _item_bytes(ptr: TensorHandle) -> int:
    return max(1, int(ptr.get_element_ty().primitive_bitwidth) // 8)


def _value(
    batch: Batch,
    number: int,
    ptr: TensorHandle,
    mask: TensorHandle | None,
    other: TensorHandle | None,
) -> Block:
    """What a load brings: its values, where they are wanted and can be had."""
    dtype, shape = ptr.get_element_ty(), shape_of(ptr)
    floating = is_floating(dtype)
    origin = _storages(batch, ptr, mask)
    wanted = is_single(shape) or (origin and origin & batch.needed == origin)
    if batch.math or (wanted and not floating):
        block = _read(batch, ptr, mask, other)
        if block.known:
            batch.value_loads[number] = block.origin
        return block
    unknown = batch.unknown(dtype, shape, other)
    unknown.origin |= origin | (ARITHMETIC if floating else 0)
    return unknown


def _read(
    batch: Batch, ptr: TensorHandle, mask: TensorHandle | None, other: TensorHandle | None
) -> Block:
    """The real values."""
    memory, origin = batch.memory, _storages(batch, ptr, mask)
    numbers = [n for place, n in enumerate(memory.numbers) if origin >> place + 1 & 1]
    dtype, shape = ptr.get_element_ty(), shape_of(ptr)
    if not batch.math and not all(memory.has_contents(number) for number in numbers):
        unknown = batch.unknown(dtype, shape)
        unknown.origin = origin
        return unknown
    if batch.math and origin & batch.written:
        raise RefusalError("a program reads what it wrote")
    if other is not None and not is_known(other):
        return batch.unknown(dtype, shape, other)
    rank, np_dtype = len(shape), triton_interpreter._get_np_dtype(dtype)
    zero = np.zeros((1,) * (rank + 1), np_dtype)
    inputs = [
        array_of(ptr, rank),
        _lanes_of(mask, rank),
        zero if other is None else array_of(other, rank),
    ]
    common = np.broadcast_shapes(*(array.shape for array in inputs))
    batch.check_size(int(np.prod(common)))
    addresses, active, others = (
        np.ascontiguousarray(np.broadcast_to(array, common)) for array in inputs
    )
    host, inside = memory.locate(addresses, active)
    values = triton_interpreter._interpreter.load(host, inside, others, np_dtype)
    return Block((values,), dtype, shape, origin | origin_of(other))


def _lanes_of(mask: TensorHandle | None, rank: int) -> Array:
    return np.ones((1,) * (rank + 1), np.bool_) if mask is None else array_of(mask, rank)


# --- which storages -----------------------------------------------------------------------------


def _storages(batch: Batch, ptr: TensorHandle, mask: TensorHandle | None) -> int:
    """Bit set of the storages that the active lanes of the active programs lie in."""
    terms = [term.view(np.int64) for term in terms_of(ptr, len(shape_of(ptr)))]
    low, high = (sum(int(extreme(term)) for term in terms) for extreme in (np.min, np.max))
    first = int(np.searchsorted(batch.memory.begin, low, side="right")) - 1
    if first >= 0 and high < batch.memory.end[first]:
        return 2 << first
    lows, highs = (
        sum(extreme(term, axis=tuple(range(1, term.ndim))) for term in terms)
        for extreme in (np.min, np.max)
    )
    place = np.searchsorted(batch.memory.begin, lows, side="right") - 1
    within = (place >= 0) & (highs < batch.memory.end[place])
    programs = batch.active & _some_lane(mask)
    found = np.unique(np.broadcast_to(place, programs.shape)[programs & within]) + 1
    if (left := programs & ~within).any():  # lane by lane
        lanes = _addresses_of(batch, left, ptr, mask)
        after = np.bincount(np.searchsorted(batch.memory.begin, lanes, side="right"))
        found = np.union1d(found, np.flatnonzero(after))
    return sum(1 << int(place) for place in found if place)


def _some_lane(mask: TensorHandle | None) -> Active:
    """Which programs have an active lane: bool[programs or 1]."""
    if mask is None:
        return np.ones(1, np.bool_)
    lanes = array_of(mask, len(shape_of(mask)))
    return np.asarray(lanes.any(axis=tuple(range(1, lanes.ndim))))


def _addresses_of(
    batch: Batch, programs: Active, ptr: TensorHandle, mask: TensorHandle | None
) -> Int64Array:
    """Of all active lanes of some programs."""
    rank = len(shape_of(ptr))
    arrays = [array_of(ptr, rank).view(np.int64), *([] if mask is None else [array_of(mask, rank)])]
    rows = [array if len(array) == 1 else array[programs] for array in arrays]
    common = (int(programs.sum()), *np.broadcast_shapes(*(row.shape[1:] for row in rows)))
    batch.check_size(int(np.prod(common)))
    lanes, *masks = (np.broadcast_to(row, common) for row in rows)
    return lanes[masks[0]] if masks else lanes.reshape(-1)


# --- programs that wait -------------------------------------------------------------------------


def _repeat(batch: Batch, ptr: TensorHandle, mask: TensorHandle | None) -> Block | None:
    """What a repeated load of one word brings; after some, the awaited value is guessed."""
    poll, dtype, shape = batch.poll, ptr.get_element_ty(), shape_of(ptr)
    single = is_single(shape) and is_known(ptr) and (mask is None or is_known(mask))
    if poll is None or not single or _word(ptr, mask) != poll.word:
        return None
    poll.repeats += 1
    if poll.repeats <= VAIN_POLLS or is_floating(dtype):
        return poll.block
    _wait(batch)
    batch.value_loads.pop(poll.number, None)
    guess = (poll.repeats - VAIN_POLLS - 1) // 2
    if guess >= len(GUESSES):
        raise RefusalError("a program waits for a value that could not be guessed")
    value = np.full((1,) * (1 + len(shape)), GUESSES[guess])
    return Block((value.astype(triton_interpreter._get_np_dtype(dtype)),), dtype, shape)


def _word(ptr: TensorHandle, mask: TensorHandle | None) -> tuple[bytes, bytes]:
    rank = len(shape_of(ptr))
    lanes = b"" if mask is None else array_of(mask, rank).tobytes()
    return array_of(ptr, rank).tobytes(), lanes


def _wait(batch: Batch) -> None:
    """A program waits for another, which is taken to succeed."""
    if batch.math:
        raise RefusalError("a program waits for another")
    batch.noticed.waits = True


# --- stores and atomics -------------------------------------------------------------------------


def store(batch: Batch, ptr: TensorHandle, val: TensorHandle, *_: object) -> None:
    """An unmasked store."""
    masked_store(batch, ptr, val, None)


def masked_store(
    batch: Batch, ptrs: TensorHandle, value: TensorHandle, mask: TensorHandle | None, *_: object
) -> None:
    """A store."""
    batch.origins.write(value)
    batch.poll = None
    _touch(batch, Access.WRITE, ptrs, mask)
    if batch.math:
        _postpone(batch, ptrs, value, mask, triton_interpreter._interpreter.store)


def _postpone(
    batch: Batch, ptr: TensorHandle, value: TensorHandle, mask: TensorHandle | None, write: Write
) -> None:
    """Write at the end of the batch, for the programs that are then still active."""
    batch.written |= _storages(batch, ptr, mask)
    rank = len(shape_of(ptr))
    inputs = [array_of(ptr, rank), array_of(value, rank), _lanes_of(mask, rank)]
    common = (len(batch.programs), *(shape_of(ptr) or ()))
    batch.check_size(int(np.prod(common)))

    def write_active(active: Active) -> None:
        addresses, values, lanes = (
            np.ascontiguousarray(np.broadcast_to(array, common)[active]) for array in inputs
        )
        host, inside = batch.memory.locate(addresses, lanes)
        write(host, values, inside)

    batch.pending.append(write_active)


def atomic_rmw(
    batch: Batch,
    op: object,
    ptr: TensorHandle,
    val: TensorHandle,
    mask: TensorHandle | None,
    sem: object,
    *_: object,
) -> Block:
    """An atomic update; what it returns depends on the order of the programs."""
    batch.origins.write(val)
    batch.poll = None
    _touch(batch, Access.ATOMIC, ptr, mask)
    if batch.math:
        native = triton_interpreter._interpreter
        code = batch.ir_rmw_op_to_interpreter_rmw_op[op]
        order = batch.ir_sem_to_interpreter_sem[sem]
        _postpone(
            batch, ptr, val, mask,
            lambda host, values, inside: native.atomic_rmw(code, host, values, inside, order),
        )  # fmt: skip
    shape = shape_of(ptr)
    zero = np.zeros((1,) * (1 + len(shape)), triton_interpreter._get_np_dtype(val.dtype))
    origin = _storages(batch, ptr, mask) | ARITHMETIC
    return Block((zero,), val.dtype.scalar, shape, origin, known=False)


def atomic_cas(
    batch: Batch, ptr: TensorHandle, cmp: TensorHandle, val: TensorHandle, *_: object
) -> Block:
    """A compare-and-swap is a lock: it is taken to succeed at once, unless it is polled."""
    if batch.math:
        raise RefusalError("a program takes a lock")
    block = _repeat(batch, ptr, None)
    if block is None:
        number = _touch(batch, Access.ATOMIC, ptr, None)
        batch.noticed.waits |= current_update().answer_is_used
        shape = shape_of(ptr)
        terms = terms_of(cmp, len(shape))
        block = Block(terms, cmp.dtype.scalar, shape, origin_of(cmp), is_known(cmp))
        batch.poll = Poll(_word(ptr, None), block, number) if is_single(shape) else None
    return block


def atomic_poll(batch: Batch, ptr: TensorHandle, expected: TensorHandle, *_: object) -> Block:
    """Waiting is taken to succeed."""
    _wait(batch)
    batch.poll = None
    _touch(batch, Access.READ, ptr, None)
    shape = shape_of(ptr)
    return Block((np.ones((1,) * (len(shape) + 1), np.bool_),), tl.int1, shape)


# --- descriptors and block pointers -------------------------------------------------------------


def make_tensor_descriptor(
    batch: Batch,
    base: TensorHandle,
    shape: Sequence[TensorHandle],
    strides: Sequence[TensorHandle],
    block_shape: Sequence[int],
    is_signed: bool,
    padding: object = 0,
) -> TensorDescHandle:
    """A descriptor; its alignment rules are the compiler's to check."""
    return TensorDescHandle(base, shape, strides, block_shape, padding)


def descriptor_load(
    batch: Batch, desc: TensorDescHandle, indices: Sequence[TensorHandle], *_: object
) -> Block:
    """A tile, zero outside the tensor."""
    pointer, mask = _tile(batch, desc, indices, range(len(desc.block_shape)))
    return masked_load(batch, pointer, mask, None)


def descriptor_store(
    batch: Batch, desc: TensorDescHandle, value: TensorHandle, indices: Sequence[TensorHandle]
) -> None:
    """A tile, cut off at the tensor's border."""
    pointer, mask = _tile(batch, desc, indices, range(len(desc.block_shape)))
    masked_store(batch, pointer, value, mask)


def descriptor_gather(
    batch: Batch,
    desc: TensorDescHandle,
    x_offsets: TensorHandle,
    y_offset: TensorHandle,
    *_: object,
) -> Block:
    """Rows one by one, as the interpreter does."""
    rows = [descriptor_load(batch, desc, [row, y_offset]) for row in _rows(batch, x_offsets)]
    dtype, shape = desc.base.dtype.element_ty, (len(rows), desc.block_shape[-1])
    if not batch.math:
        return batch.unknown(dtype, shape, *rows)
    values = [np.broadcast_to(row.data, (len(batch.programs), 1, shape[1])) for row in rows]
    return Block((np.concatenate(values, axis=1),), dtype, shape)


def descriptor_scatter(
    batch: Batch,
    desc: TensorDescHandle,
    value: TensorHandle,
    x_offsets: TensorHandle,
    y_offset: TensorHandle,
) -> None:
    """Rows one by one, as the interpreter does."""
    for number, row in enumerate(_rows(batch, x_offsets)):
        values = value
        if batch.math:
            full = batch.full(value)
            values = Block((full[:, number : number + 1],), value.dtype, (1, full.shape[2]))
        descriptor_store(batch, desc, values, [row, y_offset])


def _rows(batch: Batch, handle: TensorHandle) -> list[Block]:
    full = batch.full(batch.deciding(handle, "an address"))
    return [
        Block((full[:, lane],), handle.dtype.scalar, (), origin_of(handle))
        for lane in range(full.shape[1])
    ]


def make_block_ptr(
    batch: Batch,
    base: TensorHandle,
    shape: Sequence[TensorHandle],
    strides: Sequence[TensorHandle],
    offsets: Sequence[TensorHandle],
    block_shape: Sequence[int],
    order: Sequence[int],
) -> BlockPointerHandle:
    """A block pointer (Triton 3.6)."""
    return triton_interpreter.BlockPointerHandle(
        base, shape, strides, list(offsets), block_shape, order
    )


def advance(
    batch: Batch, ptr: BlockPointerHandle, offsets: Sequence[TensorHandle]
) -> BlockPointerHandle:
    """A block pointer further on (Triton 3.6)."""
    moved = [add(batch, a, b) for a, b in zip(ptr.offsets, offsets, strict=True)]
    return make_block_ptr(
        batch, ptr.base, ptr.shape, ptr.strides, moved, ptr.block_shape, ptr.order
    )


def tensor_pointer_load(
    batch: Batch, ptr: BlockPointerHandle, boundary_check: Sequence[int], *_: object
) -> Block:
    """A tile of a block pointer (Triton 3.6)."""
    pointer, mask = _tile(batch, ptr, ptr.offsets, boundary_check)
    return masked_load(batch, pointer, mask, None)


def tensor_pointer_store(
    batch: Batch,
    ptr: BlockPointerHandle,
    value: TensorHandle,
    boundary_check: Sequence[int],
    *_: object,
) -> None:
    """A tile of a block pointer (Triton 3.6)."""
    pointer, mask = _tile(batch, ptr, ptr.offsets, boundary_check)
    masked_store(batch, pointer, value, mask)


def _tile(
    batch: Batch,
    tile: TensorDescHandle | BlockPointerHandle,
    offsets: Sequence[TensorHandle],
    checked: Sequence[int],
) -> tuple[Block, Block]:
    """Addresses and mask of a tile, one term per axis."""
    extents = tuple(int(getattr(extent, "value", extent)) for extent in tile.block_shape)
    rank, origin = len(extents), origin_of(tile.base)
    addresses = [term.view(np.int64) for term in terms_of(tile.base, rank)]
    inside = [np.ones((1,) * (rank + 1), np.bool_)]
    for axis, extent in enumerate(extents):
        handles = (offsets[axis], tile.strides[axis], tile.shape[axis])
        for handle in handles:
            batch.deciding(handle, "an address")
            origin |= origin_of(handle)
        offset, stride, limit = (array_of(h, rank).astype(np.int64) for h in handles)
        lanes = np.arange(extent).reshape(1, *(extent if a == axis else 1 for a in range(rank)))
        position = offset + lanes
        addresses.append(position * (stride * _item_bytes(tile.base)))
        if axis in checked:
            inside.append((position >= 0) & (position < limit))
    pointer = [term.view(np.uint64) for term in merge(addresses)]
    return (
        Block(pointer, tile.base.dtype, extents, origin),
        Block(merge(inside, bits=True), tl.int1, extents, origin),
    )


OPERATIONS: Mapping[str, Callable[..., object]] = {
    operation.__name__: operation
    for operation in (
        *(load, masked_load, store, masked_store, atomic_rmw, atomic_cas, atomic_poll),
        *(make_tensor_descriptor, descriptor_load, descriptor_store),
        *(descriptor_gather, descriptor_scatter),
        *(make_block_ptr, advance, tensor_pointer_load, tensor_pointer_store),
    )
}
