# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Records and pages belong together; the audit's proofs are those of today's code."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest

import audit
from figure_02 import FORMULAS, gain, mark
from figure_14 import best_so_far
from figure_16 import FIGURE_16
from figures import TABLES
from harness.command import DOCUMENTS, Table
from harness.render import points, table
from intelliperf_swizzle.cli import main


@pytest.mark.parametrize("made", TABLES, ids=lambda made: made.name)
def test_a_page_follows_from_its_record(made: Table) -> None:
    rendered = made.render(json.loads(made.record.read_text()))
    assert rendered == made.render(json.loads(made.record.read_text()))
    for path, text in rendered.items():
        assert (DOCUMENTS / path).exists(), path
        if path.endswith(".md"):
            assert (DOCUMENTS / path).read_text() == text, f"{path}: render it again"
            for linked in re.findall(r"\]\(([^)#]+)", text):
                assert ((DOCUMENTS / path).parent / linked).exists(), f"{path}: {linked}"


def test_the_audits_proofs_are_those_of_its_record() -> None:
    recorded = json.loads(audit.AUDIT.record.read_text())["entries"]
    for entry in recorded:
        entry.pop("modelled", None)
    assert audit.proofs() == recorded


def commands() -> list[tuple[str, bool]]:
    """For each swizzle the first command that proves and the first that refutes it."""
    found: dict[tuple[str, bool], str] = {}
    for entry in json.loads(audit.AUDIT.record.read_text())["entries"]:
        for case in entry["cases"]:
            if case["programs"] <= 70_000:
                found.setdefault((entry["swizzle"], case["holds"]), case["command"])
    return [(command, holds) for (_, holds), command in found.items()]


@pytest.mark.parametrize(("command", "holds"), commands())
def test_the_audits_commands_work(
    command: str, holds: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *arguments = shlex.split(command)
    assert program == "intelliperf-swizzle"
    assert main(arguments) == (0 if holds else 1)
    assert capsys.readouterr().out.startswith("Proved" if holds else "Refused")


def run(before: float, after: float | None, **more: Any) -> dict[str, Any]:
    best = None if after is None else {"measurement": {"l2_hit_rate": after}}
    return {
        "unchanged": {"l2_hit_rate": before, "modelled_memory_time_ms": 1.0},
        "best": best,
        "profiler": "model",
        "ceiling": 0.9,
        "nothing_to_gain": False,
        "verdicts": {"worse": 3},
        "in_the_way": {"each_l2_alone": 0.8, "in_step": 0.5},
        **more,
    }


def test_the_papers_marks() -> None:
    assert mark(run(0.3, 0.5)) == ""
    assert mark(run(0.3, None)) == "×"
    assert mark(run(0.3, 0.3002)) == "×"
    assert mark(run(0.3, None, verdicts={"not a permutation": 5})) == "⊗"
    assert mark(run(0.3, None, nothing_to_gain=True)) == "nothing to gain"
    assert gain(run(0.25, None)) == 0


def test_pages_with_language_models() -> None:
    models = [
        {"model": "some-model", "formula": formula, **run(0.3, 0.4)} for formula in FORMULAS
    ] + [{"model": "other", "formula": "swizzle", "error": "no answer"}]
    rows = [{"name": "softmax", "offline": run(0.3, None), "models": models}]
    figure_02 = TABLES[0].render({"target": "mi300x", "iterations": 5, "rows": rows})
    assert "| softmax | some-model | `swizzle-overload` | 30.0 | 40.0 |" in str(figure_02)
    assert "no answer" in figure_02["results/figure_02.md"]
    runs = [{"name": "layer norm", **one} for one in models]
    figure_16 = FIGURE_16.render({"target": "mi300x", "iterations": 5, "runs": runs})
    assert "| layer norm | some-model | 30.0 | 40.0 | +10.0 |" in figure_16["results/figure_16.md"]
    assert "some-model" in figure_16["results/figure_16.svg"]


def test_a_measured_run_shows_its_speed_up() -> None:
    measured = run(0.3, 0.5, profiler="ncu", in_the_way=None)
    measured["unchanged"]["time_ms"] = 3.0
    measured["best"] |= {"name": "snake"}
    measured["best"]["measurement"]["time_ms"] = 2.0
    rows = [{"name": "SpMV", "offline": measured, "models": []}]
    pages = TABLES[0].render({"target": "h200", "iterations": 5, "rows": rows})
    assert "Hit rates by: ncu." in pages["results/figure_02.md"]
    assert "| 1.50× |" in pages["results/figure_02.md"]
    assert "speed-up, measured" in pages["results/figure_02.svg"]


def test_progress_never_falls() -> None:
    assert best_so_far([None, 0.5, 0.2, 0.6], 0.4) == [0.4, 0.5, 0.5, 0.6]


def test_cells() -> None:
    assert points(-0.0123) == "-1.2"
    assert table(["a", "b"], [["x|y", 1]]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 |"
