# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a kernel calls the factors of its number of tiles."""

from __future__ import annotations

import ast
import textwrap

import numpy as np
import pytest

from intelliperf_swizzle.frontends.triton.source.reads import find_factors
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.language.syntax import Assignment, Expression
from intelliperf_swizzle.records import TileLoop

KERNEL = """
def kernel(M, N, BM, BN, num_pids):
    rows = tl.cdiv(M, BM); cols = tl.cdiv(N, BN)
    tiles = rows * cols
    {before}
    for tile in range(tl.program_id(0), {count}, 132):
        {inside}
"""
ROWS, COLS = "cdiv(M, BM)", "cdiv(N, BN)"


def value(text: str) -> Expression:
    statement = parse(f"factor = {text}\npid = pid").statements[0]
    assert isinstance(statement, Assignment)
    return statement.value


@pytest.mark.parametrize(
    ("before", "count", "inside", "found"),
    [
        ("pass", "tiles", "pass", {"rows": ROWS, "cols": COLS}),
        ("pass", "cols * rows", "pass", {"rows": ROWS, "cols": COLS}),
        ("wide = tl.load(M)", "rows * wide", "pass", {"rows": ROWS, "wide": None}),
        ("wide = num_pids + 1", "rows * wide", "pass", {"rows": ROWS, "wide": None}),
        ("pass", "tiles + 1", "pass", {}),
        ("pass", "rows * BN", "pass", {"rows": ROWS, "BN": "BN"}),
        ("BN += 1", "rows * BN", "pass", {}),
        ("pass", "rows * 4", "pass", {}),
        ("pass", "rows * rows", "pass", {}),
        ("pass", "tiles", "rows = 3", {}),
        ("cols += 1", "tiles", "pass", {}),
        ("if M: wide = 3", "rows * wide", "pass", {}),
        ("pass", "rows * wide", "wide = 3", {}),
        ("pass", "tiles", "tiles = 3", {}),
    ],
)
def test_factors_are_names_assigned_once_before_the_loop(
    before: str, count: str, inside: str, found: dict[str, str | None]
) -> None:
    text = KERNEL.format(before=before, count=count, inside=inside)
    [tree] = ast.parse(textwrap.dedent(text)).body
    assert isinstance(tree, ast.FunctionDef)
    none = np.zeros(0, np.int32)
    loop = TileLoop(6, count, (), none, none)
    expected = {name: text and value(text) for name, text in found.items()}
    assert find_factors(tree, loop) == expected
    assert not find_factors(tree, TileLoop(6, count, (), none, none, read_from=("sizes",)))
