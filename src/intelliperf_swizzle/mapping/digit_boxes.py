# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Sets of numbers that are sums of weighted digits, and several of them as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from intelliperf_swizzle.mapping.polynomial import Polynomial, number


class NotProvedError(Exception):
    """Not decided; which is no proof of the contrary."""


@dataclass(frozen=True)
class Box:
    """`first + Σ digit * weight`, each digit from 0 to below its extent; the digits sorted."""

    first: Polynomial
    digits: tuple[tuple[Polynomial, Polynomial], ...]


Digits = tuple[tuple[Polynomial, Polynomial], ...]


def fuse(digits: Iterable[tuple[Polynomial, Polynomial]]) -> Digits:
    """Digits of which one goes on where another one ends, as one."""
    left = sorted(digits, key=lambda one: (one[0].terms, one[1].terms))
    for slow in left:
        for fast in left:
            if slow is not fast and slow[0] == fast[0] * fast[1]:
                others = [one for one in left if one is not slow and one is not fast]
                return fuse([*others, (fast[0], fast[1] * slow[1])])
    return tuple(left)


def join(boxes: Sequence[Box]) -> Box | None:
    """Boxes that lie beside each other as one; None if there are none.

    Raises:
        NotProvedError: they do not.
    """
    names = sorted({one for box in boxes for part in (box.first, *sum(box.digits, ()))
                    for one in part.symbols})  # fmt: skip
    sample = {name: 1009 + 131 * at for at, name in enumerate(names)}
    left = sorted(boxes, key=lambda box: box.first(sample))
    while len(left) > 1:
        joined = _join_two(left, sample)
        if joined is None:
            raise NotProvedError("the boxes of values do not join")
        left = sorted(joined, key=lambda box: box.first(sample))
    return left[0] if left else None


def _join_two(boxes: Sequence[Box], sample: Mapping[str, int]) -> list[Box] | None:
    """One box fewer: two of which one goes on where the other one ends."""
    starts: dict[Polynomial, list[Box]] = {}
    for box in boxes:
        starts.setdefault(box.first, []).append(box)
    alike: list[tuple[int, Box, Box]] = []
    last: dict[Digits, Box] = {}
    for box in boxes:
        if (before := last.get(box.digits)) is not None:
            alike.append(((box.first - before.first)(sample), before, box))
        last[box.digits] = box
    for box in boxes:
        for digit in box.digits:
            others = [one for one in box.digits if one is not digit]
            for next_box in starts.get(box.first + digit[0] * digit[1], ()):
                if next_box is not box and (more := _times(next_box, others, digit[0])):
                    whole = Box(box.first, fuse([*others, (digit[0], digit[1] + more)]))
                    return [whole, *(one for one in boxes if one not in (box, next_box))]
        for other in boxes:
            for digit in other.digits if other is not box else ():
                others = [one for one in other.digits if one is not digit]
                beside = other.first == box.first + digit[0]
                if beside and _times(box, others, digit[0]) == number(1):
                    whole = Box(box.first, fuse([*others, (digit[0], digit[1] + 1)]))
                    return [whole, *(one for one in boxes if one not in (box, other))]
    for _, one, two in sorted(alike, key=lambda item: item[0]):
        whole = Box(one.first, fuse([*one.digits, (two.first - one.first, number(2))]))
        return [whole, *(box for box in boxes if box not in (one, two))]
    return None


def _times(
    box: Box, others: Sequence[tuple[Polynomial, Polynomial]], weight: Polynomial
) -> Polynomial | None:
    """How many of a weight a box has besides other digits; None if it has not these."""
    left = [*box.digits]
    for one in others:
        if one not in left:
            return None
        left.remove(one)
    if not left:
        return number(1)
    return left[0][1] if len(left) == 1 and left[0][0] == weight else None
