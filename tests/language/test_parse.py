# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the language takes and what it refuses, with place, reason and remedy."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from intelliperf_swizzle.errors import LanguageError
from intelliperf_swizzle.language import check, parse

REFUSED = {
    "call": ("pid = foo(pid)", "1:7: `foo` cannot be called"),
    "triton call": ("pid = tl.cdiv(pid, 2)", "1:7: `tl.cdiv` cannot be called"),
    "import call": ("pid = __import__('os').system('true')", "cannot be called"),
    "float": ("pid = pid * 0.5", "1:13: a float"),
    "string": ("pid = 'a'", "1:7: a string"),
    "truth value": ("pid = True", "1:7: a truth value"),
    "attribute": ("pid = pid.real", "1:7: an attribute"),
    "index": ("pid = [1, 2][pid]", "1:7: an index"),
    "division": ("pid = pid / 2", "1:7: `/`"),
    "power": ("pid = 2 ** pid", "1:7: `**`"),
    "complement": ("pid = ~pid", "1:7: `~`"),
    "if": ("if pid > 3:\n    pid = 3", "1:1: an `if` statement"),
    "while": ("while pid: pid = 0", "1:1: a `while` loop"),
    "augmented": ("\npid += 1", "2:1: an augmented assignment"),
    "tuple": ("pid_0, pid_1 = pid_1, pid_0", "1:1: only one plain name"),
    "double": ("a = pid = 3", "1:1: only one plain name"),
    "import": ("import os\npid = 1", "1:1: an import"),
    "function": ("def f(pid):\n    return pid", "1:1: a function definition"),
    "bare expression": ("pid", "1:1: a statement that assigns nothing"),
    "loop variable": ("for i in range(3):\n    pid = pid + 1", "1:1: the only loop"),
    "loop bound": ("for _ in range(num_pids):\n    pid = pid + 1", "1:1: the only loop"),
    "no rounds": ("for _ in range(0):\n    pid = 1", "1:1: the only loop"),
    "loop else": ("for _ in range(2):\n    pid = 1\nelse:\n    pid = 2", "1:1: the only loop"),
    "endless loop": ("for _ in range(10**9):\n    pid = pid + 1", "1:1: the only loop"),
    "long loop": ("for _ in range(1000000000):\n    pid = pid + 1", "more than 4096 operations"),
    "nested loops": (
        "for _ in range(99):\n    for _ in range(99):\n        pid = 1",
        "2:5: more than 4096 operations",
    ),
    "long text": ("pid = " + "pid + " * 2000 + "1", "at most 10000 characters"),
    "long chain": ("pid = " + "pid + " * 200 + "1", "nested more than 64 deep"),
    "many operands": (f"pid = min({', '.join(['pid'] * 80)})", "nested more than 64 deep"),
    "deep": ("pid = " + "(" * 150 + "pid" + " + 1)" * 150, "nested more than 64 deep"),
    "very deep": ("pid = " + "(" * 3000 + "pid" + ")" * 3000, "too many nested parentheses"),
    "signs": ("pid = " + "-" * 9000 + "pid", "deep"),
    "doubling": ("pid = 0" + " < (1" * 30 + " < 2" + ") < 3" * 30, "more than 4096 operations"),
    "doubled divisors": ("pid = " + "cdiv(1, " * 30 + "2" + ")" * 30, "more than 4096 operations"),
    "large literal": ("pid = pid & 0xAAAAAAAA", "1:13: 2863311530 does not fit in 31 bits"),
    "huge literal": ("pid = " + "9" * 6000, "1:"),
    "huge hexadecimal": ("pid = 0x" + "f" * 6000, "an integer of 24000 bits does not fit"),
    "arity": ("pid = where(pid, 1)", "1:7: `where` takes 3 operands"),
    "keyword": ("pid = cdiv(pid, b=2)", "1:7: `cdiv` takes 2 operands"),
    "one operand": ("pid = min(pid)", "1:7: `min` takes 2 or more operands"),
    "membership": ("pid = pid in (1, 2)", "1:7: `in` is not part"),
    "and of numbers": ("pid = pid and 3", "1:7: the value of `and` between numbers"),
    "function name": ("min = 3\npid = 1", "1:1: `min` cannot be a variable"),
    "grid": ("grid_0 = 3\npid = 1", "1:1: `grid_0` is given by the launch"),
    "letter": ("pïd = 3\npid = 1", "1:1: `pïd` cannot be a variable"),
    "no output": ("tile = pid", "neither `pid` nor"),
    "empty": ("", "neither `pid` nor"),
    "two outputs": ("pid = pid_0\npid_1 = 0", "both `pid` and `pid_1`"),
    "syntax": ("pid = pid +", "1:12: invalid syntax"),
    "null": ("pid = \0 1", "null bytes"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(LanguageError) as refusal:
        parse(text)
    assert reason in refusal.value.fact


def test_what_a_swizzle_reads_and_assigns() -> None:
    swizzle = parse("width = cdiv(N, BLOCK)  # tiles\nlast = width - 1\npid_1 = last - pid_1\n")
    assert swizzle.names == {"N", "BLOCK", "pid_1"}
    assert swizzle.outputs == ("pid_1",)


def test_a_name_read_in_a_loop_before_its_assignment_there_is_an_input() -> None:
    assert parse("for _ in range(2):\n    pid = pid + a\n    a = 1").names == {"pid", "a"}


@pytest.mark.parametrize(
    ("text", "fact", "hint"),
    [
        ("pid = pid % num_xcd", "1:13: unknown name `num_xcd`", "did you mean `num_xcds`?"),
        ("pid = pid % NUM_XCDS", "1:13: unknown name `NUM_XCDS`", "did you mean `num_xcds`?"),
        ("pid = pid // stride", "1:14: unknown name `stride`", "num_pids, grid_0"),
        ("pid = M\nM = 2", "", ""),
        ("pid = width\nwidth = 3", "1:7: `width` is read before it is assigned", "there are pid"),
    ],
)
def test_unbound_names_are_refused_with_what_exists(text: str, fact: str, hint: str) -> None:
    swizzle = parse(text)
    if not fact:
        check(swizzle, ["M"])
        return
    with pytest.raises(LanguageError) as refusal:
        check(swizzle, ["M"])
    assert refusal.value.fact == fact
    assert hint in (refusal.value.hint or "")


@given(st.text(alphabet="pid_0123 =+-*/%<>()&|^~,.:\n\t'forinrangewhlmcxau#@[]{}", max_size=60))
@example("pid = 1if pid else 2")
@example("pid = '\\d'")
def test_any_text_is_read_or_refused_and_nothing_else_happens(text: str) -> None:
    try:
        swizzle = parse(text)
    except LanguageError:
        return
    assert swizzle.outputs


def test_threads_may_parse_at_the_same_time() -> None:
    lines = [f"a{n} = ((pid // {n + 1}) * 3 + (pid % 7) * {n}) % num_pids" for n in range(60)]
    text = "\n".join([*lines, "pid = a59"])

    def parse_often(_: int) -> int:
        return sum(len(parse(text).statements) for _ in range(50))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(parse_often, range(8))) == [50 * 61] * 8
    finally:
        sys.setswitchinterval(interval)
