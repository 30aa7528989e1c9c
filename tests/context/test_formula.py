# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.formulas import Budgets, load_formula
from intelliperf_swizzle.propose.llm.prompt import words
from intelliperf_swizzle.rank import RANK


@pytest.mark.parametrize("name", ["swizzle", "swizzle-unaware", "swizzle-overload"])
def test_those_that_come_with_the_package(name):
    formula = load_formula(name)
    assert formula.name == name
    assert formula.rank == RANK
    assert formula.memory_analysis
    assert all(words(formula, part) for part in formula.prompts)


def test_what_distinguishes_the_three():
    aware, unaware, overload = map(load_formula, ("swizzle", "swizzle-unaware", "swizzle-overload"))
    hardware = {"locality", "target", "dispatch", "everything"}
    assert hardware & set(aware.context) == {"locality", "target", "dispatch"}
    assert not hardware & set(unaware.context)
    assert hardware & set(overload.context) == {"everything"}
    assert unaware.counters == ("l2_hit_rate",)


def test_a_formula_of_ones_own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("context: [source]\nrank: [time, l2_hit_rate]\nbudgets: {tokens: 5}\n")
    formula = load_formula(path)
    assert (formula.name, formula.context, formula.rank) == (
        "mine",
        ("source",),
        ("time", "l2_hit_rate"),
    )
    assert formula.budgets == Budgets(tokens=5)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("- 1", "a mapping is expected"),
        ("a: [", "not YAML"),
        ("colour: red", "colour: unknown field"),
        ("context: [weather]", "context: there is no `weather`"),
        ("context: []", "context: it is empty"),
        ("counters: [luck]", "counters: there is no `luck`"),
        ("rank: [beauty]", "rank: there is no `beauty`"),
        ("rank: 3", "rank: expected list, got int"),
        ("memory_analysis: 1", "memory_analysis: expected bool, got int"),
        ("temperature: hot", "temperature: expected float, got str"),
        ("budgets: {tokens: many}", "budgets.tokens: expected int, got str"),
        ("budgets: {money: 3}", "budgets.money: unknown field"),
        ("prompts: {poem: a.md}", "prompts: there is no `poem`"),
        ("documents: missing.txt", "there is no file"),
    ],
)
def test_a_mistake_is_named(tmp_path, content, says):
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    with pytest.raises(UsageError) as refused:
        load_formula(path)
    assert says in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_prompt_that_does_not_exist(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("prompts: {task: nowhere.md}")
    with pytest.raises(UsageError, match=r"nowhere\.md"):
        words(load_formula(path), "task")


def test_an_unknown_name():
    with pytest.raises(UsageError, match="no formula is called `swizle`"):
        load_formula("swizle")
