# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
# ruff: noqa: N803
"""Kernels that drop tiles beside something that is written cleanly, and kernels that are right.

`python dropped_and_kept.py` launches each of them on a grid that 8 does not divide.
"""

import torch
import triton
import triton.language as tl

B, TILES = 64, 20


@triton.jit
def remap(p):
    """Drops tiles where 8 does not divide the number of programs."""
    return (p % 8) * (tl.num_programs(0) // 8) + p // 8


@triton.jit
def remap_up(p):
    """Runs past the last tile where 8 does not divide the number of programs."""
    return (p % 8) * ((tl.num_programs(0) + 7) // 8) + p // 8


@triton.jit
def reverse(p):
    return tl.num_programs(0) - 1 - p


# --- tiles are dropped ---------------------------------------------------------------------------


@triton.jit
def drop_beside_a_log(x, y, log, n, B: tl.constexpr):
    p = tl.program_id(0)
    i = remap(p) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
    tl.store(log + p, p)


@triton.jit
def drop_in_a_larger_tensor(x, y, log, n, B: tl.constexpr):
    p = tl.program_id(0)
    i = remap(p) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
    tl.store(log + p, p)


@triton.jit
def drop_past_the_end(x, y, log, n, B: tl.constexpr):
    p = tl.program_id(0)
    i = remap_up(p) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
    tl.store(log + p, p)


@triton.jit
def drop_past_the_end_of_a_larger_tensor(x, y, log, n, B: tl.constexpr):
    p = tl.program_id(0)
    i = remap_up(p) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
    tl.store(log + p, p)


@triton.jit
def drop_beside_a_maximum(x, c, most, M, N, BM: tl.constexpr, BN: tl.constexpr):
    p = tl.program_id(0)
    pid = remap(p)
    rows = pid // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    columns = pid % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    at = rows[:, None] * N + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    v = tl.load(x + at, mask=mask)
    tl.store(c + at, v * 2, mask=mask)
    tl.store(most + p, tl.max(tl.max(v, 1), 0))


@triton.jit
def drop_beside_a_whole_output(x, y, z, B: tl.constexpr):
    p = tl.program_id(0)
    i = remap(p) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * 2)
    j = reverse(p) * B + tl.arange(0, B)
    tl.store(z + j, tl.load(x + j) + 1)


@triton.jit
def drop_in_place(x, log, B: tl.constexpr):
    p = tl.program_id(0)
    i = remap(p) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i) * 2)
    tl.store(log + p, 1)


@triton.jit
def drop_by_atomics(x, y, log, B: tl.constexpr):
    p = tl.program_id(0)
    i = remap(p) * B + tl.arange(0, B)
    tl.atomic_add(y + i, tl.load(x + i))
    tl.store(log + p, 1)


@triton.jit
def drop_what_is_read(x, y, B: tl.constexpr):
    p = tl.program_id(0)
    lanes = tl.arange(0, B)
    tl.store(y + p * B + lanes, tl.load(x + remap(p) * B + lanes) * 2)


@triton.jit
def drop_rows_in_chunks(x, y, total, COLUMNS: tl.constexpr, B: tl.constexpr):
    p = tl.program_id(0)
    row = remap(p)
    kept = tl.zeros((B,), tl.float32)
    for start in range(0, COLUMNS, B):
        at = row * COLUMNS + start + tl.arange(0, B)
        v = tl.load(x + at, mask=start + tl.arange(0, B) < COLUMNS)
        kept += v
        tl.store(y + at, v * 2, mask=start + tl.arange(0, B) < COLUMNS)
    tl.store(total + p, tl.sum(kept, 0))


@triton.jit
def drop_in_a_persistent_loop(x, y, log, tiles, B: tl.constexpr):
    p = tl.program_id(0)
    for tile in range(remap(p), tiles, tl.num_programs(0)):
        i = tile * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i) * 2)
    tl.store(log + p, p)


@triton.jit
def drop_on_two_axes(x, c, log, N, BM: tl.constexpr, BN: tl.constexpr):
    p = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    total = tl.num_programs(0) * tl.num_programs(1)
    pid = (p % 8) * (total // 8) + p // 8
    rows = pid // tl.num_programs(0) * BM + tl.arange(0, BM)
    columns = pid % tl.num_programs(0) * BN + tl.arange(0, BN)
    at = rows[:, None] * N + columns[None, :]
    tl.store(c + at, tl.load(x + at) * 2)
    tl.store(log + p, p)


@triton.jit
def drop_evenly(x, y, log, B: tl.constexpr):
    p = tl.program_id(0)
    i = p // 2 * 2 * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * 2)
    tl.store(log + p, p)


@triton.jit
def drop_by_a_remainder(x, y, log, B: tl.constexpr):
    p = tl.program_id(0)
    i = p % 16 * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * 2)
    tl.store(log + p, p)


# --- nothing is dropped --------------------------------------------------------------------------


@triton.jit
def right_scratch(x, y, scratch, flag, B: tl.constexpr):
    p = tl.program_id(0)
    i = reverse(p) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * 2)
    tl.store(scratch + p % 4, 1)
    tl.store(flag, 1)


@triton.jit
def right_notes(x, y, notes, B: tl.constexpr):
    p = tl.program_id(0)
    pid = reverse(p)
    i = pid * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * 2)
    tl.store(notes + pid, 1, mask=pid < tl.num_programs(0) // 2)


@triton.jit
def right_padding_returns(x, y, log, tiles, B: tl.constexpr):
    p = tl.program_id(0)
    if p < tiles:
        pid = tiles - 1 - p
        i = pid * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i) * 2)


@triton.jit
def right_padding_is_masked(x, y, log, n, B: tl.constexpr):
    p = tl.program_id(0)
    i = reverse(p) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
    tl.store(log + p, p)


@triton.jit
def right_halo(x, y, n, B: tl.constexpr):
    i = reverse(tl.program_id(0)) * B + tl.arange(0, B)
    left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
    right = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(y + i, left + tl.load(x + i, mask=i < n) + right, mask=i < n)


@triton.jit
def right_halo_of_rows(x, y, M, COLUMNS: tl.constexpr):
    row = reverse(tl.program_id(0))
    lanes = tl.arange(0, COLUMNS)
    above = tl.load(x + tl.maximum(row - 1, 0) * COLUMNS + lanes)
    below = tl.load(x + tl.minimum(row + 1, M - 1) * COLUMNS + lanes)
    here = tl.load(x + row * COLUMNS + lanes)
    tl.store(y + row * COLUMNS + lanes, above + here + below)


@triton.jit
def right_work_list(x, y, work, log, B: tl.constexpr):
    p = tl.program_id(0)
    i = tl.load(work + p) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * 2)
    tl.store(log + p, p)


@triton.jit
def right_gather(table, index, y, B: tl.constexpr):
    p = tl.program_id(0)
    lanes = tl.arange(0, B)
    tl.store(y + p * B + lanes, tl.load(table + tl.load(index + p) * B + lanes))


@triton.jit
def right_split_k(a, b, parts, M, N, K, BLOCK: tl.constexpr, SPLIT: tl.constexpr):
    pid = reverse(tl.program_id(0))
    pid_k = tl.program_id(1)
    lanes = tl.arange(0, BLOCK)
    rows = pid // tl.cdiv(N, BLOCK) * BLOCK + lanes
    columns = pid % tl.cdiv(N, BLOCK) * BLOCK + lanes
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(pid_k * BLOCK, K, SPLIT * BLOCK):
        depth = k + lanes
        left = tl.load(a + rows[:, None] * K + depth[None, :])
        sums += tl.dot(left, tl.load(b + depth[:, None] * N + columns[None, :]))
    tl.store(parts + pid_k * M * N + rows[:, None] * N + columns[None, :], sums)


@triton.jit
def right_row_sums(x, y, sums, N, BM: tl.constexpr, BN: tl.constexpr):
    pid = reverse(tl.program_id(0))
    rows = pid // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    columns = pid % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    at = rows[:, None] * N + columns[None, :]
    v = tl.load(x + at)
    tl.store(y + at, v * 2)
    tl.atomic_add(sums + rows, tl.sum(v, 1))


@triton.jit
def right_with_a_cache_that_has_room(q, k, y, SEQUENCE, ROOM, B: tl.constexpr, GROUP: tl.constexpr):
    p = tl.program_id(0)
    pid = reverse(p)
    lanes = tl.arange(0, B)
    sums = tl.load(q + pid * B + lanes)
    for row in range(SEQUENCE):
        sums += tl.load(k + pid // GROUP * ROOM * B + row * B + lanes)
    tl.store(y + pid * B + lanes, sums)


@triton.jit
def right_group_m(a, y, row_flags, M, N, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    p = tl.program_id(0)
    num_m, num_n = tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)
    first = p // (GROUP * num_n) * GROUP
    height = min(num_m - first, GROUP)
    pid_m = first + p % (GROUP * num_n) % height
    pid_n = p % (GROUP * num_n) // height
    lanes = tl.arange(0, BLOCK)
    rows, columns = pid_m * BLOCK + lanes, pid_n * BLOCK + lanes
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    v = tl.load(a + rows[:, None] * BLOCK + lanes[None, :], mask=rows[:, None] < M)
    tl.store(y + rows[:, None] * N + columns[None, :], v, mask=mask)
    tl.store(row_flags + pid_m, 1)


@triton.jit
def right_flags_and_locks(x, y, flags, locks, B: tl.constexpr):
    pid = reverse(tl.program_id(0))
    i = pid * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i))
    tl.store(flags + pid // 4, 1)
    tl.atomic_add(locks + pid % 16, 1)


@triton.jit
def right_persistent_with_a_flag(x, y, done, tiles, B: tl.constexpr):
    for tile in range(reverse(tl.program_id(0)), tiles, tl.num_programs(0)):
        i = tile * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i) * 2)
    tl.store(done, 1)


@triton.jit
def right_with_a_branch_that_none_takes(x, y, end, B: tl.constexpr):
    pid = reverse(tl.program_id(0))
    i = pid * B + tl.arange(0, B)
    v = tl.load(x + i)
    if (pid + 1) * B > end:
        v = tl.where(i < end, v, 0.0)
    tl.store(y + i, v)


def floats(*shape):
    return torch.zeros(*shape, device="cuda")


def integers(values):
    return torch.tensor(values, dtype=torch.int32, device="cuda")


if __name__ == "__main__":
    n = TILES * B
    x, log = floats(n), integers([0] * TILES)
    matrix = floats(77, 61)
    drop_beside_a_log[(TILES,)](x, floats(n - 5), log, n - 5, B)
    drop_in_a_larger_tensor[(TILES,)](floats(2048), floats(2048), log, n, B)
    drop_past_the_end[(TILES,)](x, floats(n), log, n, B)
    drop_past_the_end_of_a_larger_tensor[(TILES,)](floats(2048), floats(2048), log, n, B)
    drop_beside_a_maximum[(TILES,)](matrix, floats(77 * 61), floats(TILES), 77, 61, 16, 16)
    drop_beside_a_whole_output[(TILES,)](x, floats(n), floats(n), B)
    drop_in_place[(TILES,)](floats(TILES, B), log, B)
    drop_by_atomics[(TILES,)](x, floats(n), log, B)
    drop_what_is_read[(TILES,)](x, floats(n), B)
    drop_rows_in_chunks[(TILES,)](floats(TILES, 100), floats(TILES, 100), floats(TILES), 100, 32)
    drop_in_a_persistent_loop[(TILES,)](floats(35 * B), floats(35 * B), log, 35, B)
    drop_on_two_axes[(4, 5)](floats(80, 64), floats(80, 64), log, 64, 16, 16)
    drop_evenly[(TILES,)](x, floats(n), log, B)
    drop_by_a_remainder[(TILES,)](x, floats(n), log, B)

    right_scratch[(TILES,)](x, floats(n), floats(256), floats(32), B)
    right_notes[(TILES,)](x, floats(n), floats(TILES), B)
    right_padding_returns[(24,)](x, floats(n), log, TILES, B)
    right_padding_is_masked[(24,)](x, floats(n), floats(24), n, B)
    right_halo[(TILES,)](x, floats(n), n, B)
    right_halo_of_rows[(TILES,)](floats(TILES, B), floats(TILES, B), TILES, B)
    right_work_list[(TILES,)](x, floats(n), integers([(7 * i) % 20 for i in range(20)]), log, B)
    right_gather[(TILES,)](floats(64, B), integers([3, 9] * 10), floats(n), B)
    right_split_k[(20, 3)](floats(80, 96), floats(96, 64), floats(3, 80, 64), 80, 64, 96, 16, 3)
    right_row_sums[(TILES,)](floats(80, 64), floats(80, 64), floats(128), 64, 16, 16)
    cache = floats(TILES // 2, 12, B)
    right_with_a_cache_that_has_room[(TILES,)](x, cache, floats(n), 4, 12, B, 2)
    right_group_m[(25,)](floats(77, 16), floats(77, 77), floats(64), 77, 77, 16, 2)
    right_flags_and_locks[(TILES,)](x, floats(n), floats(TILES), floats(TILES), B)
    right_persistent_with_a_flag[(8,)](x, floats(n), floats(32), TILES, B)
    right_with_a_branch_that_none_takes[(TILES,)](x, floats(n), n, B)
