# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The page of results says what its records say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def h200() -> ModuleType:
    spec = importlib.util.spec_from_file_location("h200", BENCHMARKS / "h200.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules["h200"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def interval(median: float, low: float, high: float) -> dict[str, float]:
    return {"median": median, "low": low, "high": high}


def order(ratio: dict[str, float], counted: dict[str, Any] | None = None) -> dict[str, Any]:
    timing = {"ratio": ratio, "original_ms": interval(2.0, 1.9, 2.1)}
    return {"timing": timing, "name": "x", "counted": counted}


def test_a_record_becomes_rows(h200: ModuleType) -> None:
    counted = {"profiler": "ncu", "l2_hit_rate": 0.75, "memory_bytes": 2e9}
    check = {
        "seconds": 0.005, "kernel_seconds": 0.004, "tensor_bytes": 860_000_000,
        "extra_bytes": 200, "written_bytes": 100, "moved_bytes": 3_440_000_000,
    }  # fmt: skip
    record = {
        "case": "a case", "driver": "1", "software": {"triton": "3.6"}, "automatic_seconds": 80.0,
        "headroom": 0.5, "named": 1, "validations": [check],
        "baseline": {"profiler": "model", "l2_hit_rate": 0.5, "memory_bytes": 1},
        "attempts": [
            {"number": 1, "name": "best", "verdict": "better", "measurement": counted,
             "predicted": {"profiler": "model", "l2_hit_rate": 0.8, "memory_bytes": 1}},
            {"number": 2, "name": "bad", "verdict": "slower", "predicted": None,
             "measurement": None},
        ],
        "orders": {
            "named": order(interval(0.8, 0.78, 0.82), counted),
            "snake": order(interval(0.9, 0.89, 0.91)),
            "column-major": order(interval(0.95, 0.94, 0.96)),
            "unedited": order(interval(1.001, 1.0, 1.002)),
        },
    }  # fmt: skip
    page = h200.page([record])
    faster = "1.250× (1.220 to 1.282)"
    assert (
        f"| a case | 2.000 ms | – | 1.111× (1.099 to 1.124) | – | {faster} | not measured | 80 s |"
        in page
    )
    assert "| a case | ~50.0 % | – | – | 75.0 %, 2.00 GB |" in page
    costs = "860 MB | 4.00 ms | 1.00 ms | 4.0 | 5.0 | 2.0"
    assert f"| a case | +0.10 % ± 0.10 | – | – | {costs} |" in page
    assert "| a case | `best` | ~80.0 % / 75.0 %, 2.00 GB | 1 |" in page


def test_what_is_selected_is_compared_with_groups_of_eight_in_the_same_rounds(
    h200: ModuleType,
) -> None:
    rounds = [[4.0, 2.0, 3.0], [8.0, 4.0, 6.0], [4.0, 2.0, 3.2]]
    record = {
        "round_order": ["original", "named", "GROUP_M = 8"], "device": "a GPU",
        "launches": [[8, 1, 1, 2]], "rounds": [{"rounds_ns": rounds}],
    }  # fmt: skip
    assert h200.against_grouped(record) == "1.500× (1.500 to 1.600)"
    assert h200.against_grouped({**record, "round_order": ["original", "x", "GROUP_M = 8"]}) == "–"


def test_the_page_in_the_repository_is_that_of_its_records(h200: ModuleType) -> None:
    records = h200.read(h200.RECORDS)
    assert h200.PAGE.read_text(encoding="utf-8") == h200.page(records)
