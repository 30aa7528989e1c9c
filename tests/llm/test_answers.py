# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is kept of an answer that is not text, or too long."""

from __future__ import annotations

import pytest

from intelliperf_swizzle.propose.llm.prompt import KEPT_CHARACTERS, Reply, candidate
from intelliperf_swizzle.records import Usage


@pytest.mark.parametrize(
    ("odd", "shown"),
    [("\ud800", "\\ud800"), ("\0", "\\x00"), ("\x1b[2J", "\\x1b"), ("\x7f", "\\x7f")],
)
@pytest.mark.parametrize("field", ["swizzle", "idea", "rationale"])
def test_an_answer_that_is_no_text_is_refused_with_its_place(
    odd: str, shown: str, field: str
) -> None:
    fields = {"swizzle": "pid = pid", "idea": "an idea", "rationale": "because"}
    fields[field] += f" # {odd}"
    made = candidate(Reply(fields, "", None, Usage()), "llm 1", 1)
    assert made.flaw is not None
    assert f"`{field}` is not text: '{shown}" in made.flaw
    kept = "".join(filter(None, (made.text, made.idea, made.rationale)))
    assert shown in kept
    assert odd not in kept
    kept.encode()


def test_what_is_refused_for_length_is_not_kept_whole() -> None:
    long = dict.fromkeys(("swizzle", "idea", "rationale"), "é" * 10**6)
    reply = Reply({**long, "critiques": '{"1": "' + "é" * 10**6 + '"}'}, "", None, Usage())
    made = candidate(reply, "llm 1", 1)
    assert made.flaw == "a swizzle has at most 10000 characters, this one has 1000000"
    for text in (made.text, made.idea, made.rationale, made.critique):
        assert text is not None
        assert text.startswith(("é", "1: é"))
        assert len(text) < KEPT_CHARACTERS + 50
    whole = Reply({}, "x" * 10**7, "the answer lacks swizzle", Usage())
    assert len(candidate(whole, "llm 1", 1).text) < KEPT_CHARACTERS + 50
