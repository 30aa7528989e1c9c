# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What would help a real kernel, held against the kernel launched that way."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import Cures, Measurement
from intelliperf_swizzle.search import cures
from intelliperf_swizzle.search.cures import compare_cures
from intelliperf_swizzle.search.recorded import choose_kernel, record_application
from intelliperf_swizzle.search.setup import prepare

APPLICATION = Path(__file__).parent / "padded_rows.py"
TARGET = replace(load_target("mi300x"), l2_bytes_per_xcd=1 << 18, cus_per_xcd=8)
"""An L2 of a sixteenth of the size, so that small matrices crowd its channels."""


def compared(folder: Path, *arguments: object) -> tuple[Measurement, Cures | None]:
    """The unmodified kernel, and the cures without any swizzle."""
    asked = Options(project_directory=str(folder), profiler="model", compute="never")
    command = (sys.executable, str(APPLICATION), *map(str, arguments))
    setup = prepare(asked, command, Silent(), target=TARGET)
    with record_application(setup, Silent()) as recorded:
        subject, _ = choose_kernel(recorded, setup, Silent())
        return subject.baseline, compare_cures(setup, subject, None, Silent())


@pytest.fixture(autouse=True)
def _small_launches_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cures, "LEAST_MS", 0.0)


def test_padded_rows_do_what_was_said_of_them(tmp_path: Path) -> None:
    _, found = compared(tmp_path, "product", 0, 1)
    assert found is not None
    padding = found.cures[0].padding
    assert padding is not None
    assert found.cures[0].kind == "padding"
    assert set(padding.tensors) == {"a", "b"}
    assert padding.arguments == dict.fromkeys(("sam", "sbn"), 1024 + padding.elements)
    assert padding.bytes == (511 + 1023) * padding.elements * 2
    then, again = compared(tmp_path, "product", padding.elements, 1)
    assert then.l2_hit_rate == pytest.approx(found.cures[0].l2_hit_rate, abs=0.001)
    assert found.cures[0].l2_hit_rate > found.before + 0.1
    assert again is not None
    assert not any(one.padding for one in again.cures)


def test_a_kernel_without_the_stride_as_an_argument_cannot_be_padded(tmp_path: Path) -> None:
    before, found = compared(tmp_path, "packed", 0, 1)
    assert sum(one.conflict for one in before.causes or ()) > 0.1 * (before.l2_requests or 0)
    assert found is not None
    assert not found.cures
    assert found.reason


def test_a_parameter_that_renumbers_tiles_is_found(tmp_path: Path) -> None:
    _, found = compared(tmp_path, "product", 64, 16)
    assert found is not None
    [cure] = [one for one in found.cures if one.kind == "parameter"]
    assert cure.arguments
    [(name, value)] = cure.arguments.items()
    assert name == "GROUP_M"
    then, _ = compared(tmp_path, "product", 64, value)
    assert then.l2_hit_rate == pytest.approx(cure.l2_hit_rate, abs=0.001)
