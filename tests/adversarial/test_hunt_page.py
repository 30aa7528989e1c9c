# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The page of the hunt says what its records say."""

from __future__ import annotations

from pathlib import Path

from hunt.campaign import pairs_of
from hunt.table import page

ROOT = Path(__file__).parents[2]
TRITON, HIP, OLD = (
    ROOT / "benchmarks/records" / f"hunt_{part}.jsonl.gz" for part in ("triton", "hip", "13f502c")
)


def test_the_page_is_made_from_its_records() -> None:
    assert (ROOT / "docs/results/campaign.md").read_text("utf-8") == page(TRITON, HIP, OLD)


def test_the_records_hold_nothing_wrong_that_was_accepted() -> None:
    pairs = [*pairs_of(TRITON), *pairs_of(HIP)]
    assert [(p.seed, p.text) for p in pairs if p.accepted and p.truth == "harmful"] == []
    harmless = [p for p in pairs if p.truth == "harmless"]
    assert sum(p.accepted for p in harmless) >= 0.95 * len(harmless)


def test_the_hunt_finds_the_holes_of_earlier_gates() -> None:
    found = {(p.harm, p.effect) for p in pairs_of(OLD) if p.accepted and p.truth == "harmful"}
    assert {harm for harm, _ in found} >= {"wrong at another size", "order in a late launch"}
