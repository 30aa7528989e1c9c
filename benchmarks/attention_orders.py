# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The orders of attention (arXiv 2511.02132) at 128 heads and contexts of 8K to 128K.

    python benchmarks/attention_orders.py

A launch at 128K touches 70 billion lines, so one XCD's first programs are replayed, some rounds of
what is resident; the XCDs do the same work on different heads.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import torch
import triton
import triton.language as tl

from harness.applications import TARGET
from harness.command import Record, Table, Wishes, main
from harness.items import Bench
from harness.render import COLOURS, figure, generated, page, percent, table
from harness.work import opening
from intelliperf_swizzle.formulas import load_pattern

HEADS, HEAD_DIM = 128, 128
BLOCK_M, BLOCK_N = 128, 64
LENGTHS = (8192, 16384, 32768, 65536, 131072)
PROGRAMS = 8 * 304
"""Replayed: eight programs per CU of each XCD."""
TRACED = PROGRAMS + HEADS
"""Tiles traced: the orders that go block by block reach a little further than others."""

MEASURED = {
    "swizzled head-first": "90 to 96",
    "head-first": "40 to 60",
    "block-first": "about 1",
    "swizzled block-first": "about 1",
}
"""L2 hit rates (%) in the text of arXiv 2511.02132, MI300X, 128 heads, context 128K."""

SWIZZLED_BLOCK_FIRST = """\
head = pid % NUM_HEADS
head = head % num_xcds * (NUM_HEADS // num_xcds) + head // num_xcds
pid = pid // NUM_HEADS * NUM_HEADS + head
"""
"""Heads dealt to the XCDs in runs, block by block, as AITER launches attention by default."""


@triton.jit
def attention_blocks(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    LENGTH,
    NUM_HEADS,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    HEAD_FIRST: tl.constexpr,
):
    """BLOCK_M rows of one head; all tensors are dense [heads, LENGTH, HEAD_DIM]."""
    pid = tl.program_id(0)
    num_blocks = LENGTH // BLOCK_M
    if HEAD_FIRST:
        block = pid % num_blocks
        head = pid // num_blocks
    else:
        head = pid % NUM_HEADS
        block = pid // NUM_HEADS
    first = head.to(tl.int64) * LENGTH * HEAD_DIM
    features = tl.arange(0, HEAD_DIM)[None, :]
    rows = (block * BLOCK_M + tl.arange(0, BLOCK_M))[:, None] * HEAD_DIM + features
    q = tl.load(q_ptr + first + rows)
    top = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    accumulator = tl.zeros((BLOCK_M, HEAD_DIM), tl.float32)
    for start in range(0, LENGTH, BLOCK_N):
        keys = first + (start + tl.arange(0, BLOCK_N))[:, None] * HEAD_DIM + features
        scores = tl.dot(q, tl.trans(tl.load(k_ptr + keys)))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new_top[:, None])
        decay = tl.exp(top - new_top)
        total = total * decay + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + keys)
        accumulator = accumulator * decay[:, None] + tl.dot(weights.to(v.dtype), v)
        top = new_top
    out = (accumulator / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + first + rows, out)


def application(length: int, order: str) -> None:
    """Launch the first tiles of the kernel once."""
    q, k, v, out = (
        torch.empty((HEADS, length, HEAD_DIM), device="cuda", dtype=torch.float16) for _ in range(4)
    )
    attention_blocks[(TRACED,)](
        q, k, v, out, length, HEADS, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, HEAD_DIM=HEAD_DIM,
        HEAD_FIRST=order == "head-first", num_warps=4,
    )  # fmt: skip


def compute(bench: Bench, _: Wishes) -> Record:
    """Each length in the two numberings of tiles that the kernel knows."""
    wanted = [_item(length, order) for length in LENGTHS for order in ("head-first", "block-first")]
    outcomes = bench.map(opening, wanted)
    rows = []
    for number, length in enumerate(LENGTHS):
        pair = outcomes[2 * number : 2 * number + 2]
        errors = [record["error"] for record in pair if "error" in record]
        rates = {} if errors else {**pair[0]["l2_hit_rate"], **pair[1]["l2_hit_rate"]}
        rows.append({"length": length, "errors": errors, "l2_hit_rate": rates})
    return {"target": TARGET, "heads": HEADS, "programs": PROGRAMS, "rows": rows}


def _item(length: int, order: str) -> Mapping[str, Any]:
    swizzled = (
        load_pattern("xcd-contiguous").text if order == "head-first" else SWIZZLED_BLOCK_FIRST
    )
    return {
        "application": "attention_orders.py",
        "arguments": ["--application", str(length), order],
        "target": TARGET,
        "grid": HEADS * length // BLOCK_M,
        "programs": PROGRAMS,
        "constants": {"NUM_HEADS": HEADS},
        "swizzles": {order: "pid = pid", f"swizzled {order}": swizzled},
    }


def render(record: Record) -> dict[str, str]:
    """Page and picture."""
    return {
        "results/attention_orders.md": _page(record),
        "results/attention_orders.svg": _svg(record),
    }


def _page(record: Record) -> str:
    rows = [
        [f"{row['length'] // 1024}K", *(percent(row["l2_hit_rate"].get(name)) for name in MEASURED),
         "; ".join(row["errors"])]
        for row in record["rows"]
    ]  # fmt: skip
    rows.append(["128K, measured", *MEASURED.values(), ""])
    return page(
        generated("attention_orders.py"),
        "# Orders of attention",
        f"Attention, forward, {record['heads']} heads of {HEAD_DIM} (MHA), batch 1, float16, "
        f"blocks of {BLOCK_M} × {BLOCK_N}, `{record['target']}`. L2 hit rate in %, **modelled**: "
        f"the first {record['programs'] // 8} programs of one XCD. Every order is proved on the "
        "whole grid. The last line is what arXiv 2511.02132 measured on an MI300X at 128K.",
        "![Orders of attention](attention_orders.svg)",
        table(["context", *MEASURED, ""], rows),
        "Head-first: all blocks of a head before the next head; block-first: a block of every head "
        "before the next block; swizzled: whole heads per XCD. Each head's keys and values are "
        "contiguous, as in Triton's tutorial 06; the paper does not state its layout. Where the "
        "model is far above the measured rates, its workgroups drift apart less than they do over "
        "thousands of steps.",
    )


def _svg(record: Record) -> str:
    names = list(MEASURED)
    colours = dict(
        zip(names, ("best", "unchanged", "swizzle-unaware", "swizzle-overload"), strict=True)
    )
    with figure(6, 3) as drawn:
        places = range(len(record["rows"]))
        for name in names:
            rates = [100 * row["l2_hit_rate"].get(name, float("nan")) for row in record["rows"]]
            drawn.axes.plot(places, rates, "o-", ms=3, lw=1.2, label=name,
                            color=COLOURS[colours[name]])  # fmt: skip
        drawn.axes.set_xticks(places, [f"{row['length'] // 1024}K" for row in record["rows"]])
        drawn.axes.set_ylim(0, 102)
        drawn.axes.set_xlabel("context")
        drawn.axes.set_ylabel("L2 hit rate, %, modelled")
        drawn.axes.legend(fontsize=8, frameon=False)
    return drawn.svg


ATTENTION_ORDERS = Table("attention_orders", compute, render)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--application", nargs=2, metavar=("LENGTH", "ORDER"))
    chosen, rest = parser.parse_known_args()
    if chosen.application:
        application(int(chosen.application[0]), chosen.application[1])
    else:
        sys.exit(main(ATTENTION_ORDERS, description=__doc__, arguments=rest))
