# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: what is done to the memory of a launch, at memory speed.

Memory is a tensor of bytes; whole 64-bit words of it are worked on, and the few bytes behind them
on their own.
"""

from __future__ import annotations

from typing import Any

import torch

from intelliperf_swizzle.gpu.kernels import BLOCK, digest_kernel, poison_kernel

_CHUNK_WORDS = 8 << 20
"""Words compared at a time; a comparison makes a byte for each."""
_POISON = 0xA5


def digest(memory: Any) -> tuple[int, bytes]:
    """Equal for equal contents; other ones have the same by a chance of 2⁻⁶⁴. One pass."""
    words, tail = _words(memory)
    blocks = -(-len(words) // BLOCK)
    total = 0
    if blocks:
        sums = torch.empty(blocks, dtype=torch.int64, device=memory.device)
        digest_kernel[(blocks,)](words, len(words), sums, size=BLOCK)
        total = int(sums.sum())
    return total, bytes(tail.tolist())


def poison(memory: Any) -> None:
    """Fills memory with the same odd words each time. One pass."""
    words, tail = _words(memory)
    if len(words):
        poison_kernel[(-(-len(words) // BLOCK),)](words, len(words), size=BLOCK)
    tail.fill_(_POISON)


def first_difference(memory: Any, expected: Any) -> tuple[int, int] | None:
    """Place of the first byte that differs, and how many do; None if none does. One pass."""
    first, count = None, 0
    for start in range(0, max(1, len(memory)), 8 * _CHUNK_WORDS):
        part = memory[start : start + 8 * _CHUNK_WORDS]
        other = expected[start : start + 8 * _CHUNK_WORDS]
        (words, tail), (other_words, other_tail) = _words(part), _words(other)
        if torch.equal(words, other_words) and torch.equal(tail, other_tail):
            continue
        differing = torch.nonzero(part != other)
        first = start + int(differing[0]) if first is None else first
        count += len(differing)
    return None if first is None else (first, count)


def first_beyond(memory: Any, expected: Any, dtype: Any, tolerance: float) -> int | None:
    """Place of the first byte of a float that differs by more than the tolerance, or None."""
    whole = len(memory) // dtype.itemsize * dtype.itemsize
    values, others = memory[:whole].view(dtype), expected[:whole].view(dtype)
    for start in range(0, len(values), _CHUNK_WORDS):
        part, other = values[start : start + _CHUNK_WORDS], others[start : start + _CHUNK_WORDS]
        close = torch.isclose(part, other, rtol=tolerance, atol=tolerance, equal_nan=True)
        if not bool(close.all()):
            return (start + int(torch.nonzero(~close)[0])) * int(dtype.itemsize)
    return None


def warm_up(device: Any) -> None:
    """Has all of this compiled and loaded, so that no validation is charged for it."""
    memory = torch.zeros(8 * BLOCK + 1, dtype=torch.uint8, device=device)
    other = memory.clone()
    poison(memory)
    memory.copy_(other)
    first_difference(memory, other)
    digest(memory)
    torch.cuda.synchronize()


def _words(memory: Any) -> tuple[Any, Any]:
    whole = len(memory) // 8 * 8
    return memory[:whole].view(torch.int64), memory[whole:]
