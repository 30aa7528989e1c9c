# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Values that the targets would not agree on are refused on the given grid, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from intelliperf_swizzle.errors import LanguageError
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.records import Grid, Int64Array

LIMIT = 2**31


def tiles(text: str, grid: Grid = (100, 1, 1), **constants: int) -> Int64Array:
    return evaluate(parse(text), grid, constants, num_xcds=8, cus_per_xcd=38)


REFUSED = {
    "divisor": (
        "pid = 100 // pid",
        "1:7: the divisor of `//` is 0 for program 0; it must be positive",
    ),
    "modulus": (
        "pid = pid % (pid - 5)",
        "1:7: the divisor of `%` is -5 for program 0; it must be positive",
    ),
    "constant divisor": ("pid = pid // 0", "the divisor of `//` is 0"),
    "negative": ("\npid = (5 - pid) // 2", "2:7: the left operand of `//` is -94"),
    "negative remainder": ("pid = (3 - pid) % 7", "for program 99"),
    "negative shift": ("pid = 1 << (pid - 1)", "the shift count of `<<` is -1"),
    "long shift": (
        "pid = 1 << pid",
        "the shift count of `<<` is 99 for program 99; it must be from 0 to 30",
    ),
    "shifted negative": ("pid = (0 - pid) >> 1", "the left operand of `>>` is -99"),
    "product": (
        "pid = pid * 0x7fffffff",
        "a value of 212600881053 for program 99 overflows 31 bits",
    ),
    "sum": ("pid = pid + 0x7fffffff", "for program 99 overflows 31 bits"),
    "shifted out": ("pid = pid << 25 >> 25", "overflows 31 bits"),
    "other side of where": ("pid = where(pid > 0, 100 // pid, 0)", "the divisor of `//` is 0"),
    "other side of if": ("pid = 100 // pid if pid > 0 else 0", "the divisor of `//` is 0"),
    "behind and": ("pid = where(pid > 0 and 100 // pid > 3, 1, 0)", "the divisor of `//` is 0"),
    "large constant": ("pid = pid + N", "1:13: a value of 2147483648 overflows 31 bits"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(LanguageError) as refusal:
        tiles(text, N=LIMIT)
    assert reason in refusal.value.fact


def test_bounds_that_are_too_wide_are_settled_by_the_values() -> None:
    # By bounds alone the sum could be anything up to 198, and the divisor 0.
    np.testing.assert_array_equal(tiles("pid = 100 // (pid + (99 - pid))"), np.full(100, 1))
    assert tiles("pid = (pid ^ pid) + 0x7fffffff")[3] == LIMIT - 1
    np.testing.assert_array_equal(tiles("pid = pid // (7 % 4)"), np.arange(100) // 3)


def test_a_text_may_be_legal_on_one_grid_and_not_on_another() -> None:
    text = "pid = pid * 50000"
    assert tiles(text, (40_000, 1, 1))[-1] == 39_999 * 50_000
    with pytest.raises(LanguageError, match="overflows 31 bits"):
        tiles(text, (50_000, 1, 1))


def test_chunks_of_a_large_grid_are_one_grid() -> None:
    grid = (300, 400, 2)
    order = tiles("pid = num_pids - 1 - (pid_0 + grid_0 * (pid_1 + grid_1 * pid_2))", grid)
    np.testing.assert_array_equal(order, np.arange(240_000)[::-1])
    np.testing.assert_array_equal(tiles("pid_2 = pid_2", grid), np.arange(240_000))
    with pytest.raises(LanguageError, match="is 0 for program 200000; it must"):
        tiles("pid = pid // where(pid == 200000, 0, 1)", grid)


def test_axes_run_from_the_first_to_the_last() -> None:
    grid = (4, 3, 2)
    np.testing.assert_array_equal(
        tiles("pid = pid_0 + grid_0 * (pid_1 + grid_1 * pid_2)", grid), np.arange(24)
    )


def test_an_axis_not_assigned_keeps_its_program_id() -> None:
    reversed_rows = tiles("pid_1 = grid_1 - 1 - pid_1", (4, 3, 1))
    np.testing.assert_array_equal(reversed_rows.reshape(3, 4), np.arange(12).reshape(3, 4)[::-1])


def test_a_coordinate_beyond_its_axis_is_no_tile_even_if_the_linear_index_is() -> None:
    np.testing.assert_array_equal(tiles("pid_0 = pid_0 + 1", (3, 2, 1)), [1, 2, -1, 4, 5, -1])


def test_inputs_of_the_language_come_before_arguments_of_that_name() -> None:
    assert tiles("pid = num_xcds + cus_per_xcd", num_xcds=1, cus_per_xcd=1)[0] == 46


def test_a_constant_may_be_a_numpy_integer() -> None:
    constant = np.int64(3)
    assert tiles("pid = pid + c", c=constant)[0] == 3  # type: ignore[arg-type]
