# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`validate-model` on what whole runs counted on a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intelliperf_swizzle.cli import main
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.fidelity import measurements_at
from intelliperf_swizzle.hardware import load_target

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


def test_every_counted_order_is_compared_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        run(),
        run(case="timed only", baseline=counted(0.5, "model"), attempts=[], orders={}),
        run(case="other grid", launches=[[32, 1, 1, 1]]),
        run(case="other kernel", kernel="conv_kernel"),
    ]
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records))
    assert main(["validate-model", str(file), "-o", str(tmp_path / "out.json")]) == 1
    said = capsys.readouterr().err
    assert "timed only: nothing was counted" in said
    assert "other grid: measured on the grids [[32, 1, 1]]; now they are [[64, 1, 1]]" in said
    assert "other kernel: gemm.py launches no kernel `conv_kernel`" in said
    assert "gemm, of another kernel: " in said
    assert "HEADS" in said
    assert "gemm, beyond: no permutation of 64 blocks" in said
    pairs = json.loads((tmp_path / "out.json").read_text())["pairs"]
    assert [(one["mapping"], one["measured_hit_rate"]) for one in pairs] == [
        ("as it is", 0.5),
        ("by columns", 0.75),
    ]
    assert pairs[0]["predicted_hit_rate"] != pairs[1]["predicted_hit_rate"]


def test_two_orders_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = {"by columns": {"text": "pid = pid\n", "counted": counted(0.6)}}
    (tmp_path / "runs.jsonl").write_text(json.dumps(run(orders=twice)))
    with pytest.raises(UsageError, match="two orders are called 'by columns'"):
        measurements_at(tmp_path / "runs.jsonl", load_target("h200"))


def test_two_runs_of_one_case_are_refused(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text(f"{json.dumps(run())}\n" * 2)
    with pytest.raises(UsageError, match="two of one case"):
        measurements_at(tmp_path / "runs.jsonl", load_target("h200"))


@pytest.mark.parametrize("text", ["no json\n", "[1]\n", '{"case": "gemm", "baseline": null}\n'])
def test_what_is_no_record_of_a_run_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"runs\.jsonl cannot be read"):
        measurements_at(file, load_target("h200"))
