# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
# ruff: noqa: N803
"""Remaps as helpers of a kernel, after the sources that they are named by."""

import triton
import triton.language as tl


@triton.jit
def remap_xcd(pid, grid_mn, NUM_XCDS: tl.constexpr = 8):
    """AITER, `pid_preprocessing.remap_xcd`."""
    pids_per_xcd = (grid_mn + NUM_XCDS - 1) // NUM_XCDS
    tall_xcds = grid_mn % NUM_XCDS
    tall_xcds = NUM_XCDS if tall_xcds == 0 else tall_xcds
    xcd = pid % NUM_XCDS
    local_pid = pid // NUM_XCDS
    if xcd < tall_xcds:
        pid = xcd * pids_per_xcd + local_pid
    else:
        pid = tall_xcds * pids_per_xcd + (xcd - tall_xcds) * (pids_per_xcd - 1) + local_pid
    return pid


@triton.jit
def remap_xcd_chunked(pid, grid_mn, NUM_XCDS: tl.constexpr = 8, CHUNK_SIZE: tl.constexpr = 2):
    """AITER, `pid_preprocessing.remap_xcd_chunked`."""
    xcd = pid % NUM_XCDS
    if pid > (grid_mn // (NUM_XCDS * CHUNK_SIZE)) * (NUM_XCDS * CHUNK_SIZE):
        return pid
    local_pid = pid // NUM_XCDS
    chunk_idx = local_pid // CHUNK_SIZE
    pos_in_chunk = local_pid % CHUNK_SIZE
    return chunk_idx * NUM_XCDS * CHUNK_SIZE + xcd * CHUNK_SIZE + pos_in_chunk


@triton.jit
def chiplet_transform(pid, NUM_PROGRAMS, NUM_XCDS: tl.constexpr):
    """The formula of tritonBLAS: one contiguous share for each XCD."""
    xcd = pid % NUM_XCDS
    return xcd * (NUM_PROGRAMS // NUM_XCDS) + min(xcd, NUM_PROGRAMS % NUM_XCDS) + pid // NUM_XCDS


@triton.jit
def compute_pid(tile_id, num_pid_in_group, num_pid_m, GROUP_SIZE_M: tl.constexpr):
    """The Triton tutorial on persistent matrix products."""
    group_id = tile_id // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + (tile_id % group_size_m)
    pid_n = (tile_id % num_pid_in_group) // group_size_m
    return pid_m, pid_n


@triton.jit
def xcd_swizzle(pid, total_pids, NUM_XCDS: tl.constexpr):
    """Helion, `_pid_xcd_swizzle`."""
    per_xcd = (total_pids + NUM_XCDS - 1) // NUM_XCDS
    tall = total_pids % NUM_XCDS
    tall = tl.where(tall == 0, NUM_XCDS, tall)
    xcd = pid % NUM_XCDS
    local = pid // NUM_XCDS
    return tl.where(
        xcd < tall, xcd * per_xcd + local, tall * per_xcd + (xcd - tall) * (per_xcd - 1) + local
    )


@triton.jit
def head_first(wid, NUM_BLOCKS, BATCH: tl.constexpr, H: tl.constexpr, X: tl.constexpr):
    """Figure 11 of arXiv 2511.02132."""
    wid_per_batch = wid // BATCH
    heads_per_xcd = H // X
    chunk = X * NUM_BLOCKS
    head = (wid_per_batch % X) * heads_per_xcd + wid_per_batch // chunk
    block = (wid_per_batch % chunk) // X
    batch = (wid // (NUM_BLOCKS * H)) % BATCH
    return head, block, batch


@triton.jit
def remap_workgroup_spatial(wid, H, NB, BATCH, GROUP: tl.constexpr, NUM_XCDS: tl.constexpr = 8):
    """AITER's spatial remap: heads dealt to the XCDs; what has no head keeps its own number."""
    xcd = wid % NUM_XCDS
    slot = wid // NUM_XCDS
    if GROUP == 1:
        per_head = NB * BATCH
        head = slot // per_head * NUM_XCDS + xcd
        exists = head < H
        block = slot % per_head % NB
        batch = slot % per_head // NB
    else:
        kv_heads = H // GROUP
        row = GROUP * BATCH
        whole = row * NB
        if kv_heads >= NUM_XCDS:
            kv_head = xcd + slot // whole * NUM_XCDS
            local = slot % whole
        else:
            own = tl.maximum(whole // (NUM_XCDS // kv_heads), 1)
            kv_head = xcd % kv_heads
            local = slot % own + xcd // kv_heads * own
        block = local // row % NB
        batch = local % row // GROUP
        head = kv_head * GROUP + local % row % GROUP
        exists = (kv_head < kv_heads) & (head < H)
    head = tl.where(exists, head, wid % H)
    block = tl.where(exists, block, wid // H % NB)
    batch = tl.where(exists, batch, wid // (H * NB) % BATCH)
    return head, block, batch
