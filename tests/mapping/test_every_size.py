# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is proved for all sizes, against counting at many of them."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

import numpy as np
import pytest

from intelliperf_swizzle.errors import LanguageError
from intelliperf_swizzle.formulas import patterns
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.mapping import conditional
from intelliperf_swizzle.mapping.sizes import holds_everywhere, recorded_condition
from intelliperf_swizzle.propose.nest import Axis, Digit, Nest
from intelliperf_swizzle.records import KernelSource, Launch, SourceFunction

COLUMNS = "cdiv(N, BLOCK)"
CONTIGUOUS = """\
xcd = pid % num_xcds
slot = pid // num_xcds
order = xcd * (num_pids // num_xcds) + min(xcd, num_pids % num_xcds) + slot
"""
SQUARE = CONTIGUOUS + "cols = cdiv(M, BLOCK)\npid = order % (cols * cols)"


def found(text: str, axes: int = 1, *, loop: bool = False) -> str | None:
    return holds_everywhere(parse(text), axes=axes, loop=loop, num_xcds=4, cus_per_xcd=3)


def bound(name: str, columns: str) -> str:
    [pattern] = [known for known in patterns() if known.name == name]
    own = {"cols": columns, "heads": "grid_0", "blocks": "grid_1"}
    first = {key: values[0] if values else own[key] for key, values in pattern.parameters.items()}
    return pattern.bind(**first)


def nest(*digits: Digit, chunk: int | None = None) -> str:
    axes = (Axis("grid_1", 16), Axis("grid_0", 32))
    return Nest(axes, digits, chunk, linear=False).text()


def launches(axes: int) -> Iterator[tuple[tuple[int, int, int], dict[str, int]]]:
    sides = (1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 24, 31)
    grids = [(a, b, c) for a, b, c in itertools.product(sides, sides, sides if axes > 2 else [1])]
    rng = random.Random(axes)
    for grid in grids if axes > 1 else [(n, 1, 1) for n in range(1, 150)]:
        names = ("M", "N", "BLOCK", "FLAG")
        yield grid, {name: rng.choice((1, 2, 3, 5, 8, 16, 40)) for name in names}


def holds(text: str, axes: int) -> bool:
    swizzle = parse(text)
    for grid, constants in launches(axes):
        tile = evaluate(swizzle, grid, constants, num_xcds=4, cus_per_xcd=3)
        if not np.array_equal(np.sort(tile), np.arange(len(tile))):
            return False
    return True


@pytest.mark.parametrize(
    ("text", "axes", "condition"),
    [
        ("pid = num_pids - 1 - pid", 1, ""),
        ("pid_0 = grid_0 - 1 - pid_0", 2, ""),
        (nest(Digit(1, 32), Digit(0, 16, reverse=True)), 2, ""),
        (bound("xcd-contiguous", COLUMNS), 1, ""),
        (bound("aiter-remap-xcd", COLUMNS), 1, ""),
        (bound("grouped-rows", COLUMNS), 1, f"{COLUMNS} > 0"),
        (bound("xcd-contiguous-grouped", COLUMNS), 1, f"{COLUMNS} > 0"),
        (bound("xcd-contiguous-grouped", "grid_0"), 2, ""),
        (bound("grouped-rows", "grid_0"), 3, ""),
        (
            "rows = num_pids // grid_0\nhalf = max(rows // 2, 1)\nrow = pid // grid_0\n"
            "pid = (row % half * 2 + row // half) * grid_0 + pid % grid_0",
            3,
            "(grid_1 * grid_2) % 2 == 0",
        ),
        (bound("chunked-xcd-window", "grid_0"), 2, ""),
        (bound("snake", "grid_0"), 2, ""),
        (bound("swizzled-head-first", "grid_0"), 2, ""),
        (bound("stream-k", ""), 1, "num_pids % 4 == 0"),
        (nest(Digit(0, 4), Digit(1, 32), Digit(0, 4)), 2, "grid_1 % 4 == 0"),
        (
            nest(Digit(0, 2), Digit(1, 4), Digit(0, 8), Digit(1, 8), chunk=4),
            2,
            "grid_0 % 8 == 0 and grid_1 % 8 == 0",
        ),
        ("pid = where(FLAG == 1, num_pids - 1 - pid, pid)", 1, ""),
        ("pid = where(FLAG < 0, 0, pid)", 1, "FLAG > 0"),
    ],
)
def test_a_condition_makes_it_a_permutation_at_every_size(
    text: str, axes: int, condition: str
) -> None:
    assert found(text, axes) == condition
    if not condition.endswith("> 0") and condition:
        assert not holds(text, axes)
    outputs = parse(text).outputs
    assert holds(conditional(text, outputs, condition) if condition else text, axes)


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        (SQUARE, 1),  # only if there are as many rows as columns
        ("pid = where(FLAG == 1, pid, 0)", 1),
        ("pid = where(num_pids == 1000003, 0, pid)", 1),
        ("pid = pid * 7 % num_pids", 1),
        ("pid_0 = 31 - pid_0", 2),
        ("pid_0 = pid_0 + grid_0\npid_1 = pid_1 - 1", 2),
        ("pid = pid + program * 0", 1),
    ],
)
def test_what_is_not_one_for_all_values_is_not_claimed_to_be(text: str, axes: int) -> None:
    assert found(text, axes, loop="program" in text) is None


def mutated(text: str, rng: random.Random) -> str:
    tokens = re.finditer(r"\b\d+\b|//|%|\+|-|<=|<|\bm(?:in|ax)\b|grid_\d|num_pids|cols|rows", text)
    places = list(tokens)
    if not places or rng.random() < 0.2:
        return text
    place = rng.choice(places)
    old = place.group()
    kinds = [["//", "%"], ["+", "-"], ["<", "<="], ["min", "max"]]
    same = next((kind for kind in kinds if old in kind), None)
    new = rng.choice(same or ["1", "2", "3", "4", "8", "grid_0", "num_pids", "N", "pid"])
    return text[: place.start()] + new + text[place.end() :]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_claimed_of_mutated_patterns_holds(seed: int) -> None:
    rng, decided = random.Random(seed), 0
    names = [pattern.name for pattern in patterns() if pattern.name not in ("hilbert", "morton")]
    for _ in range(8):
        text = mutated(bound(rng.choice(names), rng.choice((COLUMNS, "grid_0", "N"))), rng)
        axes = rng.choice((1, 2))
        try:
            condition = found(text, axes)
            if condition is not None:
                decided += 1
                outputs = parse(text).outputs
                assert holds(conditional(text, outputs, condition) if condition else text, axes)
        except LanguageError:
            continue
    assert decided


def test_a_condition_is_tested_once() -> None:
    once = conditional("pid = num_pids - 1 - pid", ("pid",), "num_pids == 8")
    assert conditional(once, ("pid",), "num_pids == 8") == once
    assert conditional(once, ("pid",), "N == 4").count("where(") == 2
    other = "own_pid = 3\npid = where(num_pids == 8, pid, own_pid)"
    assert conditional(other, ("pid",), "num_pids == 8").count("where(") == 2
    hiding = conditional("M = pid // 2\npid = pid % 2 + 2 * M", ("pid",), "N == 4")
    assert parse(conditional(hiding, ("pid",), "M == 8")).names == {"pid", "N", "M"}


@pytest.mark.parametrize(("rows", "renumbers"), [(7, True), (2, False)])
def test_a_condition_reads_arguments_that_a_text_assigns_itself(rows: int, renumbers: bool) -> None:
    condition = "num_pids == 8 and rows == 7"
    text = conditional("rows = 2\npid = num_pids - 1 - pid", ("pid",), condition)
    assert conditional(text, ("pid",), condition) == text
    tiles = evaluate(parse(text), (8, 1, 1), {"rows": rows}, num_xcds=8)
    assert (tiles[0] == 7) == renumbers


ROWS = f"rows = num_pids // {COLUMNS}\n"
BY_ROWS = f"{ROWS}pid = pid % rows * {COLUMNS} + pid // rows"


@pytest.mark.parametrize(("programs", "columns"), [(12, 4), (3, 4), (3, 0), (12, 3)])
def test_where_a_condition_does_not_hold_nothing_is_divided_by_zero(
    programs: int, columns: int
) -> None:
    condition = "num_pids == 12 and N == 64 and BLOCK == 16"
    text = conditional(BY_ROWS, ("pid",), condition)
    assert conditional(text, ("pid",), condition) == text
    given = {"N": 16 * columns, "BLOCK": 16 if columns else 0}
    tiles = evaluate(parse(text), (programs, 1, 1), given, num_xcds=8)
    if (programs, columns) == (12, 4):
        assert list(tiles) == list(evaluate(parse(BY_ROWS), (12, 1, 1), given, num_xcds=8))
        assert list(tiles) != list(range(12))
    else:
        assert list(tiles) == list(range(programs))
    assert "max(" not in conditional(BY_ROWS, ("pid",), condition, True)


def test_a_divisor_of_at_least_1_needs_no_guard() -> None:
    def guarded(text: str) -> str:
        return conditional(f"{text}pid = pid % n", ("pid",), "num_pids == 8")

    assert "pid % n\n" in guarded("n = max(rows, 1)\n")
    assert "pid % max(n, 1)" in guarded("n = max(rows, 1)\nn = n - 1\n")
    assert "pid % max(n, 1)" in guarded("m = n\nn = max(m, 1)\npid = pid + n\n")
    own = conditional("num_pids = num_pids // 9\npid = pid % num_pids", ("pid",), "N == 8")
    assert "pid % max(num_pids, 1)" in own


@pytest.mark.parametrize(
    ("decisive", "expected"),
    [({"n"}, "num_pids == 16 and n == 7"), ({"n", "seed"}, None), ((), "num_pids == 16")],
)
def test_a_value_that_no_text_can_hold_is_not_tested(
    decisive: set[str], expected: str | None
) -> None:
    source = KernelSource("k", {"k": SourceFunction("k", "/k.py", 1, "def k(): pass")})
    launch = Launch("k", source, (16, 1, 1), {"n": 7, "seed": 1 << 40}, (), {}, {})
    assert recorded_condition(parse("pid = num_pids - 1 - pid"), [launch], decisive) == expected
