# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whole runs on a GPU are compared by way of their applications."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from intelliperf_swizzle.accuracy import compare
from intelliperf_swizzle.accuracy.tables import as_table
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.progress import Silent
from model_truth.runs import MeasuredRuns

COLUMNS = "cols = cdiv(N, BLOCK_SIZE_N)\npid = pid % (num_pids // cols) * cols + pid // cols\n"
GEMM = [
    word
    for option in ("m 512", "n 256", "k 128", "block-m 64", "block-n 32", "block-k 32", "group-m 1")
    for word in f"--{option}".split()
]


def counted(rate: float, profiler: str = "ncu") -> dict[str, Any]:
    return {"profiler": profiler, "l2_hit_rate": rate, "time_ms": 0.25}


def run(**fields: Any) -> dict[str, Any]:
    attempt = {"name": "by columns", "text": COLUMNS, "measurement": counted(0.75)}
    return {
        "case": "gemm",
        "command": ["gemm.py", *GEMM],
        "kernel": "gemm_kernel",
        "launches": [[64, 1, 1, 1]],
        "baseline": counted(0.5),
        "attempts": [
            attempt,
            {"name": "not measured", "text": "pid = pid", "measurement": None},
            {"name": "of another kernel", "text": "pid = pid + HEADS", "measurement": counted(0.5)},
            {"name": "beyond", "text": "pid = pid + 1", "measurement": counted(0.5)},
        ],
        "orders": {"named": {"text": COLUMNS, "counted": counted(0.75)}},
        **fields,
    }


def test_times_are_those_of_common_rounds_with_the_unmodified_kernel(tmp_path: Path) -> None:
    """Later rounds were half as fast, by the order that was in both."""
    first, later, other = ({"ratio": {"median": ratio}} for ratio in (0.25, 0.5, 0.75))
    attempt = {"name": "by columns", "text": COLUMNS}
    records = [
        run(
            attempts=[{**attempt, "measurement": {**counted(0.75), "timing": first}}],
            orders={
                "named": {"text": COLUMNS, "counted": None, "timing": later},
                "by hand": {"text": "pid = pid", "counted": counted(0.5), "timing": other},
            },
        ),
        run(case="never together"),
    ]
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records))
    readings, _ = MeasuredRuns(file).readings()
    times = {(one.config, one.mapping): one.time_ms for one in readings}
    assert times["gemm", "unmodified"] == 0.25
    assert times["gemm", "by columns"] == 0.25 * 0.25
    assert times["gemm", "by hand"] == 0.25 * 0.75 / 2
    assert times["never together", "by columns"] == 0.25


def test_every_counted_order_is_compared_once(tmp_path: Path) -> None:
    records = [
        run(),
        run(case="timed only", baseline=counted(0.5, "model"), attempts=[], orders={}),
        run(case="other grid", launches=[[32, 1, 1, 1]]),
        run(case="other kernel", kernel="conv_kernel"),
    ]
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records))
    found = as_table(compare(MeasuredRuns(file), load_target("h200"), Silent()))
    said = "\n".join(found["skipped"])
    assert "timed only: nothing was counted" in said
    assert "other grid: measured on the grids ((32, 1, 1),); now they are ((64, 1, 1),)" in said
    assert "other kernel: kernels/gemm.py launches no kernel `conv_kernel`" in said
    assert "gemm, of another kernel: " in said
    assert "HEADS" in said
    assert "gemm, beyond: no permutation of 64 blocks" in said
    assert [(one["mapping"], one["measured_hit_rate"]) for one in found["pairs"]] == [
        ("unmodified", 0.5),
        ("by columns", 0.75),
    ]
    assert found["pairs"][0]["predicted_hit_rate"] != found["pairs"][1]["predicted_hit_rate"]
