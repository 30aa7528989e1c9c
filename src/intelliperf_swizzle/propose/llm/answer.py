# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From the fields of an answer to a candidate; accepted as they stand or refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from intelliperf_swizzle.records import Candidate, Usage

_FENCED = re.compile(r"\s*```[^\n`]*\n(?P<inside>(?:(?!```).)*)```\s*", re.DOTALL)
"""Exactly one Markdown code fence with nothing around it: the wrapping that the prompt allows."""


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


def candidate(reply: Reply, name: str, iteration: int) -> Candidate:
    """The candidate that a reply holds; its text is what the model wrote, whatever that is.

    An answer without the asked fields becomes a candidate too, with that flaw, so that the history
    has it and the model is told.
    """
    return Candidate(
        text=swizzle_of(reply),
        name=name,
        origin="llm",
        rationale=_text(reply, "rationale"),
        critique=_critique(reply.fields.get("critiques")),
        idea=_text(reply, "idea"),
        iteration=iteration,
        usage=reply.usage,
        flaw=reply.unreadable,
    )


def swizzle_of(reply: Reply) -> str:
    """The text offered as a swizzle: the field of that name, out of its code fence if it has one.

    Where the answer has no such field, the whole answer.
    """
    offered = reply.fields.get("swizzle")
    text = reply.text if offered is None else str(offered)
    fenced = _FENCED.fullmatch(text)
    return fenced["inside"] if fenced else text


def _text(reply: Reply, field: str) -> str | None:
    value = reply.fields.get(field)
    return str(value).strip() or None if value is not None else None


def _critique(critiques: Any) -> str | None:
    if not isinstance(critiques, Mapping) or not critiques:
        return None
    return "\n".join(f"{number}: {text}" for number, text in sorted(critiques.items()))
