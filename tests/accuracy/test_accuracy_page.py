# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`docs/model-accuracy.md` says what its record says, and the record what was measured."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from accuracy import FolderOfMeasurements
from intelliperf_swizzle.cache import replay
from intelliperf_swizzle.hardware import load_target

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        import model_accuracy as module

    return module


@pytest.fixture(scope="module")
def record(page: ModuleType) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(page.RECORD.read_text())
    return stored


def test_the_page_is_what_its_record_renders_to(page: ModuleType, record: dict[str, Any]) -> None:
    for path, text in page.pages(record).items():
        assert (ROOT / "docs" / path).read_text() == text, f"make validation; {path} is old"


def test_every_measured_pair_is_in_the_record(page: ModuleType, record: dict[str, Any]) -> None:
    for set_ in page.SETS:
        readings, left_out = page.measurements_of(set_).readings()
        assert left_out == record["sets"][set_.name]["skipped"]
        stored = {(p["config"], p["mapping"]): p for p in record["sets"][set_.name]["pairs"]}
        assert len(stored) == len(readings) == len(record["sets"][set_.name]["pairs"])
        for reading in readings:
            pair = stored[reading.config, reading.mapping]
            assert pair["measured_hit_rate"] == pytest.approx(reading.hit_rate)


def test_the_sums_are_those_of_the_pairs(page: ModuleType, record: dict[str, Any]) -> None:
    for set_ in page.SETS:
        stored = record["sets"][set_.name]
        errors = [
            100 * (pair["predicted_hit_rate"] - pair["measured_hit_rate"])
            for pair in stored["pairs"]
        ]
        summary = stored["summary"]
        assert summary["mean_error_points"] == pytest.approx(statistics.fmean(map(abs, errors)))
        assert abs(summary["worst_error_points"]) == pytest.approx(max(map(abs, errors)))
        regrets = []
        for members in page.groups(stored["pairs"]).values():
            preferred = max(members, key=lambda pair: pair["predicted_hit_rate"])
            best = max(pair["measured_hit_rate"] for pair in members)
            regrets.append(100 * (best - preferred["measured_hit_rate"]))
        assert summary["mean_regret_points"] == pytest.approx(statistics.fmean(regrets))


def test_the_docstring_of_the_model_ends_with_its_accuracy(
    page: ModuleType, record: dict[str, Any]
) -> None:
    message = " ".join((replay.__doc__ or "").split())
    assert message.endswith(page.accuracy_line(record))


def test_a_picture_has_a_point_for_every_pair(page: ModuleType, record: dict[str, Any]) -> None:
    pictures = page.pages(record)
    for set_ in page.SETS:
        pairs = record["sets"][set_.name]["pairs"]
        assert pictures[f"model-accuracy/{set_.name}.svg"].count("<title>") == len(pairs)


def test_the_record_is_that_of_todays_model(
    page: ModuleType, record: dict[str, Any], tmp_path: Path
) -> None:
    """One configuration of the H200, replayed now."""
    name = "gemm_4096_4096_4096_b64_64_64"
    stored = record["sets"]["h200"]
    [then] = [
        configuration
        for configuration in stored["configurations"]
        if configuration["config"] == name
    ]
    target = load_target("h200")
    now = FolderOfMeasurements(page.MEASURED / "h200").configuration(name, target, tmp_path)
    if now.occupancy != then["occupancy"]:
        pytest.skip("this Triton compiles the kernel to another occupancy")
    for pair in (pair for pair in stored["pairs"] if pair["config"] == name):
        if pair["mapping"] in ("identity", "hilbert"):
            [modelled] = now.replay(now.orders[pair["mapping"]], target)
            assert modelled.l2_hit_rate == pytest.approx(pair["predicted_hit_rate"], abs=1e-4), (
                "the model has changed since records/model_accuracy.json: make validation"
            )
