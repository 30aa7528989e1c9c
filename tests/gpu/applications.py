# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Texts of small applications, whose outputs tell whether anything was changed."""

ROWS = '''\
import hashlib
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def row_kernel(x, out, total, index, columns, BLOCK: tl.constexpr):
    """out[row, :columns] = x[index[row], :columns] + 1; the rest of a row stays unchanged."""
    pid = tl.program_id(0)
    row = tl.load(index + pid)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * BLOCK + at, mask=inside)
    tl.store(out + pid * BLOCK + at, value + 1, mask=inside)
    count = tl.load(total + pid)
    tl.store(total + pid, count + 1)


def main():
    torch.manual_seed(0)
    rows, block = 24, 64
    x = torch.rand(rows, block, device="cuda")
    out = torch.full((rows, block), 7.0, device="cuda")
    total = torch.zeros(rows, device="cuda")
    for shift in (1, 2, 2):
        index = (torch.arange(rows, device="cuda") + shift) % rows
        row_kernel[(rows,)](x, out, total, index, block - 4, BLOCK=block)
        print("sum", float(out.double().sum()), float(total.sum()))
    digest = hashlib.sha256(out.cpu().numpy().tobytes() + total.cpu().numpy().tobytes())
    print("digest", digest.hexdigest(), "next random", float(torch.rand(1)))


main()
'''
"""A gather: in-place counts, an output whose margin keeps what it held, addresses from memory."""

FULL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = x + pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(at, tl.load(at) + 1)


total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction((600 << 20) / total)
x = torch.zeros(64 << 20, device="cuda")
add_kernel[(x.numel() // 1024,)](x, BLOCK=1024)
print("sum", float(x.sum()))
"""
"""Works in place; there is room for one copy, and not for two."""

STRIDED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def strided_kernel(x, y, rows, columns, sx, sy, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * sx + at, mask=inside, other=0)
    tl.store(y + row * sy + at, value + tl.sum(value), mask=at < columns)


rows, columns = 24, 60
x = torch.arange(rows * 64, dtype=torch.float32, device="cuda").view(rows, 64)
y = torch.full((rows, 64), 7.0, device="cuda")
right = x + x[:, :columns].sum(1, keepdim=True)
strided_kernel[(rows,)](x, y, rows, columns, x.stride(0), sy=y.stride(0), BLOCK=128)
print("x kept", bool((x.ravel() == torch.arange(rows * 64, device="cuda")).all()), end=" ")
print("y right", bool((y == right)[:, :columns].all()), end=" ")
print("margin kept", bool((y == 7)[:, columns:].all()))
"""
"""Reads and writes the first columns of rows whose strides it is given, one of them by name."""

ADVANCED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def advance_kernel(x, cursor, limit):
    pid = tl.program_id(0)
    at = tl.load(cursor + pid)
    if at > 0:
        tl.device_print("advanced", at)
    value = tl.load(x + pid * limit + at, mask=at < limit)
    tl.store(cursor + pid, at + value.to(tl.int32))


x = torch.ones(8, 4, device="cuda")
cursor = torch.zeros(8, dtype=torch.int32, device="cuda")
advance_kernel[(8,)](x, cursor, 4)
print("sum", float(cursor.sum()))
"""
"""Reads where the launch before has left off."""

PINNED = ADVANCED.replace('torch.ones(8, 4, device="cuda")', "torch.ones(8, 4).pin_memory()")
"""Reads memory of the host."""
