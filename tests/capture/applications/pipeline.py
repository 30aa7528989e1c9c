# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
# ruff: noqa: N803
"""Kernels of which later ones need the integers of earlier ones, and kernels that wait."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def histogram_kernel(keys, counts, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + places, mask=places < n, other=0)
    tl.atomic_add(counts + key, 1, mask=places < n)


@triton.jit
def gather_kernel(counts, table, out, n, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    place = tl.load(counts + places, mask=places < n, other=0)
    tl.store(out + places, tl.load(table + place, mask=places < n), mask=places < n)


@triton.jit
def chained_kernel(flags, total, LAST: tl.constexpr):
    """Each program waits for the one after it."""
    program = tl.program_id(0)
    if program < LAST:
        while tl.atomic_cas(flags + program + 1, 1, 1) == 0:
            pass
    tl.atomic_add(total, program)
    tl.atomic_xchg(flags + program, 1)


@triton.jit
def locked_kernel(lock, value, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(value + places, tl.load(value + places) + 1)
    tl.atomic_xchg(lock, 0)


@triton.jit
def doubled_kernel(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    y.store([row, 0], x.load([row, 0]) * 2)


def main():
    torch.manual_seed(0)
    n = 8
    keys = torch.randint(0, n, (100,), device="cuda", dtype=torch.int32)
    counts = torch.zeros(n, device="cuda", dtype=torch.int32)
    table = torch.arange(100, device="cuda", dtype=torch.float32)
    out = torch.empty(n, device="cuda")
    histogram_kernel[(triton.cdiv(100, 32),)](keys, counts, 100, BLOCK=32)
    assert counts.sum() == 100
    gather_kernel[1,](counts, table, out, n, BLOCK=8)
    assert torch.equal(out, counts.float())

    flags, total = torch.zeros(2, 6, dtype=torch.int32, device="cuda").unbind()
    chained_kernel[(6,)](flags, total, LAST=5)
    assert total[0] == 15

    value = torch.zeros(16, device="cuda")
    locked_kernel[(9,)](torch.zeros(1, dtype=torch.int32, device="cuda"), value, BLOCK=16)
    assert torch.all(value == 9)

    x = torch.ones(32, 16, device="cuda", dtype=torch.float16)
    y = torch.empty_like(x)
    described = [TensorDescriptor.from_tensor(tensor, [8, 16]) for tensor in (x, y)]
    doubled_kernel[(4,)](*described, ROWS=8, COLUMNS=16)
    assert torch.all(y == 2)


main()
