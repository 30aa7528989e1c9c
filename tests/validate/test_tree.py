# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The tree check allows an inserted block and program ids from it, and nothing else."""

from __future__ import annotations

import pytest

from intelliperf_swizzle.frontends.triton.validate import same_tree
from intelliperf_swizzle.frontends.triton.validate.tree import (
    Difference,
    Insertion,
    reads_program_id,
)
from intelliperf_swizzle.records import SourceFunction

ORIGINAL = """\
@triton.jit
def k(x, n, B: tl.constexpr):
    at = tl.arange(0, B)
    row, column = tl.program_id(0), tl.program_id(axis=1)
    if column < n:
        tl.store(x + row * n + at, column, mask=at < n)
"""
BLOCK = """\
    z_0 = tl.program_id(0)
    z_1 = tl.program_id(1)
    z_0 = tl.num_programs(0) - 1 - z_0
"""
EDITED = ORIGINAL.replace("    row, column", BLOCK + "    row, column").replace(
    "= tl.program_id(0), tl.program_id(axis=1)", "= z_0, z_1"
)


def function(text: str = ORIGINAL) -> SourceFunction:
    return SourceFunction("k", "/app.py", 1, text, names={"tl": ("module", "triton.language")})


def test_an_edit_is_an_insertion_with_its_outputs() -> None:
    insertion = same_tree(function(), EDITED)
    assert isinstance(insertion, Insertion)
    assert insertion.outputs == {0: "z_0", 1: "z_1"}
    assert len(insertion.statements) == 3


def test_comments_and_spacing_are_no_difference() -> None:
    text = EDITED.replace("at = tl.arange(0, B)", "at  =  tl.arange( 0,B )  # columns")
    assert isinstance(same_tree(function(), text), Insertion)


def test_a_named_axis() -> None:
    original = function(ORIGINAL.replace("tl.program_id(0)", "tl.program_id(B)"))
    assert isinstance(same_tree(original, EDITED, {"B": 0}), Insertion)
    assert isinstance(same_tree(original, EDITED), Difference)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("at < n)", "at <= n)", "became"),
        ("if column < n:", "if column < n + 1:", "became"),
        ("row * n", "row * B", "`n` became `B`"),
        ("= z_0, z_1", "= z_0, z_0", "two axes"),
        ("= z_0, z_1", "= tl.program_id(0), z_1", "still read"),
        ("= z_0, z_1", "= z_0 + 0, z_1", "became"),
        ("    z_0 = tl.num", "    tl.store(x, 1)\n    z_0 = tl.num", "contains `tl.store(x, 1)`"),
        ("tl.num_programs(0)", "tl.load(x)", "calls `tl.load`"),
        ("    z_1 = tl.program_id(1)\n", "    z_1 = tl.program_id(1)\n    n = 1\n", "own ['n']"),
        ("    z_1 = tl.program_id(1)\n", "    z_1 = x[0]\n", "contains `x[0]`"),
        ("    z_1 = tl.program_id(1)\n", "    if n:\n        z_1 = 0\n", "contains `if n:`"),
        ("        tl.store", "        z_2 = 1\n        tl.store", "numbers of statements"),
        ("tl.store(x +", "tl.store(z_0 +", "became"),
        ("@triton.jit\n", "@triton.jit\n@other\n", "numbers of statements"),
        ("B: tl.constexpr", "B", "became"),
    ],
)
def test_refused(old: str, new: str, reason: str) -> None:
    assert old in EDITED
    outcome = same_tree(function(), EDITED.replace(old, new))
    assert isinstance(outcome, Difference)
    assert reason in outcome.reason


def test_a_program_id_that_is_looked_up_by_a_string_is_refused() -> None:
    hidden = [
        text.replace("if column", 'if getattr(tl, "program_id")(1) + column')
        for text in (ORIGINAL, EDITED)
    ]
    outcome = same_tree(function(hidden[0]), hidden[1])
    assert isinstance(outcome, Difference)
    assert "by a string" in outcome.reason
    assert reads_program_id(function("def k(x):\n    return getattr(tl, 'program_id')(0)\n"))


def test_an_unchanged_function_holds_no_swizzle() -> None:
    assert isinstance(same_tree(function(), ORIGINAL), Difference)


def test_an_argument_that_changed_before_the_block_reads_it_is_refused() -> None:
    block = "    n = n // 2\n"
    original = ORIGINAL.replace("    at =", block + "    at =")
    edited = EDITED.replace("    at =", block + "    at =").replace("- 1 - z_0", "- n - z_0")
    outcome = same_tree(function(original), edited)
    assert isinstance(outcome, Difference)
    assert "['n'] after a change" in outcome.reason
