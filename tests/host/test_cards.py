# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Profiles of every shape that the host gives, as one record."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.host.profiler import KernelReading, reading_of, readings
from intelliperf_swizzle.profile.readings import plain_name

CARD = {
    "kernel": "gemm_kernel.kd",
    "durations": {"ns": 1500.5, "pct": 90.0},
    "l2": {"hr": 62.5, "util": 10.0},
}


def test_report_cards():
    assert readings([CARD]) == (KernelReading("gemm_kernel", 1500.5, 0.625),)


def test_kernel_metrics():
    """What the host's branch with Metrix returns: an object with `kernels`."""
    kernel = SimpleNamespace(
        kernel_name="gemm_kernel", duration_ns=1500.0, l2_hit_rate=62.5, source_files=["a.py"]
    )
    assert readings(SimpleNamespace(kernels=[kernel])) == (
        KernelReading("gemm_kernel", 1500.0, 0.625),
    )


def test_metrix_itself():
    kernel = SimpleNamespace(
        name="gemm_kernel.kd",
        duration_us=SimpleNamespace(avg=1.5, min=1.0, max=2.0),
        metrics={"memory.l2_hit_rate": SimpleNamespace(avg=62.5)},
    )
    assert readings(SimpleNamespace(kernels=[kernel])) == (
        KernelReading("gemm_kernel", 1500.0, 0.625),
    )


@pytest.mark.parametrize("hit_rate", [None, float("nan"), "N/A", -1.0, 101.0, True])
def test_hit_rate_that_was_not_collected_is_none_and_not_0(hit_rate):
    (reading,) = readings([{**CARD, "l2": {"hr": hit_rate}}])
    assert reading.l2_hit_rate is None
    kernel = SimpleNamespace(kernel_name="k", duration_ns=None, l2_hit_rate=hit_rate)
    assert readings(SimpleNamespace(kernels=[kernel])) == (KernelReading("k", None, None),)


def test_card_with_nothing_but_a_name():
    assert readings([{"kernel": "k", "l2": None}]) == (KernelReading("k", None, None),)


@pytest.mark.parametrize("profile", [None, "gemm_kernel", 3, [{"name": "k"}], [None]])
def test_profile_that_is_none(profile):
    with pytest.raises(ProfileError):
        readings(profile)


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("gemm_kernel", "gemm_kernel"),
        ("gemm_kernel.kd", "gemm_kernel"),
        ("void space::gemm<float, 4>(float const*, int)", "gemm"),
    ],
)
def test_plain_name(signature, name):
    assert plain_name(signature) == name


def test_reading_of_a_kernel_that_is_not_there_names_those_that_are():
    with pytest.raises(ProfileError, match="does not show `softmax`") as refused:
        reading_of("softmax", readings([CARD]))
    assert "gemm_kernel" in str(refused.value)


def test_of_two_kernels_of_one_name_the_one_that_takes_longest():
    cards = [{**CARD, "durations": {"ns": time}, "l2": {"hr": time}} for time in (1.0, 3.0, 2.0)]
    assert reading_of("gemm_kernel", readings(cards)).l2_hit_rate == 0.03
