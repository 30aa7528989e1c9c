# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
# ruff: noqa: N803
"""Small kernels of every kind that a trace must get right, and launches of them.

The names of a kernel's globals are found here in the simplest way that does for this file.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

from intelliperf_swizzle.records import (
    DescriptorArgument,
    KernelSource,
    Launch,
    SourceFunction,
    Storage,
    TensorArgument,
)

SCALE = tl.constexpr(3)
TRITON = tuple(int(part) for part in triton.__version__.split(".")[:2])


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(o + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask)


@triton.jit
def softmax(o, x, row_stride, rows, columns, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        column = tl.arange(0, BLOCK)
        mask = column < columns
        v = tl.load(x + row * row_stride + column, mask=mask, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(o + row * row_stride + column, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def layernorm(x, y, w, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * stride + c, mask=c < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * stride + c, mask=c < n, other=0.0).to(tl.float32)
        tl.store(y + row * stride + c, (a - mean + eps) * tl.load(w + c, mask=c < n), mask=c < n)


@triton.jit
def gemm(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    rows = tl.cdiv(M, BM)
    columns = tl.cdiv(N, BN)
    group_size = GROUP * columns
    first = pid // group_size * GROUP
    height = min(rows - first, GROUP)
    pid_m = first + (pid % group_size) % height
    pid_n = (pid % group_size) // height
    offs_am = (pid_m * BM + tl.arange(0, BM)) % M
    offs_bn = (pid_n * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a_ptrs = a_ptr + (offs_am[:, None] * sam + offs_k[None, :] * sak)
    b_ptrs = b_ptr + (offs_k[:, None] * sbk + offs_bn[None, :] * sbn)
    accumulator = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    offs_cm = pid_m * BM + tl.arange(0, BM)
    offs_cn = pid_n * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + scm * offs_cm[:, None] + scn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=c_mask)


@triton.jit
def transpose(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    v = tl.load(x + rm[:, None] * N + rn[None, :], mask=mask)
    tl.store(o + rn[:, None] * M + rm[None, :], tl.trans(v), mask=tl.trans(mask))


@triton.jit
def stencil_3d(x, o, sy, sz, NX: tl.constexpr, NY: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.program_id(1)
    z = tl.program_id(2)
    centre = x + z * sz + y * sy + at
    inner = (at > 0) & (at < NX - 1)
    v = tl.load(centre, mask=at < NX)
    v += tl.load(centre - 1, mask=inner) + tl.load(centre + 1, mask=inner)
    if y > 0:
        v += tl.load(centre - sy, mask=at < NX)
    if y < NY - 1:
        v += tl.load(centre + sy, mask=at < NX)
    tl.store(o + z * sz + y * sy + at, v, mask=at < NX)


@triton.jit
def gather_rows(table, index, o, width, BLOCK: tl.constexpr):
    row = tl.load(index + tl.program_id(0))
    c = tl.arange(0, BLOCK)
    v = tl.load(table + row * width + c, mask=c < width)
    tl.store(o + tl.program_id(0) * width + c, v * SCALE, mask=c < width)


@triton.jit
def spmv(row_start, column, value, x, y, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    begin = tl.load(row_start + row)
    end = tl.load(row_start + row + 1)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(begin, end, BLOCK):
        at = i + tl.arange(0, BLOCK)
        c = tl.load(column + at, mask=at < end, other=0)
        total += tl.load(value + at, mask=at < end, other=0.0) * tl.load(x + c, mask=at < end)
    tl.store(y + row, tl.sum(total, axis=0))


@triton.jit
def route_by_score(scores, table, o, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    best = tl.argmax(tl.load(scores + pid * EXPERTS + tl.arange(0, EXPERTS)), axis=0)
    c = tl.arange(0, BLOCK)
    tl.store(o + pid * BLOCK + c, tl.load(table + best * BLOCK + c))


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(counts + v, 1, mask=at < n)


@triton.jit
def locked_sum(x, total, lock, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + v)
    tl.atomic_xchg(lock, 0)


@triton.jit
def grouped_gradient(x, partial, lock, count, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    group = pid % GROUPS
    c = tl.arange(0, BLOCK)
    v = tl.load(x + pid * n + c, mask=c < n, other=0.0)
    while tl.atomic_cas(lock + group, 0, 1) == 1:
        pass
    seen = tl.load(count + group)
    if seen == 0:
        tl.atomic_xchg(count + group, 1)
    else:
        v += tl.load(partial + group * n + c, mask=c < n)
    tl.store(partial + group * n + c, v, mask=c < n)
    tl.atomic_xchg(lock + group, 0)


@triton.jit
def _stream_k_tile(a_ptr, b_ptr, N, K, tile, first, last, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr):  # fmt: skip
    columns = tl.cdiv(N, BN)
    rm = (tile // columns) * BM + tl.arange(0, BM)
    rn = (tile % columns) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    accumulator = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(first, last):
        a = tl.load(a_ptr + rm[:, None] * K + (k * BK + rk)[None, :])
        b = tl.load(b_ptr + (k * BK + rk)[:, None] * N + rn[None, :])
        accumulator += tl.dot(a, b)
    return accumulator, rm, rn


@triton.jit
def stream_k(
    a_ptr, b_ptr, c_ptr, partial, locks, M, N, K, full_tiles, steps_each, extra_steps,
    PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    steps = tl.cdiv(K, BK)
    for tile in range(pid, full_tiles, PROGRAMS):
        c, rm, rn = _stream_k_tile(a_ptr, b_ptr, N, K, tile, 0, steps, BM, BN, BK)
        tl.store(c_ptr + rm[:, None] * N + rn[None, :], c.to(tl.float16))
    start = full_tiles * steps + pid * steps_each + tl.minimum(pid, extra_steps)
    stop = full_tiles * steps + (pid + 1) * steps_each + tl.minimum(pid + 1, extra_steps)
    scratch = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    while start < stop:
        first = start % steps
        end = tl.minimum(start + (steps - first), stop)
        tile = start // steps
        c, rm, rn = _stream_k_tile(a_ptr, b_ptr, N, K, tile, first, first + end - start, BM, BN, BK)
        if first == 0:
            tile_end = (tile + 1) * steps
            have = end
            helper = pid + 1
            while have < tile_end:
                while tl.load(locks + helper, volatile=True) != 1:
                    pass
                c += tl.load(partial + helper * BM * BN + scratch)
                have += steps_each + (helper < extra_steps)
                helper += 1
            tl.store(c_ptr + rm[:, None] * N + rn[None, :], c.to(tl.float16))
        else:
            tl.store(partial + pid * BM * BN + scratch, c)
            tl.atomic_xchg(locks + pid, 1)
        start = end


@triton.jit
def persistent_copy(x, o, tiles, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        at = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + at, tl.load(x + at))


@triton.jit
def causal_attention(q, k, v, o, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.program_id(0)
    head = tl.program_id(1)
    base = head * n * D
    rm = block * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    query = tl.load(q + base + rm[:, None] * D + rd[None, :])
    total = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, (block + 1) * BM, BN):
        key = tl.load(k + base + (start + rn)[None, :] * D + rd[:, None])
        weight = tl.where(rm[:, None] >= (start + rn)[None, :], tl.dot(query, key), 0.0)
        value = tl.load(v + base + (start + rn)[:, None] * D + rd[None, :])
        total = tl.dot(weight.to(tl.float16), value, total)
    tl.store(o + base + rm[:, None] * D + rd[None, :], total.to(tl.float16))


@triton.jit
def prefix_of_blocks(x, o, sums, ready, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    before = 0.0
    if pid > 0:
        while tl.load(ready + pid - 1, volatile=True) == 0:
            pass
        before = tl.load(sums + pid - 1)
    tl.store(sums + pid, before + tl.sum(v, axis=0))
    tl.atomic_xchg(ready + pid, 1)
    tl.store(o + at, tl.cumsum(v, axis=0) + before)


@triton.jit
def next_tile(x, o, counter, tiles, BLOCK: tl.constexpr):
    tile = tl.atomic_add(counter, 1)
    while tile < tiles:
        at = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + at, tl.load(x + at))
        tile = tl.atomic_add(counter, 1)


@triton.jit
def _published(word):
    return tl.atomic_max(word, 0)


@triton.jit
def polled_by_atomics(x, o, sums, BLOCK: tl.constexpr):
    """In the order of the programs none ever waits."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    before = _published(sums + pid)
    for _ in range(1000):
        if before == 0:
            before = _published(sums + pid)
    tl.atomic_xchg(sums + pid + 1, before + 1)
    tl.store(o + at, tl.load(x + at) + before)


@triton.jit
def counters_of_their_own(x, o, mine, BLOCK: tl.constexpr):
    """Words that no other program touches, though side by side."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, tl.load(x + at) + tl.atomic_add(mine + pid, 1))


@triton.jit
def exchanged(last):
    tl.atomic_xchg(last + tl.program_id(0) % 2, tl.program_id(0))


@triton.jit
def swapped_once(first):
    """Nobody looks whether it was swapped: no lock."""
    tl.atomic_cas(first + tl.program_id(0) % 2, 0, tl.program_id(0) + 1)


@triton.jit
def added_and_bounded(sums):
    tl.atomic_add(sums, 1)
    tl.atomic_min(sums, 3)


@triton.jit
def descriptor_copy(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    target = tl.make_tensor_descriptor(o, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    target.store(at, source.load(at) * 2)


@triton.jit
def host_descriptor_copy(source, target, BM: tl.constexpr, BN: tl.constexpr):
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    target.store(at, source.load(at) * 2)


@triton.jit
def block_pointer_copy(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM
    source = tl.make_block_ptr(x, (M, N), (N, 1), (row, 0), (BM, BN), (1, 0))
    target = tl.make_block_ptr(o, (M, N), (N, 1), (row, 0), (BM, BN), (1, 0))
    for _ in range(0, N, BN):
        v = tl.load(source, boundary_check=(0, 1), padding_option="zero")
        tl.store(target, v, boundary_check=(0, 1))
        source = tl.advance(source, (0, BN))
        target = tl.advance(target, (0, BN))


@triton.jit
def odds_and_ends(x, o, seed, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tl.assume(pid >= 0)
    at = tl.max_contiguous(tl.multiple_of(pid * BLOCK + tl.arange(0, BLOCK), BLOCK), BLOCK)
    v = tl.load(x + at, cache_modifier=".cg", eviction_policy="evict_first")
    for i in tl.static_range(2):
        v = v + i
    if pid == 0:
        v = v * 2
    v = libdevice.tanh(tl.sort(v)) + tl.rand(seed, at)
    low, high = tl.split(tl.reshape(v, (BLOCK // 2, 2)))
    tl.store(o + at, tl.reshape(tl.join(high, low), (BLOCK,)) + tl.flip(v, 0))


@triton.jit
def wrapped_offsets(x, o, n, BLOCK: tl.constexpr):
    at = (tl.program_id(0) - 2) * BLOCK + tl.arange(0, BLOCK)
    wrapped = at % n
    around = tl.where(wrapped < 0, wrapped + n, wrapped)
    far = (around.to(tl.int64) << 1) // 2
    tl.store(o + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x + (far ^ 1)))


@triton.jit
def chosen_row(votes, x, o, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    r = tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    tile = tl.load(votes + pid * ROWS * BLOCK + r[:, None] * BLOCK + c[None, :])
    rows = tl.sum(tile, axis=-1) % ROWS + tl.max(tl.cumsum(tile, axis=-1), axis=1) * 0
    v = tl.load(x + rows[:, None] * BLOCK + c[None, :])
    tl.store(o + pid * ROWS * BLOCK + r[:, None] * BLOCK + c[None, :], v)


@triton.jit
def last_writer(x, last, o, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, tl.load(x + at))
    tl.store(last, pid)


@triton.jit
def halo(x, o, n, BLOCK: tl.constexpr, STEP: tl.constexpr, CUT: tl.constexpr):
    """Tiles of BLOCK elements every STEP elements; only the first CUT of a tile are stored."""
    lane = tl.arange(0, BLOCK)
    at = tl.program_id(0) * STEP + lane
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(o + at, v * 2.0, mask=(at < n) & (lane < CUT))


@triton.jit
def best_of_rows(scores, best, last, ROW: tl.constexpr):
    """What is stored where hangs on computed values, so programs are run one by one."""
    pid = tl.program_id(0)
    row = tl.load(scores + pid * ROW + tl.arange(0, ROW))
    tl.store(best + pid, tl.argmax(row, axis=0))
    if tl.sum(row * row, axis=0) > 0.0:
        tl.store(last, pid)


@triton.jit
def cleared_and_counted(counts):
    if tl.program_id(0) == 0:
        tl.store(counts, 0)
    tl.atomic_add(counts, 1)


@triton.jit
def side_by_side(o, WIDTH: tl.constexpr):
    """Program 0 stores the even elements, program 1 the odd ones; WIDTH 1 or 2."""
    lane = tl.arange(0, 64)
    tl.store(o + 2 * lane + tl.program_id(0), 1, mask=lane < 60)
    if WIDTH == 2:
        tl.store(o + 2 * lane + 1, 1, mask=lane < 1)


@triton.jit
def outside(x, o, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, tl.load(x + at), mask=at < n)


@triton.jit
def outside_and_apart(o, x, n, BLOCK: tl.constexpr):
    """Programs part ways after the access."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    if pid % 2 == 0:
        v = -v
    tl.store(o + at, v, mask=at < n)


@triton.jit
def outside_one_by_one(x, o, tickets, n, BLOCK: tl.constexpr):
    """What a program reads depends on the others."""
    at = tl.atomic_add(tickets, 1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, tl.load(x + at), mask=at < n)


@dataclass(frozen=True)
class Descriptor:
    """A host-made tensor descriptor, before it is recorded."""

    base: np.ndarray
    block_shape: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """One launch of a kernel; `unrecorded` tensors lose their contents.

    `outside`: tiles with accesses outside every tensor, and the elements of these accesses.
    """

    kernel: Any
    grid: tuple[int, int, int]
    arguments: Mapping[str, Any]
    unrecorded: tuple[str, ...] = ()
    method: str = "batched"
    waits: bool = False
    shared_writes: tuple[str, ...] = ()
    order_matters: bool = False
    outside: tuple[int, int] = (0, 0)


def _floats(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _integers(limit: int, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, limit, shape).astype(np.int32)


def _gemm(m: int, n: int, k: int, group: int, dtype: Any = np.float16) -> Case:
    arguments = {
        "a_ptr": _floats(m, k, dtype=dtype),
        "b_ptr": _floats(k, n, dtype=dtype, seed=1),
        "c_ptr": np.zeros((m, n), dtype),
        "M": m, "N": n, "K": k, "sam": k, "sak": 1, "sbk": n, "sbn": 1, "scm": n, "scn": 1,
        "BM": 32, "BN": 32, "BK": 32, "GROUP": group,
    }  # fmt: skip
    return Case(gemm, (-(-m // 32) * -(-n // 32), 1, 1), arguments)


def stream_k_case(m: int, n: int, k: int, block: int, programs: int, full_tiles: int) -> Case:
    """A GEMM of which the last tiles are shared out step by step between all programs."""
    steps = -(-k // 32)
    shared = (m // block * (n // block) - full_tiles) * steps
    arguments = {
        "a_ptr": _floats(m, k, dtype=np.float16),
        "b_ptr": _floats(k, n, dtype=np.float16),
        "c_ptr": np.zeros((m, n), np.float16),
        "partial": np.zeros((programs, block, block), np.float32),
        "locks": np.zeros(programs, np.int32),
        "M": m, "N": n, "K": k, "full_tiles": full_tiles,
        "steps_each": shared // programs, "extra_steps": shared % programs,
        "PROGRAMS": programs, "BM": block, "BN": block, "BK": 32,
    }  # fmt: skip
    return Case(
        stream_k, (programs, 1, 1), arguments, waits=True, shared_writes=("partial", "locks")
    )


def _sparse() -> Mapping[str, Any]:
    lengths = np.random.default_rng(3).integers(0, 40, 60)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return {
        "row_start": starts,
        "column": _integers(500, int(starts[-1])),
        "value": _floats(int(starts[-1])),
        "x": _floats(500),
        "y": np.zeros(60, np.float32),
        "BLOCK": 16,
    }


def cases() -> dict[str, Case]:
    """Every launch of the zoo by name; what this Triton cannot express is left out."""
    square = _floats(301, 300)
    zoo = {
        "add": Case(add, (8, 1, 1), {
            "x": _floats(1000), "y": _floats(1000), "o": np.zeros(1000, np.float32), "n": 1000,
            "BLOCK": 128}),
        "add_in_place": Case(add, (8, 1, 1), {
            "x": (place := _floats(1000)), "y": _floats(1000), "o": place, "n": 1000,
            "BLOCK": 128}),
        "softmax": Case(softmax, (37, 1, 1), {
            "o": np.zeros_like(square), "x": square, "row_stride": 300, "rows": 301,
            "columns": 300, "BLOCK": 512}),
        "layernorm": Case(layernorm, (301, 1, 1), {
            "x": square, "y": np.zeros_like(square), "w": _floats(300), "stride": 300, "n": 300,
            "eps": 1e-5, "BLOCK": 128}),
        "gemm": _gemm(256, 256, 128, 4),
        "gemm_ragged": _gemm(200, 130, 170, 4),
        "gemm_column_major": Case(gemm, (64, 1, 1), {
            **_gemm(256, 256, 64, 3).arguments, "sbk": 1, "sbn": 64}),
        "transpose": Case(transpose, (10, 10, 1), {
            "x": square, "o": np.zeros((300, 301), np.float32), "M": 301, "N": 300, "BM": 32,
            "BN": 32}),
        "stencil_3d": Case(stencil_3d, (3, 9, 4), {
            "x": _floats(4, 9, 70), "o": np.zeros((4, 9, 70), np.float32), "sy": 70, "sz": 630,
            "NX": 70, "NY": 9, "BLOCK": 32}),
        "gather_rows": Case(gather_rows, (50, 1, 1), {
            "table": _floats(40, 100), "index": _integers(40, 50),
            "o": np.zeros((50, 100), np.float32), "width": 100, "BLOCK": 128}),
        "spmv": Case(spmv, (60, 1, 1), _sparse()),
        "route_by_score": Case(route_by_score, (20, 1, 1), {
            "scores": _floats(20, 8), "table": _floats(8, 64),
            "o": np.zeros((20, 64), np.float32), "EXPERTS": 8, "BLOCK": 64}),
        "histogram": Case(histogram, (6, 1, 1), {
            "x": _integers(300, 700), "counts": np.zeros(300, np.int32), "n": 700, "BLOCK": 128},
            order_matters=True),
        "locked_sum": Case(locked_sum, (8, 1, 1), {
            "x": _floats(1000), "total": np.zeros(1, np.float32), "lock": np.zeros(1, np.int32),
            "n": 1000, "BLOCK": 128}, waits=True, shared_writes=("total", "lock"),
            order_matters=True),
        "grouped_gradient": Case(grouped_gradient, (24, 1, 1), {
            "x": _floats(24, 100), "partial": np.zeros((4, 100), np.float32),
            "lock": np.zeros(4, np.int32), "count": np.zeros(4, np.int32), "n": 100, "GROUPS": 4,
            "BLOCK": 128}, method="sequential", waits=True,
            shared_writes=("partial", "lock", "count"),
            order_matters=True),
        "stream_k": stream_k_case(256, 256, 256, 64, 7, 11),
        "persistent_copy": Case(persistent_copy, (5, 1, 1), {
            "x": _floats(23 * 64), "o": np.zeros(23 * 64, np.float32), "tiles": 23, "BLOCK": 64}),
        "causal_attention": Case(causal_attention, (8, 3, 1), {
            "q": _floats(3, 256, 32, dtype=np.float16), "k": _floats(3, 256, 32, dtype=np.float16),
            "v": _floats(3, 256, 32, dtype=np.float16), "o": np.zeros((3, 256, 32), np.float16),
            "n": 256, "D": 32, "BM": 32, "BN": 32}),
        "prefix_of_blocks": Case(prefix_of_blocks, (9, 1, 1), {
            "x": _floats(9 * 64), "o": np.zeros(9 * 64, np.float32),
            "sums": np.zeros(9, np.float32), "ready": np.zeros(9, np.int32), "BLOCK": 64},
            waits=True, shared_writes=("sums", "ready")),
        "next_tile": Case(next_tile, (5, 1, 1), {
            "x": _floats(23 * 64), "o": np.zeros(23 * 64, np.float32),
            "counter": np.zeros(1, np.int32), "tiles": 23, "BLOCK": 64}, method="sequential",
            shared_writes=("counter",), order_matters=True),
        "polled_by_atomics": Case(polled_by_atomics, (9, 1, 1), {
            "x": _floats(9 * 64), "o": np.zeros(9 * 64, np.float32),
            "sums": np.concatenate(([1], np.zeros(9))).astype(np.int32), "BLOCK": 64},
            method="sequential", shared_writes=("sums",), order_matters=True),
        "counters_of_their_own": Case(counters_of_their_own, (9, 1, 1), {
            "x": _floats(9 * 64), "o": np.zeros(9 * 64, np.float32),
            "mine": np.zeros(9, np.int32), "BLOCK": 64}),
        "exchanged": Case(exchanged, (9, 1, 1), {"last": np.zeros(16, np.int32)},
            shared_writes=("last",), order_matters=True),
        "swapped_once": Case(swapped_once, (9, 1, 1), {"first": np.zeros(16, np.int32)},
            shared_writes=("first",), order_matters=True),
        "added_and_bounded": Case(added_and_bounded, (9, 1, 1), {"sums": np.zeros(4, np.int32)},
            shared_writes=("sums",), order_matters=True),
        "descriptor_copy": Case(descriptor_copy, (5, 4, 1), {
            "x": _floats(70, 120), "o": np.zeros((70, 120), np.float32), "M": 70, "N": 120,
            "BM": 16, "BN": 32}),
        "host_descriptor_copy": Case(host_descriptor_copy, (4, 4, 1), {
            "source": Descriptor(_floats(64, 128), (16, 32)),
            "target": Descriptor(np.zeros((64, 128), np.float32), (16, 32)), "BM": 16, "BN": 32}),
        "odds_and_ends": Case(odds_and_ends, (4, 1, 1), {
            "x": _floats(512), "o": np.zeros(512, np.float32), "seed": 7, "BLOCK": 128}),
        "wrapped_offsets": Case(wrapped_offsets, (6, 1, 1), {
            "x": _floats(302), "o": np.zeros(768, np.float32), "n": 300, "BLOCK": 128}),
        "chosen_row": Case(chosen_row, (6, 1, 1), {
            "votes": _integers(9, 6, 16, 32), "x": _floats(16, 32),
            "o": np.zeros((6, 16, 32), np.float32), "ROWS": 16, "BLOCK": 32}),
        "last_writer": Case(last_writer, (8, 1, 1), {
            "x": _floats(512), "last": np.zeros(1, np.int32), "o": np.zeros(512, np.float32),
            "BLOCK": 64}, shared_writes=("last",)),
        "halo": Case(halo, (8, 1, 1), {
            "x": _floats(430), "o": np.zeros(430, np.float32), "n": 430, "BLOCK": 64, "STEP": 61,
            "CUT": 62}, shared_writes=("o",)),
        "halo_of_halves": Case(halo, (8, 1, 1), {
            "x": _floats(430, dtype=np.float16), "o": np.zeros(430, np.float16), "n": 430,
            "BLOCK": 64, "STEP": 61, "CUT": 62}, shared_writes=("o",)),
        "halo_cut_off": Case(halo, (8, 1, 1), {
            "x": _floats(430, dtype=np.float16), "o": np.zeros(430, np.float16), "n": 430,
            "BLOCK": 64, "STEP": 61, "CUT": 61}),
        "best_of_rows": Case(best_of_rows, (20, 1, 1), {
            "scores": _floats(20, 16), "best": np.zeros(20, np.int32),
            "last": np.zeros(1, np.int32), "ROW": 16}, shared_writes=("last",)),
        "cleared_and_counted": Case(cleared_and_counted, (8, 1, 1), {
            "counts": np.zeros(1, np.int32)}, shared_writes=("counts",), order_matters=True),
        "side_by_side": Case(side_by_side, (2, 1, 1), {
            "o": np.zeros(128, np.float16), "WIDTH": 1}),
        "side_by_side_and_over": Case(side_by_side, (2, 1, 1), {
            "o": np.zeros(128, np.float16), "WIDTH": 2}, shared_writes=("o",)),
        "outside": Case(outside, (8, 1, 1), {
            "x": _floats(1000), "o": np.zeros(1000, np.float32), "n": 1000, "BLOCK": 128},
            outside=(1, 24)),
        "outside_and_apart": Case(outside_and_apart, (8, 1, 1), {
            "o": np.zeros(1000, np.float32), "x": _floats(700), "n": 1000, "BLOCK": 128},
            outside=(3, 324)),
        "outside_one_by_one": Case(outside_one_by_one, (8, 1, 1), {
            "x": _floats(1000), "o": np.zeros(1000, np.float32),
            "tickets": np.zeros(1, np.int32), "n": 1000, "BLOCK": 128},
            shared_writes=("tickets",), outside=(1, 24), method="sequential", order_matters=True),
    }  # fmt: skip
    if TRITON < (3, 9):
        zoo["block_pointer_copy"] = block_pointers()
    return zoo


def block_pointers() -> Case:
    """What only a Triton before 3.9 interprets."""
    x, o = _floats(70, 100), np.zeros((70, 100), np.float32)
    sizes = {"M": 70, "N": 100, "BM": 16, "BN": 32}
    return Case(block_pointer_copy, (5, 1, 1), {"x": x, "o": o, **sizes})


_TRITON_NAMES = {
    "float16": "fp16",
    "float32": "fp32",
    "int32": "int32",
    "int64": "int64",
    "uint16": "bf16",
}


def record(case: Case, folder: Path) -> Launch:
    """The launch as `capture` would record it, its contents in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    storages: dict[int, Storage] = {}
    numbers: dict[int, int] = {}

    def tensor(name: str, array: np.ndarray) -> TensorArgument:
        if id(array) not in numbers:
            number = numbers[id(array)] = len(numbers)
            path = folder / f"{name}.npy"
            np.save(path, array.reshape(-1).view(np.uint8))
            contents = None if name in case.unrecorded else str(path)
            storages[number] = Storage(array.nbytes, contents)
        strides = tuple(stride // array.itemsize for stride in array.strides)
        return TensorArgument(
            numbers[id(array)], _TRITON_NAMES[array.dtype.name], array.shape, strides
        )

    def argument(name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return tensor(name, value)
        if isinstance(value, Descriptor):
            base = tensor(name, value.base)
            return DescriptorArgument(base, base.shape, base.strides, value.block_shape)
        return value

    return Launch(
        kernel=case.kernel.fn.__name__,
        source=source_of(case.kernel),
        grid=case.grid,
        arguments={name: argument(name, value) for name, value in case.arguments.items()},
        constexprs=tuple(
            name
            for name, kind in case.kernel.fn.__annotations__.items()
            if kind in (tl.constexpr, "tl.constexpr")
        ),
        options={"num_warps": 4},
        storages=storages,
    )


def source_of(kernel: Any) -> KernelSource:
    """The kernel and the jit functions of its file that it calls."""
    functions: dict[str, SourceFunction] = {}
    _collect(kernel.fn, functions)
    return KernelSource(kernel.fn.__name__, functions)


def _collect(function: Callable[..., Any], functions: dict[str, SourceFunction]) -> None:
    lines, first = inspect.getsourcelines(function)
    text = textwrap.dedent("".join(lines))
    names: dict[str, Any] = {}
    functions[function.__name__] = SourceFunction(
        function.__name__, inspect.getfile(function), first, text, "", names
    )
    read = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    for name in sorted(read & set(function.__globals__)):
        value = function.__globals__[name]
        if isinstance(value, ModuleType):
            names[name] = ("module", value.__name__)
        elif isinstance(value, tl.constexpr):
            names[name] = ("constexpr", value.value)
        elif hasattr(value, "fn"):
            names[name] = ("function", name)
            if name not in functions:
                _collect(value.fn, functions)
