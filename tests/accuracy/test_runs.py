# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whole runs on a GPU are compared by way of their applications."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from accuracy import compare
from accuracy.tables import as_table
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import Measurement
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


def test_times_are_those_of_common_rounds(tmp_path: Path) -> None:
    file, times = tmp_path / "runs.jsonl", tmp_path / "times.jsonl"
    file.write_text(json.dumps(run()) + "\n" + json.dumps(run(case="never timed")) + "\n")
    readings = [{"unmodified": 0.5, "by columns": 0.25}, {"unmodified": 0.5, "by columns": 0.75}]
    times.write_text(json.dumps({"case": "gemm", "readings_ms": readings}) + "\n")
    found, _ = MeasuredRuns(file, times).readings()
    assert {(row.config, row.mapping): row.time_ms for row in found} == {
        ("gemm", "unmodified"): 0.5,
        ("gemm", "by columns"): 0.5,
        ("gemm", "of another kernel"): None,
        ("gemm", "beyond"): None,
        ("never timed", "unmodified"): None,
        ("never timed", "by columns"): None,
        ("never timed", "of another kernel"): None,
        ("never timed", "beyond"): None,
    }


def test_an_order_takes_the_time_of_its_divisions(tmp_path: Path) -> None:
    """Those by the number of columns, which hangs on an argument, and by what follows from it."""
    file = tmp_path / "runs.jsonl"
    file.write_text(json.dumps(run()) + "\n")
    target = load_target("h200")
    found = MeasuredRuns(file, tmp_path / "none").configuration("gemm", target, tmp_path)
    assert found.divisions == {"by columns": 2, "beyond": 0}
    plain = Measurement("model", "h200", 0.5, overlapped_time_ms=1.0)
    slower = found.add_swizzle_time(plain, "by columns", target).overlapped_time_ms
    assert slower is not None
    assert slower > 1.0
    assert found.add_swizzle_time(plain, "unmodified", target) == plain


def test_every_counted_order_is_compared_once(tmp_path: Path) -> None:
    records = [
        run(),
        run(case="timed only", baseline=counted(0.5, "model"), attempts=[], orders={}),
        run(case="other grid", launches=[[32, 1, 1, 1]]),
        run(case="other kernel", kernel="conv_kernel"),
    ]
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = as_table(compare(MeasuredRuns(file, tmp_path / "none"), load_target("h200"), Silent()))
    message = "\n".join(found["skipped"])
    assert "timed only: nothing was counted" in message
    assert "other grid: measured on the grids ((32, 1, 1),); now they are ((64, 1, 1),)" in message
    assert "other kernel: kernels/gemm.py launches no kernel `conv_kernel`" in message
    assert "gemm, of another kernel: " in message
    assert "HEADS" in message
    assert "gemm, beyond: no permutation of 64 blocks" in message
    assert [(pair["mapping"], pair["measured_hit_rate"]) for pair in found["pairs"]] == [
        ("unmodified", 0.5),
        ("by columns", 0.75),
    ]
    assert found["pairs"][0]["predicted_hit_rate"] != found["pairs"][1]["predicted_hit_rate"]
