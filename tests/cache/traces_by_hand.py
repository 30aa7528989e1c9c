# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Traces made by hand, for the tests of this room and for benchmarks of the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from intelliperf_swizzle.records import Access, Segment, Trace

READ, WRITE, ATOMIC = Access.READ, Access.WRITE, Access.ATOMIC


def written_out(tiles: Iterable[Sequence[tuple[Access, Sequence[int]]]], sectors=15) -> Trace:
    """A trace from lists: each tile its accesses, each access a kind and its lines."""
    offset, base, shape = [0], [], []
    shapes: dict[tuple[Access, tuple[int, ...]], int] = {}
    for tile in tiles:
        for kind, lines in tile:
            relative = tuple(line - lines[0] for line in lines)
            base.append(lines[0])
            shape.append(shapes.setdefault((kind, relative), len(shapes)))
        offset.append(len(base))
    return assembled(
        np.array(offset),
        np.array(base),
        np.array(shape),
        [(kind, np.array(relative), sectors) for kind, relative in shapes],
    )


def assembled(tile_offset, base, shape, shapes, grid=None) -> Trace:
    """A trace from flat arrays and shapes (kind, relative lines, sectors)."""
    lengths = [len(lines) for _, lines, _ in shapes]
    sectors = [np.broadcast_to(np.asarray(s, np.uint8), len(lines)) for _, lines, s in shapes]
    return Trace(
        grid=grid or (len(tile_offset) - 1, 1, 1),
        tile_offset=np.asarray(tile_offset, np.int64),
        access_base=np.asarray(base, np.int32),
        access_shape=np.asarray(shape, np.int32),
        shape_offset=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        shape_line=np.concatenate([[], *(lines for _, lines, _ in shapes)]).astype(np.int32),
        shape_sectors=np.concatenate([[], *sectors]).astype(np.uint8),
        shape_kind=np.array([kind for kind, _, _ in shapes], np.uint8),
        segments=(Segment(("x",), 0, 1 << 40),),
        method="batched",
    )


def _regular(grid, columns) -> Trace:
    """A trace where every tile makes the same accesses: columns of (shape, base of each tile)."""
    shapes = [shape for shape, _ in columns]
    bases = np.stack([base for _, base in columns], axis=1)
    tiles, accesses = bases.shape
    return assembled(
        np.arange(tiles + 1) * accesses,
        bases.ravel(),
        np.tile(np.arange(accesses), tiles),
        shapes,
        grid,
    )


def gemm(m, n, k, bm, bn, bk, *, b_by_k=True, bytes_=2) -> Trace:
    """C[M,N] = A[M,K] @ B; B is [K,N], or [N,K] where `b_by_k` is false; all row-major."""
    per = 128 // bytes_
    rows, cols, steps = m // bm, n // bn, k // bk
    a_row, c_row = k // per, n // per
    b_row = n // per if b_by_k else k // per
    b_first = m * a_row
    c_first = b_first + (k * b_row if b_by_k else n * b_row)

    def box(height, width, row):
        return (np.arange(height)[:, None] * row + np.arange(width)).ravel()

    a_shape = box(bm, bk // per, a_row)
    b_shape = box(bk, bn // per, b_row) if b_by_k else box(bn, bk // per, b_row)
    shapes = [(READ, a_shape, 15), (READ, b_shape, 15), (WRITE, box(bm, bn // per, c_row), 15)]
    pid = np.arange(rows * cols)
    pm, pn, step = pid // cols, pid % cols, np.arange(steps)
    a = pm[:, None] * bm * a_row + step * (bk // per)
    if b_by_k:
        b = b_first + step * bk * b_row + pn[:, None] * (bn // per)
    else:
        b = b_first + pn[:, None] * bn * b_row + step * (bk // per)
    c = c_first + pm * bm * c_row + pn * (bn // per)
    base = np.concatenate((np.stack((a, b), 2).reshape(rows * cols, -1), c[:, None]), axis=1)
    shape = np.tile(np.append(np.tile([0, 1], steps), 2), rows * cols)
    offset = np.arange(rows * cols + 1) * (2 * steps + 1)
    return assembled(offset, base.ravel(), shape, shapes, (rows * cols, 1, 1))


def streaming(programs, reads, writes, lines=4) -> Trace:
    """Each program reads `reads` lists of lines of its own and writes `writes` of its own."""
    box = np.arange(lines)
    columns = []
    for i in range(reads + writes):
        base = (i * programs + np.arange(programs)) * lines
        columns.append(((READ if i < reads else WRITE, box, 15), base))
    return _regular((programs, 1, 1), columns)


def transpose(n, block=32, bytes_=2) -> Trace:
    """Transpose, grid (n / block, n / block), program_id(0) the tile row; a tile is half a line."""
    per = 128 // bytes_
    row, side = n // per, n // block
    pid = np.arange(side * side)
    pm, pn = pid % side, pid // side
    box = np.arange(block) * row
    tiles_a_line = per // block
    mask = (1 << (4 // tiles_a_line)) - 1
    shapes = [
        (kind, box, mask << (i * 4 // tiles_a_line))
        for kind in (READ, WRITE)
        for i in range(tiles_a_line)
    ]
    read = pm * block * row + pn // tiles_a_line
    write = n * row + pn * block * row + pm // tiles_a_line
    base = np.stack((read, write), 1).ravel()
    shape = np.stack((pn % tiles_a_line, tiles_a_line + pm % tiles_a_line), 1).ravel()
    return assembled(np.arange(side * side + 1) * 2, base, shape, shapes, (side, side, 1))
