# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which GPU a run measures on; the machine's GPUs are this test's."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_mock import MockerFixture

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.hardware import Device, load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.search import setup

H200 = load_target("h200")
TWO = tuple(
    Device(number, "NVIDIA H200", "cuda", 90, target=H200, environment={"SEEN": str(number)})
    for number in (0, 1)
)
UNKNOWN = (Device(0, "NVIDIA T4", "cuda", 75),)


@pytest.mark.parametrize(
    ("present", "given", "target", "number"),
    [
        (TWO, {}, "h200", 0),
        (TWO, {"device": 1}, "h200", 1),
        (TWO, {"profiler": "model"}, "h200", None),
        (TWO, {}, "mi300x", None),
        (UNKNOWN, {}, "h200", None),
        ((), {}, "mi300x", None),
    ],
)
def test_the_gpu_measures_if_it_is_the_target(
    present: tuple[Device, ...],
    given: dict[str, Any],
    target: str,
    number: int | None,
    mocker: MockerFixture,
) -> None:
    mocker.patch.object(setup, "devices", return_value=present)
    device = setup.choose_device(Options(**given), load_target(target))
    assert device == (None if number is None else present[number])


@pytest.mark.parametrize(("present", "hint"), [(TWO, "1: NVIDIA H200"), ((), "none")])
def test_a_gpu_that_is_not_there_is_named_with_those_that_are(
    present: tuple[Device, ...], hint: str, mocker: MockerFixture
) -> None:
    mocker.patch.object(setup, "devices", return_value=present)
    with pytest.raises(UsageError, match="there is no GPU 2") as caught:
        setup.choose_device(Options(device=2), H200)
    assert hint in str(caught.value)


def test_without_a_gpu_the_model_measures(mocker: MockerFixture) -> None:
    mocker.patch.object(setup, "devices", return_value=())
    prepared = setup.prepare(Options(), ("app",), Silent(), target=load_target("mi300x"))
    assert (prepared.device, prepared.profiler) == (None, None)
