# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Operations that make blocks, or give their lanes another place: shapes, reductions, scans.

Each is a function of the batch and of what Triton hands to the `create_…` of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import ReduceOps, ScanOps, TensorHandle

from intelliperf_swizzle.frontends.triton.interpreter.batch import Batch
from intelliperf_swizzle.frontends.triton.interpreter.blocks import (
    Array,
    Block,
    align,
    array_of,
    is_known,
    origin_of,
    shape_of,
    terms_of,
)

# --- new blocks ---------------------------------------------------------------------------------


def get_program_id(batch: Batch, axis: int) -> Block:
    """One number per program."""
    values = batch.coordinates[axis]
    return Block((values,), tl.int32, (), batch.origins.program_id(axis, values))


def make_range(batch: Batch, ret_ty: tl.dtype, start: int, stop: int) -> Block:
    """The same for all programs."""
    return Block((np.arange(start, stop, dtype=np.int32)[None],), tl.int32, (stop - start,))


# --- shapes -------------------------------------------------------------------------------------


def _reshape_terms(
    handle: TensorHandle, shape: Sequence[int], change: Callable[[Array], Array]
) -> Block:
    terms = [change(term) for term in terms_of(handle, len(shape_of(handle)))]
    return Block(terms, handle.dtype, shape, origin_of(handle), is_known(handle))


def splat(batch: Batch, ret_ty: tl.dtype, arg: TensorHandle) -> Block:
    """A scalar for every lane."""
    return broadcast(batch, arg, tuple(ret_ty.shape))


def unsplat(batch: Batch, arg: TensorHandle) -> Block:
    """The only lane of a block."""
    return _reshape_terms(arg, (), lambda term: term.reshape(len(term), -1)[:, 0])


def expand_dims(batch: Batch, arg: TensorHandle, axis: int) -> Block:
    """One more extent of 1."""
    shape = list(shape_of(arg))
    axis += len(shape) + 1 if axis < 0 else 0
    shape.insert(axis, 1)
    return _reshape_terms(arg, shape, lambda term: np.expand_dims(term, axis + 1))


def broadcast(batch: Batch, arg: TensorHandle, shape: Sequence[int]) -> Block:
    """Extents of 1 made larger, without copying."""
    return _reshape_terms(arg, shape, lambda term: align(term, len(shape)))


def trans(batch: Batch, arg: TensorHandle, perm: Sequence[int]) -> Block:
    """Permuted axes."""
    shape = shape_of(arg)
    axes = (0, *(axis + 1 for axis in perm))
    return _reshape_terms(
        arg, [shape[axis] for axis in perm], lambda term: np.transpose(term, axes)
    )


def reshape(batch: Batch, arg: TensorHandle, shape: Sequence[int], *_: object) -> Block:
    """The same lanes in C order under another shape."""
    if not is_known(arg) or array_of(arg, len(shape_of(arg)))[0].size == 1:
        return _reshape_terms(arg, shape, lambda term: term.reshape(len(term), *(1,) * len(shape)))
    full = batch.full(arg)
    reshaped = full.reshape(len(full), *shape)
    return Block((reshaped,), arg.dtype.scalar, shape, origin_of(arg))


def cat(batch: Batch, lhs: TensorHandle, rhs: TensorHandle) -> Block:
    """Two 1-D blocks one after the other."""
    shape = (shape_of(lhs)[0] + shape_of(rhs)[0],)
    return _stack(batch, lhs, rhs, shape, lambda pair: np.concatenate(pair, axis=1))


def join(batch: Batch, lhs: TensorHandle, rhs: TensorHandle) -> Block:
    """Two blocks along a new last axis."""
    shape = (*shape_of(lhs), 2)
    return _stack(batch, lhs, rhs, shape, lambda pair: np.stack(pair, axis=-1))


def _stack(
    batch: Batch,
    lhs: TensorHandle,
    rhs: TensorHandle,
    shape: Sequence[int],
    stack: Callable[[list[Array]], Array],
) -> Block:
    if not (is_known(lhs) and is_known(rhs)):
        return batch.unknown(lhs.dtype, shape, lhs, rhs)
    stacked = stack(_full_both(batch, lhs, rhs))
    return Block((stacked,), lhs.dtype.scalar, shape, origin_of(lhs) | origin_of(rhs))


def _full_both(batch: Batch, one: TensorHandle, other: TensorHandle) -> list[Array]:
    """All lanes of two blocks, of as many programs each."""
    both = [batch.full(one), batch.full(other)]
    count = max(len(array) for array in both)
    return [np.broadcast_to(array, (count, *array.shape[1:])) for array in both]


def split(batch: Batch, val: TensorHandle) -> tuple[Block, Block]:
    """The two halves along the last axis."""
    shape = shape_of(val)[:-1]
    if not is_known(val):
        return batch.unknown(val.dtype, shape, val), batch.unknown(val.dtype, shape, val)
    full = batch.full(val)
    dtype, origin = val.dtype.scalar, origin_of(val)
    return (
        Block((full[..., 0],), dtype, shape, origin),
        Block((full[..., 1],), dtype, shape, origin),
    )


def gather(batch: Batch, src: TensorHandle, indices: TensorHandle, axis: int) -> Block:
    """Lanes of one block chosen by another."""
    if not (is_known(src) and is_known(indices)):
        return batch.unknown(src.dtype, shape_of(indices), src, indices)
    source, places = _full_both(batch, src, indices)
    gathered = np.take_along_axis(source, places, axis=axis % (source.ndim - 1) + 1)
    origin = origin_of(src) | origin_of(indices)
    return Block((gathered,), src.dtype.scalar, shape_of(indices), origin)


def transpose(tensor: tl.tensor) -> tl.tensor:
    """What replaces the property `T` of a tensor."""
    handle = tensor.handle
    shape = list(shape_of(handle))
    shape[-1], shape[-2] = shape[-2], shape[-1]
    block = _reshape_terms(handle, shape, lambda term: np.swapaxes(term, -1, -2))
    return tl.tensor(block, tl.block_type(tensor.dtype, shape))


# --- reductions and scans -----------------------------------------------------------------------

Operands: TypeAlias = "tl.tensor | tuple[tl.tensor, ...]"
"""One tensor or several that are reduced together."""

_REDUCTIONS: Mapping[object, Callable[..., Array]] = {
    tl.standard._sum_combine: np.sum,
    tl.standard._elementwise_max: np.nanmax,
    tl.standard._elementwise_min: np.nanmin,
}


def reduce(batch: Batch, operation: ReduceOps, operands: Operands) -> Operands:
    """What replaces `ReduceOps.apply`."""
    return _for_each(partial(_reduce_each, batch, operation), operands)


def _reduce_each(
    batch: Batch, operation: ReduceOps, operands: Sequence[tl.tensor], each: tl.tensor
) -> tl.tensor:
    handles = [operand.handle for operand in operands]
    axis = _axis(operation.axis, len(shape_of(each.handle)))
    shape = _reduced_shape(shape_of(each.handle), axis, operation.keep_dims)
    function = _REDUCTIONS.get(operation.combine_fn)
    if function is None or not all(is_known(handle) for handle in handles):
        block = batch.unknown(each.handle.dtype, shape, *handles)
    else:
        full = batch.full(each.handle)
        axes = tuple(range(1, full.ndim)) if axis is None else axis + 1
        values = np.asarray(function(full, axis=axes)).astype(full.dtype)
        values = values.reshape(len(full), *shape)
        block = Block((values,), each.handle.dtype, shape, origin_of(each.handle))
    return tl.tensor(block, tl.block_type(each.dtype, list(shape)) if shape else each.dtype)


def _reduced_shape(shape: Sequence[int], axis: int | None, keep_dims: bool) -> tuple[int, ...]:
    if axis is None:
        return (1,) * len(shape) if keep_dims else ()
    kept = [1 if a == axis else extent for a, extent in enumerate(shape) if keep_dims or a != axis]
    return tuple(kept)


def _axis(axis: tl.constexpr | int | None, rank: int) -> int | None:
    """An axis as a number from 0 on; None stays for all of them."""
    axis = getattr(axis, "value", axis)
    return None if axis is None else int(axis) % rank


def scan(batch: Batch, operation: ScanOps, operands: Operands) -> Operands:
    """What replaces `ScanOps.apply`."""
    return _for_each(partial(_scan_each, batch, operation), operands)


def _for_each(
    function: Callable[[tuple[tl.tensor, ...], tl.tensor], tl.tensor], operands: Operands
) -> Operands:
    """Each of the operands by way of a function of all of them and it."""
    if isinstance(operands, tuple):
        return tuple(function(operands, each) for each in operands)
    return function((operands,), operands)


def _scan_each(
    batch: Batch, operation: ScanOps, operands: Sequence[tl.tensor], each: tl.tensor
) -> tl.tensor:
    handle = each.handle
    summed = operation.combine_fn is tl.standard._sum_combine and not operation.reverse
    if not summed or not is_known(handle):
        handles = [operand.handle for operand in operands]
        block = batch.unknown(handle.dtype, shape_of(handle), *handles)
    else:
        full = batch.full(handle)
        along = (_axis(operation.axis, full.ndim - 1) or 0) + 1
        values = np.cumsum(full, axis=along).astype(full.dtype)
        block = Block((values,), handle.dtype, shape_of(handle), origin_of(handle))
    return tl.tensor(block, each.type)


OPERATIONS: Mapping[str, Callable[..., object]] = {
    operation.__name__: operation
    for operation in (
        *(get_program_id, make_range, splat, unsplat, expand_dims, broadcast, trans, reshape),
        *(cat, join, split, gather),
    )
}
