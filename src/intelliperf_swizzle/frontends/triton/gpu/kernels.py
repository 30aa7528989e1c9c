# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Our own kernels, for the application's process: one pass over memory each.

Memory is worked on in whole 64-bit words; the first program takes the few bytes behind them, too.

Whether inputs changed is told by a sum over all words of a bijective mix of word and place: any
write that changes a byte changes it, up to a chance of 2⁻⁶⁴.
"""

from __future__ import annotations

import triton
import triton.language as tl

BLOCK = 4096

# One compiled kernel serves memory of any length: a validation is not charged for compiling.
_any_length = triton.jit(
    do_not_specialize=["words", "rest"], do_not_specialize_on_alignment=["found"]
)


@triton.jit
def _mixed(word, place):
    """A bijection of 64-bit words (the finaliser of MurmurHash3), another one at each place."""
    word = word.to(tl.uint64, bitcast=True) ^ (place.to(tl.uint64) * 0x9E3779B97F4A7C15)
    word = (word ^ (word >> 33)) * 0xFF51AFD7ED558CCD
    word = (word ^ (word >> 33)) * 0xC4CEB9FE1A85EC53
    return (word ^ (word >> 33)).to(tl.int64, bitcast=True)


@triton.jit
def _rest(words, rest):
    """Places of the bytes behind the words, and whether they are there: for the first program."""
    byte = tl.arange(0, 8)
    return words.to(tl.int64) * 8 + byte, byte < tl.where(tl.program_id(0) == 0, rest, 0)


@_any_length
def digest_kernel(memory, bytes_, words, rest, found, size: tl.constexpr):
    """Adds up the mixed words."""
    place = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    inside = place < words
    mixed = tl.where(inside, _mixed(tl.load(memory + place, mask=inside, other=0), place), 0)
    last, behind = _rest(words, rest)
    byte = tl.load(bytes_ + last, mask=behind, other=0).to(tl.int64)
    mixed_rest = tl.where(behind, _mixed(byte, last), 0)
    tl.atomic_add(found, tl.sum(mixed, axis=0) + tl.sum(mixed_rest, axis=0))


@_any_length
def poison_kernel(memory, bytes_, words, rest, size: tl.constexpr):
    """Fills memory with words that no program would leave there."""
    place = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    tl.store(memory + place, _mixed(place, place + 1), mask=place < words)
    last, behind = _rest(words, rest)
    tl.store(bytes_ + last, _mixed(last, last + 1).to(tl.uint8), mask=behind)


@_any_length
def differing_kernel(memory, bytes_, other, other_bytes, words, rest, found, size: tl.constexpr):
    """Counts the words that differ, and the bytes behind them."""
    place = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    inside = place < words
    one = tl.load(memory + place, mask=inside, other=0)
    two = tl.load(other + place, mask=inside, other=0)
    last, behind = _rest(words, rest)
    one_byte = tl.load(bytes_ + last, mask=behind, other=0)
    two_byte = tl.load(other_bytes + last, mask=behind, other=0)
    differing = tl.sum((one != two).to(tl.int64), axis=0)
    differing += tl.sum((one_byte != two_byte).to(tl.int64), axis=0)
    if differing > 0:
        tl.atomic_add(found, differing)
