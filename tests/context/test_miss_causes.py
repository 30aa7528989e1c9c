# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Causes of misses in words, on numbers small enough to be read."""

from __future__ import annotations

import pytest

from intelliperf_swizzle.context.locality import describe_causes, describe_tensors, of_hundred
from intelliperf_swizzle.records import MissCauses

B = MissCauses(("B",), 600, compulsory=20, other_domain=400, capacity=80, conflict=0)
A = MissCauses(("A", "A2"), 400, compulsory=20, other_domain=10, capacity=40, conflict=30)


def test_what_misses_and_why():
    assert describe_causes((B, A), "XCD") == (
        "60 of 100 requests miss: 41 another XCD, 12 capacity, 4 compulsory, 3 conflict; mostly B"
    )
    assert describe_tensors((B, A)) == (
        "60 of 100 requests miss: 41 another L2, 12 capacity, 4 compulsory, 3 conflict; mostly B; "
        "B 50 (40 another L2, 8 capacity, 2 compulsory); "
        "A, A2 10 (4 capacity, 3 conflict, 2 compulsory, 1 another L2)"
    )


def test_one_tensor_is_not_listed_twice():
    assert describe_tensors((A,)) == (
        "25 of 100 requests miss: 10 capacity, 7 conflict, 5 compulsory, 3 another L2"
    )


@pytest.mark.parametrize("counts", [(1, 1, 1, 0), (333, 333, 333, 1), (5, 5, 5, 5), (0, 0, 0, 0)])
def test_whole_numbers_add_up(counts):
    shares = of_hundred(dict(zip("abcd", counts, strict=True)), 1000)
    assert sum(shares.values()) == round(sum(counts) / 10)


def test_a_kernel_that_hits():
    assert describe_causes((MissCauses(("x",), 1000, 1, 0, 0, 0),)) == (
        "fewer than 1 of 100 requests miss"
    )
