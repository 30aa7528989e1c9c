# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What would help, in words: modelled numbers are called so, and never beside measured ones."""

from __future__ import annotations

from dataclasses import replace

from intelliperf_swizzle.records import Accuracy, Alternative, Alternatives, Padding, Run
from intelliperf_swizzle.report.causes import alternatives
from intelliperf_swizzle.report.establish import recommend
from intelliperf_swizzle.report.sentences import by_hand

ROWS = Alternative("padding", 0.9, 0.8, Padding(("a",), 64, {"sam": 1088}, 1000))
OTHER = Alternative("parameter", 0.8, 0.9, arguments={"GROUP_M": 4})
MODELLED = "modelled L2 hit rate 50.0 % → 90.0 %, modelled time -20.0 %"
TELLS = Accuracy("kernels without matrix products", 9, 1.0, 99, 90)


def with_alternatives(run: Run, *found: Alternative) -> Run:
    return replace(run, accuracy=TELLS, alternatives=Alternatives(0.5, 1.0, found))


def test_a_modelled_alternative_is_not_called_measured(run: Run) -> None:
    message = alternatives(with_alternatives(run, ROWS, OTHER))
    assert message[0].endswith(f"no patch: {MODELLED}.")
    assert message[1].startswith("Alternative: ")
    assert not any("measured" in line for line in message)


def test_what_only_the_model_speaks_for_is_not_recommended_beside_measured_times(run: Run) -> None:
    measured = replace(run, best=None, baseline=replace(run.baseline, time_ms=1.0))
    shown = with_alternatives(measured, OTHER)
    assert alternatives(shown)[0].startswith("Best by the model, not timed: pass GROUP_M=4")
    assert recommend(shown) == ("none", "nothing")
    assert recommend(with_alternatives(run, OTHER))[0] == "argument"


def test_the_time_of_the_largest_launch_stands_beside_no_time_of_all_launches(run: Run) -> None:
    baseline = replace(run.baseline, time_ms=None)
    of_all = baseline.modelled_time_ms
    assert of_all
    alone = ("900 µs", "80.0 %", "modelled only")
    others = ("not measured", "80.0 %", "largest launch only")
    for largest, message in ((of_all, alone), (of_all / 2, others)):
        tried = Alternatives(0.5, largest, (), arguments=(OTHER,))
        rows = by_hand(replace(run, baseline=baseline, alternatives=tried))
        assert rows[1] == ("GROUP_M=4 in the call", *message)
