# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
# ruff: noqa: N803, N806
"""Kernels with the remaps that were published, each as its source has it.

`python published_remaps.py figure_07 32768` launches one on a grid; nothing is checked.
"""

import sys

import torch
import triton
import triton.language as tl
from remap_functions import (
    chiplet_transform,
    compute_pid,
    head_first,
    remap_workgroup_spatial,
    remap_xcd,
    remap_xcd_chunked,
    xcd_swizzle,
)

SIDE = 4


@triton.jit
def store_row(out, row, COLUMNS: tl.constexpr):
    places = row * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(out + places, tl.zeros((COLUMNS,), tl.float32) + row)


@triton.jit
def store_tile(out, pid_m, pid_n, M, N, SIDE: tl.constexpr):
    rows = pid_m * SIDE + tl.arange(0, SIDE)
    columns = pid_n * SIDE + tl.arange(0, SIDE)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], 1.0, mask=mask)


@triton.jit
def figure_05(out, M, N, SIDE: tl.constexpr):
    """As the picture has it: a contiguous share for each XCD, rounded up."""
    num_xcds = 8
    pid = tl.program_id(0)
    num_pid_n = tl.cdiv(N, SIDE)
    share = (tl.num_programs(0) + num_xcds - 1) // num_xcds
    pid = pid % num_xcds * share + pid // num_xcds
    store_tile(out, pid // num_pid_n, pid % num_pid_n, M, N, SIDE)


@triton.jit
def figure_06(out, M, COLUMNS: tl.constexpr):
    pid_m = tl.program_id(0)
    num_xcds = 8
    num_blocks = M

    blocks_per_xcd = (num_blocks + num_xcds - 1) // num_xcds
    xcd_id = (pid_m // num_xcds) % num_xcds

    local_block_id = pid_m % num_xcds
    offset = (local_block_id // num_xcds) * num_xcds + xcd_id

    pid = offset * blocks_per_xcd + local_block_id
    store_row(out, pid, COLUMNS)


@triton.jit
def figure_07(out, COLUMNS: tl.constexpr):
    num_xcds = 8
    num_blocks = tl.num_programs(0)

    pid = tl.program_id(0)

    blocks_per_xcd = (num_blocks + num_xcds - 1) // num_xcds
    xcd_id = (pid // num_xcds) % num_xcds
    block_in_xcd = pid % num_xcds
    new_pid = xcd_id * blocks_per_xcd + block_in_xcd
    pid = new_pid
    store_row(out, pid, COLUMNS)


@triton.jit
def figure_08(out, Nx, Ny, BLOCK_SIZE_X: tl.constexpr, BLOCK_SIZE_Y: tl.constexpr):
    pid_x = tl.program_id(0)
    pid_y = tl.program_id(1)

    num_XCD = 8
    num_blocks_x = (Nx + BLOCK_SIZE_X - 1) // BLOCK_SIZE_X
    num_blocks_y = (Ny + BLOCK_SIZE_Y - 1) // BLOCK_SIZE_Y
    num_blocks = num_blocks_x * num_blocks_y  # noqa: F841 - as printed

    block_id = pid_y * num_blocks_x + pid_x
    xcd_id = (block_id // num_blocks_x) % num_XCD
    new_block_id = (block_id % num_blocks_x) * num_XCD + xcd_id

    pid_x = new_block_id // num_blocks_x
    pid_y = new_block_id % num_blocks_x
    store_tile(out, pid_y, pid_x, Ny, Nx, BLOCK_SIZE_X)


@triton.jit
def figure_09(out, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)

    num_blocks_m = (M + BLOCK_SIZE_M - 1) // BLOCK_SIZE_M
    num_blocks_n = (N + BLOCK_SIZE_N - 1) // BLOCK_SIZE_N
    total_blocks = num_blocks_m * num_blocks_n  # noqa: F841 - as printed

    block_id = pid_m * num_blocks_n + pid_n
    xcd_id = (block_id // num_blocks_m) % 8
    round_id = block_id // (8 * num_blocks_m)
    new_block_id = round_id * 8 + xcd_id

    pid_m = new_block_id // num_blocks_n
    pid_n = new_block_id % num_blocks_n
    store_tile(out, pid_m, pid_n, M, N, BLOCK_SIZE_M)


@triton.jit
def figure_10(out, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    num_xcds = 8
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)

    pid = pid_m * (N // BLOCK_SIZE_N) + pid_n
    xcd_idx = (pid // num_xcds) % num_xcds
    pid = xcd_idx * (N // BLOCK_SIZE_N) * (M // BLOCK_SIZE_M) // num_xcds + pid // num_xcds

    pid_m = pid // (N // BLOCK_SIZE_N)
    pid_n = pid % (N // BLOCK_SIZE_N)
    store_tile(out, pid_m, pid_n, M, N, BLOCK_SIZE_M)


@triton.jit
def figure_11(out, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)

    num_xcds = 8
    num_blocks_m = (M + BLOCK_SIZE_M - 1) // BLOCK_SIZE_M
    num_blocks_n = (N + BLOCK_SIZE_N - 1) // BLOCK_SIZE_N
    total_blocks = num_blocks_m * num_blocks_n

    original_block_index = pid_m * num_blocks_n + pid_n

    xcd_id = original_block_index % num_xcds
    round_id = original_block_index // num_xcds
    new_block_index = round_id + xcd_id * (total_blocks // num_xcds)

    pid_m = new_block_index // num_blocks_n
    pid_n = new_block_index % num_blocks_n
    store_tile(out, pid_m, pid_n, M, N, BLOCK_SIZE_M)


@triton.jit
def figure_12(out, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    pid = tl.program_id(0)

    # Swizzle the program IDs to improve cache locality
    pid_m = pid // (N // BLOCK_SIZE_N)
    pid_n = pid % (N // BLOCK_SIZE_N)
    store_tile(out, pid_m, pid_n, M, N, BLOCK_SIZE_M)


@triton.jit
def figure_13(out, COLUMNS: tl.constexpr):
    pid = tl.program_id(0)

    # Swizzle the pid to improve cache locality
    pid = ((pid >> 1) & 0x55555555) | ((pid & 0x55555555) << 1)
    store_row(out, pid, COLUMNS)


@triton.jit
def stream_k(out, tiles, NUM_XCDS: tl.constexpr, COLUMNS: tl.constexpr):
    pid = tl.program_id(0)
    num_sms = tl.num_programs(0)
    pid = (pid % NUM_XCDS) * (num_sms // NUM_XCDS) + pid // NUM_XCDS
    for tile in range(pid, tiles, num_sms):
        store_row(out, tile, COLUMNS)


@triton.jit
def ceiling_division(out, tiles, NUM: tl.constexpr, COLUMNS: tl.constexpr):
    pid = tl.program_id(0)
    per_xcd = tl.cdiv(NUM, 8)
    start = (pid % 8) * per_xcd + pid // 8
    for tile in range(start, tiles, NUM):
        store_row(out, tile, COLUMNS)


@triton.jit
def head_first_attention(
    out, NB, BATCH: tl.constexpr, H: tl.constexpr, X: tl.constexpr, COLUMNS: tl.constexpr
):
    head, block, batch = head_first(tl.program_id(0), NB, BATCH, H, X)
    store_row(out, (batch * H + head) * NB + block, COLUMNS)


@triton.jit
def attention_forward(
    out,
    stride_z,
    stride_h,
    stride_m,
    NB,
    BATCH: tl.constexpr,
    H: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    head, block, batch = head_first(tl.program_id(0), NB, BATCH, H, 8)
    base = out + batch.to(tl.int64) * stride_z + head.to(tl.int64) * stride_h
    tl.store(base + block * stride_m + tl.arange(0, COLUMNS), tl.full((COLUMNS,), 1.0, tl.float32))


@triton.jit
def aiter_spatial(out, NB, BATCH, H, GROUP: tl.constexpr, COLUMNS: tl.constexpr):
    head, block, batch = remap_workgroup_spatial(tl.program_id(0), H, NB, BATCH, GROUP)
    store_row(out, (batch * H + head) * NB + block, COLUMNS)


@triton.jit
def aiter_gemm(out, M, N, SIDE: tl.constexpr, CHUNK: tl.constexpr, GROUP_M: tl.constexpr):
    num_pid_m = tl.cdiv(M, SIDE)
    num_pid_n = tl.cdiv(N, SIDE)
    pid = tl.program_id(0)
    if CHUNK == 0:
        pid = remap_xcd(pid, num_pid_m * num_pid_n, 8)
    else:
        pid = remap_xcd_chunked(pid, num_pid_m * num_pid_n, 8, CHUNK)
    pid_m, pid_n = compute_pid(pid, GROUP_M * num_pid_n, num_pid_m, GROUP_M)
    store_tile(out, pid_m, pid_n, M, N, SIDE)


@triton.jit
def group_m(out, M, N, SIDE: tl.constexpr, GROUP_SIZE_M: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, SIDE)
    num_pid_n = tl.cdiv(N, SIDE)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    store_tile(out, pid_m, pid_n, M, N, SIDE)


@triton.jit
def group_m_without_border(out, M, N, SIDE: tl.constexpr, GROUP_SIZE_M: tl.constexpr):
    """GROUP_M that forgets that the last group may be smaller."""
    pid = tl.program_id(axis=0)
    num_pid_n = tl.cdiv(N, SIDE)
    width = GROUP_SIZE_M * num_pid_n
    pid_m = pid // width * GROUP_SIZE_M + pid % width % GROUP_SIZE_M
    pid_n = pid % width // GROUP_SIZE_M
    store_tile(out, pid_m, pid_n, M, N, SIDE)


@triton.jit
def tritonblas(out, M, N, SIDE: tl.constexpr, GROUP_M: tl.constexpr):
    """A persistent loop by `while`, whose epilogue counts its tiles by itself."""
    num_pid_m = tl.cdiv(M, SIDE)
    num_pid_n = tl.cdiv(N, SIDE)
    num_programs = tl.num_programs(0)
    tile_id = chiplet_transform(tl.program_id(0), num_programs, 8)
    tile_id_c = tile_id - num_programs
    while tile_id < num_pid_m * num_pid_n:
        tile_id_c += num_programs
        pid_m, pid_n = compute_pid(tile_id_c, GROUP_M * num_pid_n, num_pid_m, GROUP_M)
        store_tile(out, pid_m, pid_n, M, N, SIDE)
        tile_id += num_programs


@triton.jit
def persistent_gemm(
    out,
    M,
    N,
    SIDE: tl.constexpr,
    GROUP_M: tl.constexpr,
    NUM_SMS: tl.constexpr,
    NUM_XCDS: tl.constexpr,
):
    pid = tl.program_id(0)
    if NUM_XCDS != 1:
        pid = (pid % NUM_XCDS) * (NUM_SMS // NUM_XCDS) + (pid // NUM_XCDS)
    num_pid_m = tl.cdiv(M, SIDE)
    num_pid_n = tl.cdiv(N, SIDE)
    total_tiles = num_pid_m * num_pid_n
    for tile_id in range(pid, total_tiles, NUM_SMS):
        num_pid_in_group = GROUP_M * num_pid_n
        group_id = tile_id // num_pid_in_group
        first_pid_m = group_id * GROUP_M
        group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
        pid_m = first_pid_m + ((tile_id % num_pid_in_group) % group_size_m)
        pid_n = (tile_id % num_pid_in_group) // group_size_m
        store_tile(out, pid_m, pid_n, M, N, SIDE)


@triton.jit
def hipkittens(out, M, N, SIDE: tl.constexpr, W: tl.constexpr, C: tl.constexpr):
    """HipKittens, Algorithm 1, in Triton."""
    cols = tl.num_programs(0)
    rows = tl.num_programs(1)
    blocks = rows * cols
    xy = tl.program_id(0) + cols * tl.program_id(1)
    per_cycle = 8 * C
    limit = blocks // per_cycle * per_cycle
    xcd = xy % 8
    local = xy // 8
    chunked = local // C * per_cycle + xcd * C + local % C
    xy = tl.where(xy > limit, xy, chunked)
    tiles_per_group = W * cols
    group = xy // tiles_per_group
    first_row = group * W
    height = tl.minimum(rows - first_row, W)
    within = xy % tiles_per_group
    row = first_row + within % height
    col = within // height
    store_tile(out, row, col, M, N, SIDE)


@triton.jit
def helion(out, M, N, SIDE: tl.constexpr):
    """As Helion emits it: an XCD remap with a branch for the rest, then a group."""
    num_pid_0 = tl.cdiv(M, SIDE)
    num_pid_1 = tl.cdiv(N, SIDE)
    pid = xcd_swizzle(tl.program_id(0), num_pid_0 * num_pid_1, 8)
    num_pid_in_group = 4 * num_pid_1
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * 4
    group_size_m = min(num_pid_0 - first_pid_m, 4)
    pid_0 = first_pid_m + pid % num_pid_in_group % group_size_m
    pid_1 = pid % num_pid_in_group // group_size_m
    store_tile(out, pid_0, pid_1, M, N, SIDE)


@triton.jit
def split_k(out, M, N, SIDE: tl.constexpr, SPLIT: tl.constexpr, BROKEN: tl.constexpr):
    pid = tl.program_id(0)
    pid_k = tl.program_id(1)
    if BROKEN:
        pid = pid // 2 * 2
    num_pid_n = tl.cdiv(N, SIDE)
    pid_m = pid // num_pid_n
    pid_n = pid % num_pid_n
    rows = pid_m * SIDE + tl.arange(0, SIDE)
    columns = pid_n * SIDE + tl.arange(0, SIDE)
    part = tl.load(out + M * N + pid_k)
    tl.atomic_add(
        out + rows[:, None] * N + columns[None, :], part + tl.zeros((SIDE, SIDE), tl.float32)
    )


@triton.jit
def swapped_sides(out, M, N, SIDE: tl.constexpr):
    """Counts rows where there are columns: a permutation, but of the wrong tiles."""
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, SIDE)
    pid_m = pid // num_pid_m
    pid_n = pid % num_pid_m
    store_tile(out, pid_m, pid_n, M, N, SIDE)


@triton.jit
def lower_triangle(out, M, N, SIDE: tl.constexpr):
    """Leaves tiles out on purpose."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    if pid_n <= pid_m:
        store_tile(out, pid_m, pid_n, M, N, SIDE)


@triton.jit
def flagged(out, done, scratch, COLUMNS: tl.constexpr):
    """Each program stores a row; all say so at one place, and the first half leaves notes."""
    pid = tl.num_programs(0) - 1 - tl.program_id(0)
    store_row(out, pid, COLUMNS)
    tl.store(done, 1)
    if pid < tl.num_programs(0) // 2:
        tl.store(scratch + pid, 1)


@triton.jit
def append(cache, length, COLUMNS: tl.constexpr):
    """Writes rows behind those that are there already."""
    row = length + tl.program_id(0)
    store_row(cache, row, COLUMNS)


@triton.jit
def work_queue(out, counter, tiles, COLUMNS: tl.constexpr):
    tile = tl.atomic_add(counter, 1)
    if tile < tiles:
        store_row(out, tile, COLUMNS)


def linear(kernel, programs, *arguments, **constexprs):
    out = torch.empty(programs * 8, device="cuda")
    kernel[(programs,)](out, *arguments, COLUMNS=8, **constexprs)


def square(kernel, rows, columns, grid, **constexprs):
    out = torch.empty(rows * SIDE, columns * SIDE, device="cuda")
    kernel[grid](out, rows * SIDE, columns * SIDE, **constexprs)


def persistent(kernel, programs, tiles, **constexprs):
    out = torch.empty(tiles, 8, device="cuda")
    kernel[(programs,)](out, tiles, COLUMNS=8, **constexprs)


def attention(kernel, batch, heads, blocks, **constexprs):
    out = torch.empty(batch, heads, blocks, 8, device="cuda")
    kernel[(batch * heads * blocks,)](out, blocks, BATCH=batch, H=heads, COLUMNS=8, **constexprs)


def strided_attention(batch, heads, blocks):
    out = torch.empty(batch, heads, blocks, 8, device="cuda")
    attention_forward[(batch * heads * blocks,)](
        out, *out.stride()[:3], blocks, BATCH=batch, H=heads, COLUMNS=8
    )


def plane(kernel, x, y):
    square(kernel, y, x, (x, y), BLOCK_SIZE_X=SIDE, BLOCK_SIZE_Y=SIDE)


def matrix(kernel, rows, columns, linear_grid=False):
    grid = (rows * columns,) if linear_grid else (rows, columns)
    square(kernel, rows, columns, grid, BLOCK_SIZE_M=SIDE, BLOCK_SIZE_N=SIDE)


def split(rows, columns, parts, broken):
    out = torch.zeros(rows * columns * SIDE * SIDE + parts, device="cuda")
    split_k[(rows * columns, parts)](
        out, rows * SIDE, columns * SIDE, SIDE=SIDE, SPLIT=parts, BROKEN=bool(broken)
    )


def flags(programs):
    out = torch.empty(programs, 8, device="cuda")
    done = torch.zeros(1, dtype=torch.int32, device="cuda")
    scratch = torch.zeros(programs, dtype=torch.int32, device="cuda")
    flagged[(programs,)](out, done, scratch, COLUMNS=8)


def queue(programs, tiles):
    out = torch.empty(tiles, 8, device="cuda")
    work_queue[(programs,)](out, torch.zeros(1, dtype=torch.int32, device="cuda"), tiles, COLUMNS=8)


LAUNCHES = {
    "figure_05": lambda m, n: square(figure_05, m, n, (m * n,), SIDE=SIDE),
    "figure_06": lambda n: linear(figure_06, n, n),
    "figure_07": lambda n: linear(figure_07, n),
    "figure_08": lambda x, y: plane(figure_08, x, y),
    "figure_09": lambda m, n: matrix(figure_09, m, n),
    "figure_10": lambda m, n: matrix(figure_10, m, n),
    "figure_11": lambda m, n: matrix(figure_11, m, n),
    "figure_12": lambda m, n: matrix(figure_12, m, n),
    "figure_12_linear": lambda m, n: matrix(figure_12, m, n, linear_grid=True),
    "figure_13": lambda n: linear(figure_13, n),
    "stream_k": lambda n, tiles: persistent(stream_k, n, tiles, NUM_XCDS=8),
    "ceiling_division": lambda n, tiles: persistent(ceiling_division, n, tiles, NUM=n),
    "head_first": lambda b, h, nb: attention(head_first_attention, b, h, nb, X=8),
    "attention_forward": strided_attention,
    "aiter_spatial": lambda b, h, hk, nb: attention(aiter_spatial, b, h, nb, GROUP=h // hk),
    "aiter_gemm": lambda m, n, c: square(aiter_gemm, m, n, (m * n,), SIDE=SIDE, CHUNK=c, GROUP_M=4),
    "group_m": lambda m, n: square(group_m, m, n, (m * n,), SIDE=SIDE, GROUP_SIZE_M=8),
    "group_m_without_border": lambda m, n: square(
        group_m_without_border, m, n, (m * n,), SIDE=SIDE, GROUP_SIZE_M=8
    ),
    "tritonblas": lambda m, n, sms: square(tritonblas, m, n, (sms,), SIDE=SIDE, GROUP_M=4),
    "persistent_gemm": lambda m, n, sms: square(
        persistent_gemm, m, n, (sms,), SIDE=SIDE, GROUP_M=4, NUM_SMS=sms, NUM_XCDS=8
    ),
    "hipkittens": lambda m, n, w, c: square(hipkittens, m, n, (n, m), SIDE=SIDE, W=w, C=c),
    "helion": lambda m, n: square(helion, m, n, (m * n,), SIDE=SIDE),
    "split_k": split,
    "swapped_sides": lambda m, n: square(swapped_sides, m, n, (m * n,), SIDE=SIDE),
    "lower_triangle": lambda m: square(lower_triangle, m, m, (m, m), SIDE=SIDE),
    "append": lambda n: append[(n,)](torch.empty(64, 8, device="cuda"), 7, COLUMNS=8),
    "flagged": flags,
    "work_queue": queue,
}

if __name__ == "__main__":
    for launch in " ".join(sys.argv[1:]).split(","):
        name, *numbers = launch.split()
        LAUNCHES[name](*map(int, numbers))
