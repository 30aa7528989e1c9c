# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
# ruff: noqa: N803
"""Kernels whose remap holds on some grids; `python resizable.py NAME ...` launches them."""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def by_eight(x, y, log, n, B: tl.constexpr):
    p = tl.program_id(0)
    pid = (p % 8) * (tl.num_programs(0) // 8) + p // 8
    i = pid * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
    tl.store(log + p, p)


@triton.jit
def tiles_by_eight(x, c, M, N, stride, BM: tl.constexpr, BN: tl.constexpr):
    """Of M * N elements."""
    tl.assume(stride > 0)
    p = tl.program_id(0)
    pid = (p % 8) * (tl.num_programs(0) // 8) + p // 8
    rows = pid // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    columns = pid % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    at = rows[:, None] * stride + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + at, tl.load(x + at, mask=mask), mask=mask)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    rows = pid // tl.cdiv(N, BN) % tl.cdiv(M, BM) * BM + tl.arange(0, BM)
    columns = pid % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        at = first + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + at[None, :])
        sums += tl.dot(left, tl.load(b + at[:, None] * N + columns[None, :]))
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


@triton.jit
def anywhere(x, y, n, B: tl.constexpr):
    i = (tl.num_programs(0) - 1 - tl.program_id(0)) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def by_fields(given, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = at < given.inner.n
    tl.store(y + at, tl.load(given.inner.x + at, inside) * given.scale, inside)


@triton.jit
def by_a_list(x, y, work, n, B: tl.constexpr):
    i = tl.load(work + tl.program_id(0)) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def floats(*shape):
    return torch.zeros(*shape, device="cuda")


def integers(values):
    return torch.tensor(values, dtype=torch.int32, device="cuda")


LAUNCHES = {
    "by_eight": lambda: by_eight[(24,)](
        floats(24 * 64 - 3), floats(24 * 64 - 3), integers([0] * 24), 24 * 64 - 3, 64
    ),
    "tiles_by_eight": lambda: tiles_by_eight[(40,)](
        floats(155, 64), floats(155, 64), 155, 64, 64, 16, 16
    ),
    "product": lambda: product[(64,)](
        floats(128, 64), floats(64, 256), floats(128, 256), 128, 256, 64, 16, 32, 16
    ),
    "anywhere": lambda: anywhere[(20,)](floats(1280), floats(1280), 1280, 64),
    "by_a_list": lambda: by_a_list[(4,)](floats(256), floats(256), integers([3, 1, 0, 2]), 256, 64),
    "unexplained": lambda: anywhere[(21,)](floats(1280), floats(1280), 1280, 64),
}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        LAUNCHES[name]()
