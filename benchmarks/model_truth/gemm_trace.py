# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The trace of a GEMM made with NumPy: the lines of `kernels/gemm.py`, in seconds for any size."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records import Access, Int64Array, Segment, Trace

Shape = tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], int]
_ALIGNED_LINES = 1 << 14
"""Tensors begin at multiples of 2 MiB."""


class _Shapes:
    """The footprints of accesses, each once."""

    def __init__(self) -> None:
        self.number: dict[tuple[int, bytes, bytes], int] = {}
        self.all: list[Shape] = []

    def touched(self, rows: Int64Array, cols: Int64Array, stride: int, kind: int) -> Int64Array:
        """First line and number of the footprint of rows x columns of a matrix of 16-bit numbers.

        Lines come in the order of their first touch; `stride` is the bytes of a row.
        """
        sector = ((rows[:, None] * stride + 2 * cols) >> 5).ravel()
        sectors, at = np.unique(sector, return_index=True)
        lines, inverse = np.unique(sectors >> 2, return_inverse=True)
        mask = np.zeros(len(lines), np.int64)
        np.bitwise_or.at(mask, inverse, 1 << (sectors & 3))
        first = np.full(len(lines), len(sector))
        np.minimum.at(first, inverse, at)
        order = np.argsort(first)
        base = int(lines[order[0]])
        shape = ((lines[order] - base).astype(np.int32), mask[order].astype(np.uint8), kind)
        key = (kind, shape[0].tobytes(), shape[1].tobytes())
        if key not in self.number:
            self.number[key] = len(self.all)
            self.all.append(shape)
        return np.array([base, self.number[key]], np.int64)


def gemm_trace(size: tuple[int, int, int], block: tuple[int, int, int]) -> Trace:
    """The trace of C = A B, B row by row; tiles row by row, indices wrapped at the edges.

    Args:
        size: M, N, K.
        block: of a tile and of a step.
    """
    (m, n, k), (block_m, block_n, block_k) = size, block
    shapes, segments, first = _Shapes(), [], _ALIGNED_LINES
    for name, elements in (("a_ptr", m * k), ("b_ptr", k * n), ("c_ptr", m * n)):
        segments.append(Segment((name,), first, 2 * elements))
        first += (-(-2 * elements // (1 << 21)) + 1) * _ALIGNED_LINES
    steps = [np.arange(at, min(at + block_k, k)) for at in range(0, k, block_k)]
    rows = [(at + np.arange(block_m)) % m for at in range(0, m, block_m)]
    cols = [(at + np.arange(block_n)) % n for at in range(0, n, block_n)]
    a = _loads([[(r, s) for s in steps] for r in rows], 2 * k, 2 * block_k, shapes, Access.READ)
    moved = 2 * n * block_k
    b = _loads([[(s, c) for s in steps] for c in cols], 2 * n, moved, shapes, Access.READ)
    c = _loads([[(r, c)] for r in rows for c in cols], 2 * n, 0, shapes, Access.WRITE)
    for loads, segment in zip((a, b, c), segments, strict=True):
        loads[..., 0] += segment.first_line
    tiles, accesses = len(rows) * len(cols), 2 * len(steps) + 1
    each = np.empty((tiles, accesses, 2), np.int32)
    each[:, 0:-1:2] = np.repeat(a, len(cols), 0)
    each[:, 1:-1:2] = np.tile(b, (len(rows), 1, 1))
    each[:, -1:] = c
    arithmetic = np.zeros((tiles, 3), np.int64)
    arithmetic[:, 0] = len(steps)
    arithmetic[:, 1] = 2 * block_m * block_n * block_k * len(steps)
    lengths = [len(lines) for lines, _, _ in shapes.all]
    return Trace(
        grid=(tiles, 1, 1),
        tile_offset=np.arange(tiles + 1, dtype=np.int64) * accesses,
        access_base=each[..., 0].ravel(),
        access_shape=each[..., 1].ravel(),
        shape_offset=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        shape_line=np.concatenate([lines for lines, _, _ in shapes.all]),
        shape_sectors=np.concatenate([sectors for _, sectors, _ in shapes.all]),
        shape_kind=np.array([kind for _, _, kind in shapes.all], np.uint8),
        segments=tuple(segments),
        method="batched",
        tile_arithmetic=arithmetic,
        waves=8,
    )


def _loads(
    blocks: list[list[tuple[Int64Array, Int64Array]]],
    stride: int,
    moved: int,
    shapes: _Shapes,
    kind: int,
) -> Int64Array:
    """Footprints of blocks of a matrix, step by step: int64[blocks, steps, 2].

    A whole step that moves on by whole lines has the footprint of the first one.
    """
    found = np.empty((len(blocks), len(blocks[0]), 2), np.int64)
    for b, steps in enumerate(blocks):
        whole = [len(part) for part in steps[0]]
        for i, (r, c) in enumerate(steps):
            if i and moved % 128 == 0 and [len(r), len(c)] == whole:
                found[b, i] = found[b, 0] + [i * moved // 128, 0]
            else:
                found[b, i] = shapes.touched(r, c, stride, kind)
    return found
