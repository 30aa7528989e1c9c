# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`validate-model` on a file of published records, with this project's own kernels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intelliperf_swizzle.cli import main
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.fidelity import measurements_at
from intelliperf_swizzle.fidelity.published import PublishedMeasurements
from intelliperf_swizzle.fidelity.remaps import orders_of
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate, parse

AS_IT_IS = "def remap(pids, S):\n    return (pids[0], pids[1])\n"
AWAY = "def remap(pids, S):\n    return (pids[0] + 1, pids[1])\n"
FAILS = "def remap(pids, S):\n    return (pids[0] // S['nothing'],)\n"
OPENS = "def remap(pids, S):\n    open('/etc/passwd')\n"
BY_COLUMNS = "def remap(pids, S):\n    n = S['M'] // S['BLOCK_SIZE_M']\n    i = pids[0]\n" \
    "    return (i % n, i // n)\n"  # fmt: skip


def record(**fields: Any) -> dict[str, Any]:
    return {
        "device": "MI300X",
        "kernel": "transpose",
        "problem": "M=N=512",
        "blocks": {"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 32},
        "grid": [16, 16],
        "l2_hit_rate_pct": [10.0, 30.0, 12.0],
        "mapping_python": AS_IT_IS,
        **fields,
    }


GEMM = {
    "kernel": "gemm_matmul",
    "problem": "M=N=K=256",
    "blocks": {"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8},
    "grid": [32],
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("published")
    records = [
        record(),
        record(mapping_python=AWAY),
        record(mapping_python=FAILS),
        record(mapping_python=OPENS),
        record(l2_hit_rate_pct=None),
        record(**GEMM, mapping_python=BY_COLUMNS),
        record(kernel="raytracing"),
        record(problem="M=N=1024", grid=[16, 16]),
        record(device="MI250X"),
        {"kernel": "transpose"},
    ]
    (place / "records.json").write_text(json.dumps({"records": records}))
    code = main(
        [
            *("validate-model", str(place / "records.json")),
            *("--target", "mi300x", "-o", str(place / "out.json")),
        ]
    )
    return {"code": code, **json.loads((place / "out.json").read_text())}


def test_the_project_s_own_kernels_are_replayed_and_the_rest_is_named(
    outcome: dict[str, Any],
) -> None:
    assert outcome["code"] == 1
    assert [(pair["config"], pair["mapping"]) for pair in outcome["pairs"]] == [
        ("transpose M=N=512", "order 1"),
        ("gemm_matmul M=N=K=256", "order 1"),
    ]
    assert outcome["pairs"][0]["measured_hit_rate"] == pytest.approx(0.12)  # the median
    skipped = "\n".join(outcome["skipped"])
    for said in (
        "transpose M=N=512, order 2: no permutation of 256 blocks",
        "transpose M=N=512, order 3: its text fails: KeyError: 'nothing'",
        "transpose M=N=512, order 4: its text fails: NameError",
        "transpose M=N=512, order 5: neither",
        "raytracing M=N=512: benchmarks/ has no kernel `raytracing`",
        "transpose M=N=1024: measured on the grid [16, 16]; ours is [32, 32, 1]",
        "record 10: it names no device",
    ):
        assert said in skipped
    assert len(outcome["skipped"]) == 7


def test_logical_coordinates_become_tiles(tmp_path: Path) -> None:
    orders = orders_of([BY_COLUMNS], [32], {"M": 256, "BLOCK_SIZE_M": 32})
    i = np.arange(32)
    assert np.array_equal(orders[0], i % 8 * 4 + i // 8)  # row-major, 8 rows of 4 tiles


def test_hipkittens_orders_are_the_pattern_s(tmp_path: Path) -> None:
    fields = {"device": "MI355X", "kernel": "gemm_bf16", "problem": "M=N=K=768", "grid": None}
    file = tmp_path / "records.json"
    words = ("row-major", "chiplet chunk C=1, window W=2", "as the wind blows")
    records = [record(**fields, mapping=one, tflops=100) for one in words]
    for one in records:
        del one["mapping_python"], one["blocks"]
    file.write_text(json.dumps(records))
    target = load_target("mi355x")
    published = PublishedMeasurements(file, "mi355x")
    readings, _ = published.readings()
    assert readings[0].time_ms == pytest.approx(2 * 768**3 / 100e12 * 1e3)
    configuration = published.configuration("gemm_bf16 M=N=K=768", target, tmp_path)
    assert configuration.axes == (12,)
    assert configuration.orders["row-major"].tolist() == list(range(12))
    swizzle = parse("pid = 2 * 3 * (pid // 6) + pid % 6 % 2 * 3 + pid % 6 // 2")
    expected = evaluate(swizzle, (12, 1, 1), {}, num_xcds=8, cus_per_xcd=32)
    assert np.array_equal(configuration.orders[words[1]], expected)
    assert configuration.unreadable == {words[2]: "there is no such mapping"}


def test_a_file_without_records_of_the_target_is_refused(tmp_path: Path) -> None:
    (tmp_path / "records.json").write_text(json.dumps([record()]))
    with pytest.raises(UsageError) as refusal:
        measurements_at(tmp_path / "records.json", load_target("h200"))
    assert "no records of h200" in str(refusal.value)
    assert "mi300x" in str(refusal.value)
