# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What would help, in words: a time is called measured if a GPU took it, and modelled else."""

from __future__ import annotations

import html
from dataclasses import replace

from intelliperf_swizzle.codec import dumps, loads
from intelliperf_swizzle.records import Accuracy, Cure, Cures, Interval, Padding, Run, Timing
from intelliperf_swizzle.report.establish import recommended
from intelliperf_swizzle.report.files import plain
from intelliperf_swizzle.report.pages import markdown, render
from intelliperf_swizzle.report.result import result, run_of
from intelliperf_swizzle.report.why import cures

ROWS = Cure("padding", 0.9, 0.8, Padding(("a",), 64, {"sam": 1088}, 1000))
OTHER = Cure("parameter", 0.8, 0.9, arguments={"GROUP_M": 4})
MODELLED = "modelled L2 hit rate 50.0 % → 90.0 %, modelled time -20.0 %"
TELLS = Accuracy("other kernels", 9, 1.0, 99, 90)


def timed(low: float, high: float) -> Cure:
    millisecond = Interval(1.0, 1.0, 1.0)
    ratio = Interval((low + high) / 2, low, high)
    return replace(ROWS, timing=Timing("a test", millisecond, millisecond, ratio, 11))


def with_cures(run: Run, *found: Cure) -> Run:
    return replace(run, accuracy=TELLS, cures=Cures(0.5, 1.0, found))


def test_a_modelled_cure_is_not_called_measured(run: Run) -> None:
    said = cures(with_cures(run, ROWS, OTHER))
    assert said[0].endswith(f"no patch: {MODELLED}.")
    assert said[1].startswith("Else: ")
    assert not any("measured" in line for line in said)


def test_a_measured_time_stands_beside_the_modelled_one_on_every_face(run: Run) -> None:
    shown = with_cures(run, timed(0.85, 0.87), OTHER)
    said, other = cures(shown)
    assert said.startswith("Recommended: ")
    assert said.endswith(f"{MODELLED}; measured on a test: 0.860 (0.850–0.870) of the time.")
    assert "measured" not in other
    for face in (plain(shown), markdown(shown), html.unescape(render(shown))):
        assert "measured on a test: 0.860 (0.850–0.870)" in " ".join(face.split())
    fields = loads(dumps(result(shown, initial="", optimized=None)))
    assert run_of(fields).cures == shown.cures


def test_what_is_not_faster_when_timed_is_not_recommended(run: Run) -> None:
    said, _ = cures(with_cures(run, timed(0.99, 1.02), OTHER))
    assert said.startswith(
        "Best by the model, but no faster when timed: make rows of a 64 elements"
    )


def test_what_only_the_model_speaks_for_is_not_recommended_beside_measured_times(run: Run) -> None:
    measured = replace(run, best=None, baseline=replace(run.baseline, time_ms=1.0))
    shown = with_cures(measured, OTHER)
    assert cures(shown)[0].startswith("Best by the model, not timed: pass GROUP_M = 4")
    assert recommended(shown) == ("none", "nothing")
    assert recommended(with_cures(run, OTHER))[0] == "argument"
