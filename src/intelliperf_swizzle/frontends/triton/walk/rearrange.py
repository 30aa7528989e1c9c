# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Operations that give the lanes of blocks another place, or combine lanes: shapes, reductions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from intelliperf_swizzle.frontends.triton.walk.batch import Programs
from intelliperf_swizzle.frontends.triton.walk.blocks import Array, Block, Element, align, rounded

Combine = Callable[[Sequence[Block], Sequence[Block]], Sequence[Block]]
"""The region of a reduction or scan."""

# --- shapes -------------------------------------------------------------------------------------


def _change(block: Block, shape: Sequence[int], change: Callable[[Array], Array]) -> Block:
    return Block([change(term) for term in block.terms], block.element, shape)


def broadcast(block: Block, shape: Sequence[int]) -> Block:
    """Extents of 1 made larger, or a scalar for every lane, without copying."""
    return _change(block, shape, lambda term: align(term, len(shape)))


def expand_dims(block: Block, axis: int, shape: Sequence[int]) -> Block:
    """One more extent of 1."""
    return _change(block, shape, lambda term: np.expand_dims(term, axis + 1))


def transpose(block: Block, order: Sequence[int], shape: Sequence[int]) -> Block:
    """Permuted axes."""
    axes = (0, *(axis + 1 for axis in order))
    return _change(block, shape, lambda term: np.transpose(term, axes))


def reshape(programs: Programs, block: Block, shape: Sequence[int]) -> Block:
    """The same lanes in C order under another shape."""
    if all(term[0].size == 1 for term in block.terms):
        return _change(block, shape, lambda term: term.reshape(len(term), *(1,) * len(shape)))
    if [extent for extent in shape if extent > 1] == [e for e in block.shape if e > 1]:
        return _change(block, shape, lambda term: _with_ones(term, block.shape, shape))
    full = programs.full(block)
    return Block((full.reshape(len(full), *shape),), block.element, shape)


def _with_ones(term: Array, old: Sequence[int], new: Sequence[int]) -> Array:
    """Extents of 1 put in and taken out."""
    kept = iter([held for held, extent in zip(term.shape[1:], old, strict=True) if extent > 1])
    return term.reshape(len(term), *(1 if extent == 1 else next(kept) for extent in new))


def _full(programs: Programs, *blocks: Block) -> list[Array]:
    """All lanes of blocks, of as many programs each."""
    arrays = [programs.full(block) for block in blocks]
    count = max(len(array) for array in arrays)
    return [np.broadcast_to(array, (count, *array.shape[1:])) for array in arrays]


def cat(programs: Programs, blocks: Sequence[Block], shape: Sequence[int]) -> Block:
    """Blocks one after the other."""
    return Block((np.concatenate(_full(programs, *blocks), axis=1),), blocks[0].element, shape)


def join(programs: Programs, blocks: Sequence[Block], shape: Sequence[int]) -> Block:
    """Two blocks along a new last axis."""
    return Block((np.stack(_full(programs, *blocks), axis=-1),), blocks[0].element, shape)


def split(programs: Programs, block: Block) -> list[Block]:
    """The two halves along the last axis."""
    full = programs.full(block)
    return [Block((full[..., half],), block.element, block.shape[:-1]) for half in range(2)]


def gather(programs: Programs, source: Block, places: Block, axis: int) -> Block:
    """Lanes of one block chosen by another."""
    values, indices = _full(programs, source, places)
    found = np.take_along_axis(values, indices.astype(np.int64), axis=axis + 1)
    return Block((found,), source.element, places.shape)


def histogram(
    programs: Programs, source: Block, mask: Block | None, element: Element, bins: int
) -> Block:
    """How often each number below `bins` occurs."""
    values, *lanes = _full(programs, source, *([] if mask is None else [mask]))
    counts = np.zeros((len(values), bins), element.array)
    for row, numbers in enumerate(values):
        chosen = numbers[lanes[0][row]] if lanes else numbers.reshape(-1)
        chosen = chosen[(chosen >= 0) & (chosen < bins)]
        counts[row] = np.bincount(chosen, minlength=bins)
    return Block((counts,), element, (bins,))


# --- reductions and scans -----------------------------------------------------------------------

_UFUNCS: Mapping[str, np.ufunc] = {
    "arith.addi": np.add, "arith.addf": np.add, "arith.muli": np.multiply,
    "arith.mulf": np.multiply, "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin, "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum, "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}  # fmt: skip


def reduce(
    programs: Programs, blocks: Sequence[Block], axis: int, combine: Combine, single: str
) -> list[Block]:
    """Combines the lanes along an axis: halves with halves; `single` names a lone operation."""
    shape = tuple(extent for at, extent in enumerate(blocks[0].shape) if at != axis)
    arrays = _full(programs, *blocks)
    if len(blocks) == 1 and single in _UFUNCS:
        found = _UFUNCS[single].reduce(arrays[0], axis=axis + 1, dtype=arrays[0].dtype)
        return [Block((rounded(found, blocks[0].element),), blocks[0].element, shape)]
    while (extent := arrays[0].shape[axis + 1]) > 1:
        halves = [np.split(array, (extent // 2, extent // 2 * 2), axis + 1) for array in arrays]
        first, second = (
            [_block(half[which], block) for half, block in zip(halves, blocks, strict=True)]
            for which in range(2)
        )
        combined = [block.data for block in combine(first, second)]
        rest = [half[2] for half in halves]
        arrays = [
            np.concatenate((np.broadcast_to(new, first[0].data.shape), old), axis + 1)
            for new, old in zip(combined, rest, strict=True)
        ]
    kept = [np.take(array, 0, axis + 1) for array in arrays]
    return [Block((k,), b.element, shape) for k, b in zip(kept, blocks, strict=True)]


def scan(
    programs: Programs,
    blocks: Sequence[Block],
    axis: int,
    combine: Combine,
    single: str,
    reverse: bool,
) -> list[Block]:
    """What `reduce` makes of the lanes up to each one, in strides of powers of two."""
    arrays = _full(programs, *blocks)
    at = axis + 1
    if reverse:
        arrays = [np.flip(array, at) for array in arrays]
    if len(blocks) == 1 and single in _UFUNCS:
        found = _UFUNCS[single].accumulate(arrays[0], axis=at, dtype=arrays[0].dtype)
        arrays = [rounded(found, blocks[0].element)]
    else:
        extent, stride = arrays[0].shape[at], 1
        while stride < extent:
            before = [np.take(array, range(extent - stride), at) for array in arrays]
            after = [np.take(array, range(stride, extent), at) for array in arrays]
            combined = combine(
                [_block(array, block) for array, block in zip(before, blocks, strict=True)],
                [_block(array, block) for array, block in zip(after, blocks, strict=True)],
            )
            arrays = [
                np.concatenate((np.take(old, range(stride), at), new.data), at)
                for old, new in zip(arrays, combined, strict=True)
            ]
            stride *= 2
    if reverse:
        arrays = [np.flip(array, at) for array in arrays]
    return [Block((a,), b.element, b.shape) for a, b in zip(arrays, blocks, strict=True)]


def _block(array: Array, like: Block) -> Block:
    return Block((np.ascontiguousarray(array),), like.element, array.shape[1:])


# --- products -----------------------------------------------------------------------------------


def dot(programs: Programs, left: Block, right: Block, added: Block) -> Block:
    """Matrix products, added to a block."""
    dtype = added.element.array if added.element.name != "f16" else np.dtype(np.float32)
    a, b = (np.ascontiguousarray(programs.full(one)).astype(dtype, copy=False)
            for one in (left, right))  # fmt: skip
    found = np.matmul(a, b) + added.data
    return Block((rounded(found, added.element),), added.element, added.shape)
