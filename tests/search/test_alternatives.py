# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What would help a real kernel, held against the kernel launched that way."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import Alternative, Alternatives, Measurement, Padding
from intelliperf_swizzle.search import compare_alternatives as alternatives
from intelliperf_swizzle.search.compare_alternatives import compare_alternatives
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.setup import RunContext, prepare
from intelliperf_swizzle.search.subject import Subject

APPLICATION = Path(__file__).parent / "padded_rows.py"
TARGET = replace(load_target("mi300x"), l2_bytes_per_xcd=1 << 18, cus_per_xcd=8, launch_us=0.0)
"""An L2 of a sixteenth of the size, so that small matrices crowd its channels."""
FAST = replace(TARGET, flops_per_clock_cu=1e6)
"""One on which arithmetic takes no time."""
IN_STEP = replace(FAST, clocks_llc=None)
"""One whose workgroups keep in step, so that rows a power of two apart crowd a few channels."""


@contextmanager
def examined(
    folder: Path, *arguments: object, target: Target = FAST
) -> Iterator[tuple[RunContext, Subject]]:
    """The application's kernel, as long as its records are there."""
    asked = Options(project_directory=str(folder), profiler="model", compute="never")
    command = (sys.executable, str(APPLICATION), *map(str, arguments))
    setup = prepare(asked, command, Silent(), target=target)
    with record_application(setup, Silent()) as recorded:
        subject = choose_kernel(recorded, setup, Silent())
        yield setup, subject


def compared(
    folder: Path, *arguments: object, target: Target = FAST
) -> tuple[Measurement, Alternatives]:
    """The unmodified kernel, and the alternatives without any swizzle."""
    with examined(folder, *arguments, target=target) as (setup, subject):
        found = compare_alternatives(setup, subject, None, Silent(), None)
        assert found is not None
        return subject.baseline, found


def test_padded_rows_do_what_was_predicted_of_them(tmp_path: Path) -> None:
    _, found = compared(tmp_path, "product", 0, 1, target=IN_STEP)
    padding = found.ranked[0].padding
    assert padding is not None
    assert found.ranked[0].kind == "padding"
    assert set(padding.tensors) == {"a", "b"}
    assert padding.arguments == dict.fromkeys(("sam", "sbn"), 1024 + padding.elements)
    assert padding.bytes == (511 + 1023) * padding.elements * 2
    assert found.ranked[0].l2_hit_rate > found.before + 0.1
    with examined(tmp_path, "product", padding.elements, 1, target=IN_STEP) as (_, then):
        assert then.baseline.l2_hit_rate == pytest.approx(found.ranked[0].l2_hit_rate, abs=0.001)


def test_a_kernel_without_the_stride_as_an_argument_cannot_be_padded(
    tmp_path: Path,
) -> None:
    with examined(tmp_path, "packed", 0, 1, target=IN_STEP) as (setup, subject):
        before = subject.baseline
        assert sum(cause.conflict for cause in before.causes or ()) > 0.1 * (
            before.l2_requests or 0
        )
        found = compare_alternatives(setup, subject, None, Silent(), None)
        assert found
        assert not found.ranked
        setup = replace(setup, target=replace(IN_STEP, launch_us=1e3))
        assert compare_alternatives(setup, subject, None, Silent(), None) is None, (
            "a launch alone takes longer"
        )


def test_nothing_is_looked_for_where_arithmetic_takes_as_long(tmp_path: Path) -> None:
    with examined(tmp_path, "product", 0, 1, target=TARGET) as (setup, subject):
        found = compare_alternatives(setup, subject, None, Silent(), None)
    assert subject.baseline.bound_by_arithmetic
    assert found
    assert (found.ranked, found.reason) == ((), "the kernel is bound by arithmetic")


def test_a_parameter_that_renumbers_tiles_is_found(tmp_path: Path) -> None:
    _, found = compared(tmp_path, "product", 64, 16)
    [alternative] = [attempt for attempt in found.ranked if attempt.kind == "parameter"]
    assert alternative.arguments
    [(name, value)] = alternative.arguments.items()
    assert name == "GROUP_M"
    tried = {name for argument in found.arguments for name in argument.arguments or {}}
    assert tried == {"GROUP_M"}, "ROUNDS changes how much is computed, not where"
    with examined(tmp_path, "product", 64, value) as (_, then):
        assert then.baseline.l2_hit_rate == pytest.approx(alternative.l2_hit_rate, abs=0.001)


def test_the_cheapest_within_one_percent_of_the_best_time_comes_first() -> None:
    padding = Padding(("a",), 64, {"sam": 1088}, 1000)
    more = replace(padding, elements=128, bytes=2000)
    swizzle = Alternative("swizzle", 0.8, 0.0101)
    dearer = Alternative("both", 0.9, 0.0099, more)
    best = Alternative("padding", 0.9, 0.00994, more)
    cheap = Alternative("padding", 0.9, 0.00995, padding)
    parameter = Alternative("parameter", 0.6, 0.02, arguments={"GROUP_M": 4})
    ranked = alternatives._rank([parameter, best, dearer, cheap, swizzle], 0.01, by_rate=False)
    assert ranked == [cheap, dearer, swizzle, parameter]
    fast = replace(swizzle, time_ms=0.0099)
    assert alternatives._rank([parameter, dearer, fast], 0.01, by_rate=False)[0].kind == "swizzle"


def test_where_no_time_is_claimed_hits_decide_what_comes_first() -> None:
    patch = Alternative("swizzle", 0.836, 1.92)
    argument = Alternative("parameter", 0.683, 1.94, arguments={"GROUP_M": 4})
    assert alternatives._rank([argument, patch], 0.02, by_rate=False)[0] is argument
    assert alternatives._rank([argument, patch], 0.02, by_rate=True)[0] is patch
