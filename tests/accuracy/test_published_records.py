# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Published records are compared by way of this project's own kernels."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accuracy import compare
from accuracy.tables import as_table
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.progress import Silent
from model_truth.ablation import ABLATIONS, AblatedMeasurements
from model_truth.published import PublishedMeasurements, evaluate_remap

AS_IT_IS = "def remap(pids, S):\n    return (pids[0], pids[1])\n"
AWAY = "def remap(pids, S):\n    return (pids[0] + 1, pids[1])\n"
BY_COLUMNS = "def remap(pids, S):\n    n = S['M'] // S['BLOCK_SIZE_M']\n    i = pids[0]\n" \
    "    return (i % n, i // n)\n"  # fmt: skip
GEMM = "kernels/gemm.py --group-m 1 --m 256 --n 256 --k 256 --block-m 32 --block-n 64 --block-k 32"
TRANSPOSE = {
    "device": "MI300X",
    "command": "kernels/transpose.py --m 512 --n 512 --block-m 32 --block-n 32",
    "axes": [16, 16],
    "sizes": {"M": 512, "N": 512},
}
CONFIGURATIONS = {
    "transpose": TRANSPOSE,
    "gemm": {
        "device": "MI300X", "command": GEMM, "axes": [32], "sizes": {"M": 256, "BLOCK_SIZE_M": 32},
    },
    "transpose, other grid": {**TRANSPOSE, "axes": [8, 8]},
    "transpose elsewhere": {**TRANSPOSE, "device": "MI250X"},
}  # fmt: skip


def record(config: str, mapping: str, **fields: Any) -> dict[str, Any]:
    return {"config": config, "mapping": mapping, "l2_hit_rate_pct": [10.0, 30.0, 12.0], **fields}


def written(place: Path, configurations: dict[str, Any], records: list[dict[str, Any]]) -> Path:
    file = place / "published.json"
    file.write_text(json.dumps({"configurations": configurations, "records": records}))
    return file


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    records = [
        record("transpose", "order 1", remap=AS_IT_IS),
        record("transpose", "order 2", remap=AWAY),
        record("gemm", "order 1", remap=BY_COLUMNS),
        record("gemm", "order 2", l2_hit_rate_pct=40.0),
        record("transpose, other grid", "order 1", remap=AS_IT_IS),
        record("transpose elsewhere", "order 1", remap=AS_IT_IS),
    ]
    file = written(tmp_path_factory.mktemp("published"), CONFIGURATIONS, records)
    measurements = AblatedMeasurements(PublishedMeasurements(file, "mi300x"), ABLATIONS)
    comparison = compare(measurements, load_target("mi300x"), Silent())
    return {**as_table(comparison), "without": measurements.summaries(comparison.outcomes)}


def test_the_project_s_own_kernels_are_replayed_and_the_rest_is_named(
    compared: dict[str, Any],
) -> None:
    assert [(pair["config"], pair["mapping"]) for pair in compared["pairs"]] == [
        ("transpose", "order 1"),
        ("gemm", "order 1"),
        ("gemm", "order 2"),
    ]
    assert compared["pairs"][0]["measured_hit_rate"] == pytest.approx(0.12)  # the median
    first, second = compared["skipped"]
    assert first.startswith("transpose, order 2: no permutation of 256 blocks")
    assert second == "transpose, other grid: measured on the grid [8, 8]; ours is [16, 16, 1]"


def test_effects_are_left_out_where_the_order_decides(compared: dict[str, Any]) -> None:
    """The rates of `gemm` lie 28 points apart, of `transpose` there is but one."""
    without = compared["without"]
    assert set(without) == {"", *ABLATIONS}
    assert {scores.pairs for scores in without.values()} == {2}
    rates = [pair for pair in compared["pairs"] if pair["config"] == "gemm"]
    errors = [abs(pair["error_points"]) for pair in rates]
    assert without[""].mean_error_points == pytest.approx(np.mean(errors))
    assert len({round(scores.mean_error_points, 6) for scores in without.values()}) > 1


def test_logical_coordinates_become_tiles() -> None:
    order = evaluate_remap(BY_COLUMNS, [32], {"M": 256, "BLOCK_SIZE_M": 32})
    i = np.arange(32)
    assert np.array_equal(order, i % 8 * 4 + i // 8)  # row-major, 8 rows of 4 tiles


def test_hipkittens_orders_are_the_pattern_s(tmp_path: Path) -> None:
    configuration = {
        "device": "MI355X", "command": "hipkittens_table4.py --application 768", "axes": [12],
        "sizes": {"M": 768, "N": 768, "K": 768},
    }  # fmt: skip
    window = {"cols": 3, "chunk": 1, "window": 2}
    records = [
        record("gemm", "row-major", tflops=100),
        record("gemm", "windows", tflops=100, chunked_xcd_window=window),
    ]
    published = PublishedMeasurements(written(tmp_path, {"gemm": configuration}, records), "mi355x")
    readings, left_out = published.readings()
    assert readings[0].time_ms == pytest.approx(2 * 768**3 / 100e12 * 1e3)
    assert left_out == []
    found = published.configuration("gemm", load_target("mi355x"), tmp_path)
    assert found.axes == (12,)
    assert found.orders["row-major"].tolist() == list(range(12))
    swizzle = parse("pid = 2 * 3 * (pid // 6) + pid % 6 % 2 * 3 + pid % 6 // 2")
    expected = evaluate(swizzle, (12, 1, 1), {}, num_xcds=8, cus_per_xcd=32)
    assert np.array_equal(found.orders["windows"], expected)


def test_every_ablation_leaves_out_one_effect():
    for physics in ABLATIONS.values():
        off = [f.name for f in dataclasses.fields(physics) if getattr(physics, f.name) is False]
        assert len(off) == 1
