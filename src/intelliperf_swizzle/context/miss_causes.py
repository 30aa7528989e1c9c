# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Why L2 requests miss, in words that people and language models read alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from intelliperf_swizzle.records import MissCauses

CLASSES: Mapping[str, str] = {
    "other_domain": "another {}",
    "capacity": "capacity",
    "conflict": "conflict",
    "compulsory": "compulsory",
}
"""The classes of `MissCauses`, and how they are called; `{}` is what the target calls a domain."""

MOST_TENSORS = 4
"""Tensors that are told of one by one, those with the most misses; a kernel has two or three."""


def total(causes: Sequence[MissCauses]) -> dict[str, int]:
    """The misses of each class, over all tensors."""
    return {name: sum(getattr(one, name) for one in causes) for name in CLASSES}


def of_hundred(counts: Mapping[str, int], requests: int) -> dict[str, int]:
    """The counts per hundred requests, in whole numbers whose sum is that of the counts, rounded.

    What is below one half may become 0 or 1, so that they add up (largest remainder).
    """
    exact = {name: 100 * count / max(1, requests) for name, count in counts.items()}
    whole = {name: int(value) for name, value in exact.items()}
    left = round(sum(exact.values())) - sum(whole.values())
    for name in sorted(exact, key=lambda one: whole[one] - exact[one])[: max(0, left)]:
        whole[name] += 1
    return whole


def describe_causes(causes: Sequence[MissCauses], domain_name: str = "L2") -> str:
    """`60 of 100 requests miss: 41 another XCD, 12 capacity, 7 compulsory; mostly B`."""
    requests = sum(one.requests for one in causes)
    counts = of_hundred(total(causes), requests)
    missed = sum(counts.values())
    if not missed:
        return "fewer than 1 of 100 requests miss"
    return f"{missed} of 100 requests miss: {_classes(counts, domain_name)}{_mostly(causes)}"


def _classes(counts: Mapping[str, int], domain_name: str) -> str:
    """Those that are not 0, the largest first."""
    largest = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{n} {CLASSES[name].format(domain_name)}" for name, n in largest if n)


def _mostly(causes: Sequence[MissCauses]) -> str:
    """Whose misses most of them are: one tensor's three fifths, or two tensors' four."""
    misses = sum(one.misses for one in causes)
    for number, share in ((1, 0.6), (2, 0.8)):
        leading = causes[:number]
        if len(causes) > number and sum(one.misses for one in leading) >= share * misses:
            return f"; mostly {' and '.join(', '.join(one.names) for one in leading)}"
    return ""


def describe_tensors(causes: Sequence[MissCauses], domain_name: str = "L2") -> str:
    """The same with what each tensor has of it: `…; A 41 (40 another XCD, 1 compulsory), …`."""
    requests = sum(one.requests for one in causes)
    told: list[str] = []
    for one in causes[:MOST_TENSORS]:
        counts = of_hundred(total([one]), requests)
        missed = sum(counts.values())
        if missed and len(causes) > 1:
            told.append(f"{', '.join(one.names)} {missed} ({_classes(counts, domain_name)})")
    return "; ".join([describe_causes(causes, domain_name), *told])
