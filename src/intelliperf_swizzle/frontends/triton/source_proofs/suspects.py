# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Tensors whose parts say that a renumbering drops tiles, whatever else is written cleanly."""

from __future__ import annotations

from intelliperf_swizzle.frontends.triton.source_proofs.observation import Observation, Parts


def find_suspects(seen: Observation) -> tuple[Parts, ...]:
    """Parts that are accessed twice while others are left, as the program's own number would not.

    Not among them are scratch, padding and halos: what lies at the same place for all programs or
    where a digit of a number says that is right elsewhere (`Parts.plain`), what is loaded by an
    index, and what many programs load or update evenly.
    """
    return tuple(parts for parts in seen.parts or () if _is_suspect(parts))


def is_balanced(parts: Parts) -> bool:
    """Whether there are as many parts too many as there are parts left.

    Then numbers that are not remapped would take each part once. Programs of a persistent loop may
    differ by one part, and so may those that are repeated and those that are left.
    """
    wrong, left = parts.repeats + parts.outside, parts.left
    if wrong == left:
        return wrong > 0
    if parts.most - parts.least != 1 or not wrong or left <= 0:
        return False
    return parts.least * max(wrong, left) <= parts.most * min(wrong, left)


def _is_suspect(parts: Parts) -> bool:
    if parts.left <= 0 or not parts.numbered | parts.gathered:
        return False
    if parts.plain:  # whole blocks of a tensor with one for each program are no scratch
        return parts.access == "stored" and not parts.single and is_balanced(parts)
    if parts.access == "stored":
        missed = parts.outside and parts.gaps and not parts.ordered
        return bool(is_balanced(parts) or missed or parts.repeats)
    if parts.gathered or not parts.repeats:
        return False
    uneven = not parts.even and not parts.ordered and parts.least == parts.most
    return is_balanced(parts) or uneven
