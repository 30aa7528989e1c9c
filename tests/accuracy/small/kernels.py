# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Small kernels that read their block from a table, in as many ways as people write them."""

import time

import torch
import triton
import triton.language as tl
from mappings import SIDE

DEVICE = torch.device("cuda")


@triton.jit
def k_copy(x_ptr, y_ptr, n, order_ptr, BLOCK: tl.constexpr):
    """Y = X + the next block of X; the table is the last argument."""
    block = tl.load(order_ptr + tl.program_id(0))
    at = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at) + tl.load(x_ptr + (at + BLOCK) % n)
    tl.store(y_ptr + at, x)


@triton.jit
def k_partial(x_ptr, partial_ptr, n, order_ptr, BLOCK: tl.constexpr):
    """The sum of a block goes where the program stands, not where its block does."""
    pid = tl.program_id(0)
    at = tl.load(order_ptr + pid) * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial_ptr + pid * BLOCK + tl.arange(0, BLOCK), tl.load(x_ptr + at))


@triton.jit
def k_persistent(x_ptr, y_ptr, blocks, order_ptr, BLOCK: tl.constexpr):
    """Fewer programs than blocks."""
    for place in range(tl.program_id(0), blocks, tl.num_programs(0)):
        at = tl.load(order_ptr + place) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at))


@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=4)], key=["n"])
@triton.jit
def k_histogram(x_ptr, count_ptr, n, order_ptr, BLOCK: tl.constexpr):
    """Atomics, three axes, 64-bit entries of the table."""
    place = tl.program_id(0) + tl.num_programs(0) * (
        tl.program_id(1) + tl.num_programs(1) * tl.program_id(2)
    )
    at = tl.load(order_ptr + place) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(count_ptr + tl.load(x_ptr + at), 1)


@triton.jit
def k_assembly(x_ptr, y_ptr, order_ptr, BLOCK: tl.constexpr):
    """Nobody knows where it stores."""
    at = tl.load(order_ptr + tl.program_id(0)) * BLOCK + tl.arange(0, BLOCK)
    place = tl.inline_asm_elementwise(
        "not.b32 $0, $1;", "=r,r", [at], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(y_ptr + ~place, tl.load(x_ptr + at))


BLOCK = 512


def vectors():
    """An input and an output of all blocks."""
    x = torch.randn(SIDE * SIDE * BLOCK, device=DEVICE)
    return x, torch.empty_like(x)


def plain():
    """The table is an argument."""
    x, y = vectors()
    return (SIDE, SIDE), lambda order: k_copy[(order.numel(),)](x, y, x.numel(), order, BLOCK=BLOCK)


def hidden():
    """The same kernel; its table is the front of a longer tensor."""
    x, y = vectors()

    def launch(order):
        table = torch.cat([order, order])
        k_copy[(order.numel(),)](x, y, x.numel(), table, BLOCK=BLOCK)

    return (SIDE, SIDE), launch


def partial():
    """Where it writes depends on the place of the program."""
    x, y = vectors()
    return (SIDE, SIDE), lambda order: k_partial[(order.numel(),)](
        x, y, x.numel(), order, BLOCK=BLOCK
    )


def persistent():
    """Sixteen programs for all blocks."""
    x, y = vectors()
    return (SIDE, SIDE), lambda order: k_persistent[(16,)](x, y, order.numel(), order, BLOCK=BLOCK)


def histogram():
    """Random addresses; the properties of the device are asked for."""
    assert torch.cuda.is_available()
    assert torch.cuda.get_device_properties(0).multi_processor_count > 0
    x = torch.randint(0, 4096, (SIDE * SIDE * 128,), device=DEVICE, dtype=torch.int32)
    count = torch.zeros(4096, device=DEVICE, dtype=torch.int32)
    return (SIDE, SIDE), lambda order: k_histogram[(SIDE, SIDE // 2, 2)](
        x, count, x.numel(), order.to(torch.int64)
    )


def assembly():
    """Can be recorded but not traced."""
    x, y = vectors()
    return (SIDE, SIDE), lambda order: k_assembly[(order.numel(),)](x, y, order, BLOCK=BLOCK)


def failing():
    """Cannot be built."""
    raise RuntimeError("out of cheese")


def endless():
    """Is never built."""
    time.sleep(600)


CONFIGS = {
    build.__name__: build
    for build in (plain, hidden, partial, persistent, histogram, assembly, failing, endless)
}
