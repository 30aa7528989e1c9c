# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Families: every member is a swizzle; anything else is refused once, with place and remedy."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.errors import LanguageError
from intelliperf_swizzle.language import evaluate, parse, parse_family
from intelliperf_swizzle.language.grammar import MAX_CHARACTERS, MAX_MEMBERS

ROOT = Path(__file__).parents[2]
PROMPT = ROOT / "src" / "intelliperf_swizzle" / "propose" / "llm" / "prompts" / "language.md"


def test_members_are_all_choices_of_the_values_and_keep_the_lines_of_the_text() -> None:
    text = "w in 4, 6  # é\r\nstep in range(1, 4, 2)\nrow = pid // w\npid = row * w + step"
    family = parse_family(text)
    assert family.parameters == {"w": (4, 6), "step": (1, 3)}
    texts = [family.text(values) for values in family.members()]
    assert texts[1].splitlines() == ["w = 4", "step = 3", "row = pid // w", "pid = row * w + step"]
    assert [parse(source).statements[3].place for source in texts] == [(4, 1)] * 4
    assert len({parse(source).statements[:2] for source in texts}) == 4
    one = "w in 2; x = w\npid = pid * x"
    assert parse_family(one).text({"w": 2}) == "w = 2; x = w\npid = pid * x"


def test_a_swizzle_without_parameters_is_its_own_family() -> None:
    text = "# runs\npid = num_pids - 1 - pid"
    family = parse_family(text)
    assert [family.text(values) for values in family.members()] == [text]
    assert parse_family("pid = pid in 4").parameters == {}


@pytest.mark.parametrize("page", [PROMPT, ROOT / "docs" / "language.md"], ids=lambda p: p.name)
def test_the_example_of_the_page_is_a_family_of_permutations(page: Path) -> None:
    [example] = re.findall(r"(?m)^ *w in .*\n(?: *\w+ = .*\n)+", page.read_text())
    family = parse_family(re.sub("(?m)^ +", "", example))
    for values in family.members():
        tile = evaluate(parse(family.text(values)), (61, 3, 1), {}, num_xcds=8, cus_per_xcd=38)
        assert np.array_equal(np.sort(tile), np.arange(183))
    assert f"{MAX_MEMBERS}" in page.read_text()


@pytest.mark.parametrize(
    ("text", "place", "fact"),
    [
        ("w in range(1000000000)\npid = pid + w", "", "64 members, this one has 1000000000"),
        ("w in range(9)\nv in range(9)\npid = w + v", "", "64 members, this one has 81"),
        ("pid in 1, 2\npid = pid", "1:1", "`pid` is given by the launch"),
        ("num_xcds in 4, 8\npid = pid % num_xcds", "1:1", "`num_xcds` is given by the launch"),
        ("min in 4, 8\npid = min", "1:1", "`min` cannot be a variable"),
        ("w in range(8, 4)\npid = pid + w", "1:6", "`range(8, 4)` has no values"),
        ("w in range(1, 2, 0)\npid = pid + w", "1:6", "`range` takes one to three integers"),
        ("w in ()\npid = pid + w", "1:6", "the values of a parameter are integers"),
        ("w in 4, (6, 8)\npid = pid + w", "1:9", "the values of a parameter are integers"),
        ("w in [4, 8]\npid = pid + w", "1:6", "the values of a parameter are integers"),
        ("w in -1, 2\npid = pid + w", "1:6", "the values of a parameter are integers"),
        ("w in 4, v in 5\npid = w + v", "1:9", "the values of a parameter are integers"),
        ("w in 4.5, 2\npid = pid + w", "1:6", "a float is not an integer"),
        ("w in 4, 9999999999999\npid = pid + w", "1:9", "9999999999999 does not fit in 31 bits"),
        ("w, v in 4, 5\npid = w + v", "1:1", "a parameter is one name with its values"),
        ("w in 4 in 5\npid = pid + w", "1:1", "a parameter is one name with its values"),
        ("w in 4\nw in 8\npid = pid + w", "2:1", "`w` already has values"),
        ("w in 4, 8\npid = pid", "1:1", "no statement reads the parameter `w`"),
        ("w in 4, 8\nw = 2\npid = w", "1:1", "no statement reads the parameter `w`"),
        ("w in 4, 8\nfor _ in range(w):\n    pid = pid", "2:1", "the only loop is"),
        ("w in 4, 8\npid = pid / w", "2:7", "`/` is not part of the swizzle language"),
        ("w in 4, 8", "", "neither `pid` nor `pid_0`"),
        ("w in 4\n" + "#" * MAX_CHARACTERS, "", "a swizzle has at most 10000 characters"),
        (f"w in range(64)\n#{'é' * 9000}\npid = w", "", "have at most 100000 characters together"),
    ],
)
def test_what_is_no_family_is_refused_with_one_reason(text: str, place: str, fact: str) -> None:
    with pytest.raises(LanguageError) as refused:
        parse_family(text)
    assert refused.value.fact.startswith(place)
    assert fact in refused.value.fact
    assert refused.value.hint


def test_a_parameter_after_the_statements_is_refused() -> None:
    for text in ("pid = pid\nw in 4, 8", "w in 4, 8\npid = pid + w"):
        with pytest.raises(LanguageError, match="only a family has a parameter"):
            parse(text)
