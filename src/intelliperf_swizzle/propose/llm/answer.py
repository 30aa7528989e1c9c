# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From the fields of an answer to a candidate; accepted as they stand or refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from intelliperf_swizzle.codec import loads
from intelliperf_swizzle.errors import LanguageError, RecordError
from intelliperf_swizzle.language import MAX_CHARACTERS, Family, parse_family
from intelliperf_swizzle.propose.llm.prompt import NOTHING_HELPS
from intelliperf_swizzle.records import Candidate, Usage

_FENCED = re.compile(r"\s*```[^\n`]*\n(?P<inside>(?:(?!```).)*)```\s*", re.DOTALL)
"""Exactly one Markdown code fence with nothing around it: the wrapping that the prompt allows."""


_NO_TEXT = re.compile(r"[\ud800-\udfff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Lone surrogates and control characters: files cannot hold them, terminals obey them."""

LONGEST_REASON = 300
"""Characters of a reason that are kept."""
KEPT_CHARACTERS = 2000
"""Of a refused text and of each explanation; the history of a run stays small."""


@dataclass(frozen=True)
class Reply:
    """What came back from a call.

    Attributes:
        fields: of the answer, by name; empty where it could not be read.
        text: the answer as it came.
        unreadable: why it could not be read, None where it could.
        usage: what the call took.
    """

    fields: Mapping[str, Any]
    text: str
    unreadable: str | None
    usage: Usage


@dataclass(frozen=True)
class FamilyMember:
    """A candidate with the family that it belongs to, and its values there.

    A single swizzle is the only member of a family without parameters.
    """

    candidate: Candidate
    family: Family
    values: Mapping[str, int]

    def sibling(self, values: Mapping[str, int]) -> FamilyMember:
        """The member of the same family with other values, be they listed in the answer or not."""
        answer = self.candidate.family or ""
        candidate = Candidate(
            text=self.family.text(values),
            name=_named(answer, values),
            origin="llm",
            iteration=self.candidate.iteration,
            family=answer,
        )
        return FamilyMember(candidate, self.family, values)


class RefusedAnswerError(Exception):
    """What an endpoint sends is not taken, and will not be the next time."""


class LateAnswerError(RefusedAnswerError):
    """An endpoint takes longer to send an answer than it may."""


def candidate(reply: Reply, name: str, iteration: int) -> Candidate:
    """The candidate that a reply holds; its text is what the model wrote, whatever that is.

    An answer that lacks fields, is too long or is no text becomes a candidate too, with that flaw,
    so that the history has its beginning and the model is told.
    """
    text = swizzle_of(reply)
    explained = {
        "rationale": _text(reply, "rationale"),
        "critique": _critique(_text(reply, "critiques")),
        "idea": _text(reply, "idea"),
        "advice": _text(reply, "advice"),
    }
    flaw = reply.unreadable or _flaw({"swizzle": text, **explained})
    return Candidate(
        text=text if flaw is None else _beginning(text),
        name=name,
        origin="llm",
        iteration=iteration,
        usage=reply.usage,
        flaw=flaw,
        **{name: value and _beginning(value) for name, value in explained.items()},
    )


def no_swizzle_helps(reply: Reply) -> str | None:
    """The reason why no renumbering helps, if a model says that none does; else None."""
    if reply.unreadable or swizzle_of(reply).strip(" .`\n").lower() != NOTHING_HELPS:
        return None
    reason = " ".join((_text(reply, "rationale") or "no reason given").split()).replace("`", "'")
    return _beginning(reason)[:LONGEST_REASON]


def members(answer: Candidate) -> list[FamilyMember]:
    """The candidates that an answer stands for: itself, or each member of its family."""
    if answer.flaw is not None:
        return [FamilyMember(answer, Family({}, ""), {})]
    try:
        family = parse_family(answer.text)
    except LanguageError as error:
        return members(replace(answer, text=_beginning(answer.text), flaw=str(error)))
    if not family.parameters:
        return [FamilyMember(answer, family, {})]
    values, *others = family.members()
    name = _named(answer.name, values)
    told = replace(answer, text=family.text(values), name=name, family=answer.name)
    first = FamilyMember(told, family, values)
    return [first, *(first.sibling(other) for other in others)]


def _named(answer: str, values: Mapping[str, int]) -> str:
    return " ".join([answer, *(f"{name}={value}" for name, value in values.items())])


def swizzle_of(reply: Reply) -> str:
    """The text offered as a swizzle: the field of that name, out of its code fence if it has one.

    Where the answer has no such field, the whole answer.
    """
    offered = reply.fields.get("swizzle")
    text = reply.text if offered is None else str(offered)
    fenced = _FENCED.fullmatch(text) if len(text) <= 2 * MAX_CHARACTERS else None
    return fenced["inside"] if fenced else text


def _flaw(texts: Mapping[str, str | None]) -> str | None:
    """Why an answer cannot be kept as it stands."""
    for field, text in texts.items():
        odd = _NO_TEXT.search(text or "")
        if odd:
            return f"`{field}` is no text: {odd[0]!a} at {odd.start()}"
    offered = texts["swizzle"] or ""
    fences = offered.count("```") // 2
    if fences:
        around = f"has {fences} code fences" if fences > 1 else "has text around its code fence"
        return f"the swizzle {around}: give the statements alone, or in exactly one fence"
    if len(offered) > MAX_CHARACTERS:
        return f"a swizzle has at most {MAX_CHARACTERS} characters, this one has {len(offered)}"
    return None


def _beginning(text: str) -> str:
    """As much of a text as is kept; what is no text is escaped."""
    kept = _NO_TEXT.sub(lambda odd: ascii(odd[0])[1:-1], text[:KEPT_CHARACTERS])
    return kept if len(text) <= KEPT_CHARACTERS else f"{kept} … ({len(text)} characters)"


def _text(reply: Reply, field: str) -> str | None:
    value = reply.fields.get(field)
    return str(value).strip() or None if value is not None else None


def _critique(written: str | None) -> str | None:
    """A line for each attempt of a JSON object; what is none is kept as it stands."""
    try:
        critiques = loads(written or "{}")
    except RecordError:
        return written
    if not isinstance(critiques, dict):
        return written
    return "\n".join(f"{number}: {text}" for number, text in critiques.items()) or None
