# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Our own kernels, for the application's process: one pass over memory each.

Whether inputs changed is told by a sum over all words of a bijective mix of word and place: any
write that changes a byte changes it, up to a chance of 2⁻⁶⁴.
"""

from __future__ import annotations

import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def _mixed(word, place):  # type: ignore[no-untyped-def]
    """A bijection of 64-bit words (the finaliser of MurmurHash3), another one at each place."""
    word = word.to(tl.uint64, bitcast=True) ^ (place.to(tl.uint64) * 0x9E3779B97F4A7C15)
    word = (word ^ (word >> 33)) * 0xFF51AFD7ED558CCD
    word = (word ^ (word >> 33)) * 0xC4CEB9FE1A85EC53
    return (word ^ (word >> 33)).to(tl.int64, bitcast=True)


@triton.jit  # type: ignore[untyped-decorator]
def digest_kernel(words, count, sums, size: tl.constexpr):  # type: ignore[no-untyped-def]
    """Stores the sum of each block's mixed words."""
    place = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    word = tl.load(words + place, mask=place < count, other=0)
    mixed = tl.where(place < count, _mixed(word, place), 0)
    tl.store(sums + tl.program_id(0), tl.sum(mixed, axis=0))


@triton.jit  # type: ignore[untyped-decorator]
def poison_kernel(words, count, size: tl.constexpr):  # type: ignore[no-untyped-def]
    """Fills memory with words that no program would leave there."""
    place = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    tl.store(words + place, _mixed(place, place + 1), mask=place < count)
