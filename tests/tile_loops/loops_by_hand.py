# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Kernels whose programs take tiles in a loop, and some that only seem to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from launches_by_hand import launch_of, write_kernel

from intelliperf_swizzle.records import Launch, Storage, TensorArgument

HELPERS = """
@triton.jit
def copied(x, y, tile, columns, B: tl.constexpr):
    row, column = tile // columns, tile % columns
    at = tl.arange(0, B)
    v = tl.load(x + row * B + at) + tl.load(x + column * B + at)
    tl.store(y + tile * B + at, v)


@triton.jit(noinline=True)
def who():
    return tl.program_id(0)


@triton.jit
def place(tile, columns):
    return tile // columns, tile % columns


@triton.jit
def remapped(pid):
    if pid > 1:
        return pid
    return 1 - pid
"""

KERNEL = """

@triton.jit
def kernel(x, y, sizes, rows, columns, P: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    tiles = rows * columns
    lanes = tl.arange(0, B)
"""

TAKEN = {
    "for": """
    for tile in tl.range(pid, tiles, P, flatten=True):
        copied(x, y, tile, columns, B)
""",
    "while": """
    tile = pid
    while tile < tiles:
        copied(x, y, tile, columns, B)
        tile += P
""",
    "a run of neighbours": """
    each = tl.cdiv(tiles, P)
    for tile in range(pid * each, min(pid * each + each, tiles)):
        copied(x, y, tile, columns, B)
""",
    "epilogue": """
    done = pid - P
    for tile in tl.range(pid, tiles, P, flatten=True):
        row, column = place(tile, columns)
        v = tl.load(x + row * B + lanes)
        done += P
        row, column = place(done, columns)
        tl.store(y + (row * columns + column) * B + lanes, v + column)
""",
    "up to the last": """
    last = tiles - 1
    tile = pid
    while tile <= last:
        copied(x, y, tile, columns, B); tile += P
""",
    "reset in each turn": """
    bias = 0.0
    for tile in range(pid, tiles, P):
        if B > 8:
            bias = 0.0
        copied(x, y, tile, columns, B)
        tl.store(sizes + tile, bias)
        bias += 2.0
""",
    "a remap of its own": """
    for tile in range(pid, tiles, P):
        tile = tiles - 1 - tile
        copied(x, y, tile, columns, B)
""",
    "a helper that returns early": """
    for tile in range(remapped(pid), tiles, P):
        copied(x, y, tile, columns, B)
""",
    "derived": """
    for turn in range(tl.cdiv(tiles - pid, P)):
        tile = pid + turn * P
        copied(x, y, tile, columns, B)
    tl.store(sizes + P + pid, pid)
""",
}
"""Of each the number of a tile is `tile`."""

READ = {
    "tiles of all": """
    count = tl.load(sizes) * 2
    for tile in range(pid, count, P):
        copied(x, y, tile, columns, B)
""",
    "groups, as in tutorial 08": """
    tile = pid
    last = 0
    for group in range(4):
        more = tl.load(sizes + group) // 2
        while tile >= last and tile < last + more:
            copied(x, y, tile, columns, B)
            tile += P
        last = last + more
""",
    "groups to their ends": """
    tile = pid
    before = 0
    for group in range(4):
        end = before + tl.load(sizes + group) // 2
        while tile < end:
            copied(x, y, tile, columns, B)
            tile += P
        before = end
""",
}
"""Of each the number of a tile is `tile`, and `sizes` says how many there are."""

KEPT = {
    "runs that leave out the last tiles": (
        """
    run = tiles // P
    for tile in range(pid * run, tl.minimum(pid * run + run, tiles)):
        copied(x, y, tile, columns, B)
""",
        "up to a count",
    ),
    "ticket": (
        """
    tile = tl.atomic_add(sizes, 1)
    while tile < tiles:
        copied(x, y, tile, columns, B)
        tile = tl.atomic_add(sizes, 1)
""",
        "atomic operation",
    ),
    "bounds of an input": (
        """
    tile = pid
    last = 0
    for group in range(2):
        last += tl.load(sizes + group)
        while tile < last:
            copied(x, y, tile, columns, B)
            tile += P
""",
        "where its numbers begin",
    ),
    "a step of an input": (
        """
    step = tl.load(sizes) - 7
    for tile in range(pid, tl.load(sizes) * 2, step):
        copied(x, y, tile, columns, B)
""",
        "its step, is read from memory",
    ),
    "an end that only fits": (
        """
    tile = pid
    before = 0
    for group in range(4):
        end = before + tl.load(sizes + group) // 2
        while tile < end:
            copied(x, y, tile, columns, B)
            tile += P
        before = (group + 1) * 5
""",
        "does not continue where the previous pass ended",
    ),
    "carried": (
        """
    total = tl.zeros((B,), tl.float32)
    for tile in range(pid, tiles, P):
        total += tl.load(x + tile % columns * B + lanes)
        tl.store(y + tile * B + lanes, total)
""",
        "`total` is carried",
    ),
    "left behind": (
        """
    v = lanes
    for tile in range(pid, tiles, P):
        v = tile + lanes
        tl.store(y + tile * B + lanes, v)
    tl.store(sizes + pid, tl.sum(v))
""",
        "`v` is read after the loop",
    ),
    "signed": (
        """
    for tile in range(pid, tiles, P):
        tl.store(y + tile * B + lanes, pid * 2.0 + lanes)
""",
        "depends on the program id, and is read in its body",
    ),
    "workspace": (
        """
    slot = pid * B
    for tile in range(pid, tiles, P):
        tl.store(sizes + slot + lanes, tile)
        tl.store(y + tile * B + lanes, lanes)
""",
        "depends on the program id, and is read in its body",
    ),
    "chosen before": (
        """
    bias = 1.0
    if pid == 2:
        bias = 3.0
    for tile in range(pid, tiles, P):
        tl.store(y + tile * B + lanes, lanes + bias)
""",
        "is read in its body",
    ),
    "reset by a constexpr": (
        """
    bias = 0.0
    for tile in range(pid, tiles, P):
        if B > 16:
            bias = 0.0
        tl.store(y + tile * B + lanes, lanes + bias)
        if tile == 7:
            bias += 2.0
""",
        "`bias` is carried",
    ),
    "turns that are counted": (
        """
    turn = 0
    for tile in range(pid, tiles, P):
        tl.store(y + tile * B + lanes, lanes + turn)
        turn += 1
""",
        "`turn` is carried",
    ),
    "an inner loop of its own": (
        """
    for tile in range(pid, tiles, P):
        more = 0.0
        for _ in range(pid):
            more += 1.0
        tl.store(y + tile * B + lanes, lanes + more)
""",
        "is read in its body",
    ),
    "a sum that is stored": (
        """
    total = 0
    for tile in range(pid, tiles, P):
        total += tile
        copied(x, y, tile, columns, B)
    tl.store(sizes + pid, total)
""",
        "`total` is read after the loop",
    ),
    "a table of its own": (
        """
    more = tl.load(x + pid)
    for tile in range(pid, tiles, P):
        tl.store(y + tile * B + lanes, lanes + more)
""",
        "is read in its body",
    ),
    "a call that is not inlined": (
        """
    for tile in range(pid, tiles, P):
        tl.store(y + tile * B + lanes, lanes + who())
""",
        "`tt.call`",
    ),
    "assembly that asks": (
        """
    for tile in range(pid, tiles, P):
        who = tl.inline_asm_elementwise(
            "mov.u32 $0, %ctaid.x;", "=r", [], dtype=tl.int32, is_pure=True, pack=1
        )
        tl.store(y + tile * B + lanes, lanes + who)
""",
        "is read in its body",
    ),
}
"""Tiles that must keep their order, and a part of the reason."""

COLUMNS, PROGRAMS, BLOCK = 5, 3, 16


def loop_launch(folder: Path, body: str, rows: int = 4) -> Launch:
    """A launch of the kernel with such a loop, of 20 tiles on 3 programs."""
    launch = launch_of(
        write_kernel(folder, HELPERS + KERNEL + body),
        "kernel",
        (PROGRAMS,),
        {"x": ("fp32", (rows * COLUMNS * BLOCK,)), "y": ("fp32", (rows * COLUMNS * BLOCK,)),
         "sizes": ("int32", (PROGRAMS * BLOCK,)), "rows": rows, "columns": COLUMNS},
        {"P": PROGRAMS, "B": BLOCK},
    )  # fmt: skip
    sizes = launch.arguments["sizes"]
    assert isinstance(sizes, TensorArgument)
    contents = folder / "sizes.npy"
    np.save(contents, np.full(PROGRAMS * BLOCK, 10, np.int32).view(np.uint8))
    launch.storages[sizes.storage] = Storage(4 * PROGRAMS * BLOCK, str(contents))  # type: ignore[index]
    return launch
