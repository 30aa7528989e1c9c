# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In which order resident workgroups advance: round by round, some of them staying behind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from intelliperf_swizzle.records import Int32Array, Int64Array

ROUNDS = 4096
"""Rounds of the cycle; a workgroup of the kernels at hand makes 6 to 2000 accesses."""


@dataclass(frozen=True)
class Drift:
    """Which slots advance in each round of a repeating cycle.

    In a round, every resident workgroup makes its next access, in the order of its slot, unless
    it is left out; so workgroups drift apart as those of a GPU do.

    Attributes:
        turn_offset: int64[rounds + 1].
        turn_slot: int32[...]; the slots that advance in round `r` are
            `turn_slot[turn_offset[r]:turn_offset[r + 1]]`.
        first_turn: int64[domains]; where in the cycle each domain begins.
    """

    turn_offset: Int64Array
    turn_slot: Int32Array
    first_turn: Int64Array


@lru_cache(maxsize=8)
def drift(slots: int, domains: int, skip_probability: float, seed: int) -> Drift:
    """The cycle for `slots` workgroups on each of `domains` L2s.

    Args:
        slots: workgroups resident in a domain.
        domains: number of domains; each begins the cycle elsewhere.
        skip_probability: chance that a workgroup does not advance in a round; 0 is lockstep.
        seed: same seed, same cycle.
    """
    if skip_probability == 0:
        return Drift(
            np.array([0, slots], np.int64), np.arange(slots, dtype=np.int32), np.zeros(domains, int)
        )
    advances = np.random.default_rng(seed).random((ROUNDS, slots)) >= skip_probability
    rounds, turn_slot = np.nonzero(advances)
    return Drift(
        np.searchsorted(rounds, np.arange(ROUNDS + 1)).astype(np.int64),
        turn_slot.astype(np.int32),
        np.arange(domains, dtype=np.int64) * (ROUNDS // domains),
    )
