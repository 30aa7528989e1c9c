# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Atomic updates carried out on memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from intelliperf_swizzle.frontends.triton.walk.elements import Array, Element
from intelliperf_swizzle.frontends.triton.walk.memory import Lanes, Memory
from intelliperf_swizzle.records import Int64Array


def _unsigned(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def on_bits(left: Array, right: Array) -> Array:
        bits = f"u{left.dtype.itemsize}"
        return function(left.view(bits), right.view(bits)).view(left.dtype)

    return on_bits


_NEW: Mapping[str, Callable[[Array, Array], Array]] = {
    "atomic_add": np.add, "atomic_fadd": np.add, "atomic_and": np.bitwise_and,
    "atomic_or": np.bitwise_or, "atomic_xor": np.bitwise_xor, "atomic_max": np.maximum,
    "atomic_min": np.minimum, "atomic_umax": _unsigned(np.maximum),
    "atomic_umin": _unsigned(np.minimum), "atomic_exch": lambda old, new: new,
    "atomic_xchg": lambda old, new: new,
}  # fmt: skip


def update_words(
    memory: Memory,
    operation: str,
    addresses: Int64Array,
    lanes: Lanes,
    values: Sequence[Array],
    element: Element,
) -> tuple[Array, bool]:
    """Updates words in the order of the lanes; lanes of one word follow each other.

    Returns:
        What each lane found, zero where it is not active, and whether all of that was known.
    """
    found = np.zeros(addresses.shape, element.array)
    active = np.flatnonzero(lanes)
    words = addresses.reshape(-1)[active]
    given = [np.broadcast_to(v, addresses.shape).reshape(-1)[active] for v in values]
    turn = _turns(words)
    known = True
    for number in range(int(turn.max(initial=-1)) + 1):  # each word once in a turn
        now = turn == number
        everywhere = np.ones(int(now.sum()), np.bool_)
        zero = np.zeros(1, element.array)
        old, missing = memory.read(words[now], everywhere, zero, element)
        if operation == "atomic_cas":
            new = np.where(old == given[0][now], given[1][now], old)
        else:
            new = _NEW[operation](old, given[0][now].astype(element.array))
        known = known and not missing
        memory.write(words[now], everywhere, new, element, known)
        found.reshape(-1)[active[now]] = old
    return found, known


def _turns(words: Int64Array) -> Int64Array:
    """How many lanes before each one have the same word."""
    order = np.argsort(words, kind="stable")
    ordered = words[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    turn = np.empty(len(words), np.int64)
    sizes = np.diff(np.append(begins, len(words)))
    turn[order] = np.arange(len(words)) - np.repeat(begins, sizes)
    return turn
