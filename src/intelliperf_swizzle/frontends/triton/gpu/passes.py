# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: what is done to the memory of a launch, at memory speed.

Memory is a tensor of bytes. What is counted is added to a number that stays on the GPU, so that
nothing waits for the host until all of it is asked for.
"""

from __future__ import annotations

import torch

from intelliperf_swizzle.frontends.triton.gpu.kernels import (
    BLOCK,
    differing_kernel,
    digest_kernel,
    poison_kernel,
)

_CHUNK_BYTES = 64 << 20
"""Compared at a time where differences are looked up; that makes a byte for each."""


def add_digest(memory: torch.Tensor, found: torch.Tensor) -> None:
    """Adds a number that is equal for equal contents; else by a chance of 2⁻⁶⁴. One pass.

    Args:
        memory: uint8[bytes].
        found: int64[], on the GPU.
    """
    words, rest, grid = _parts(memory)
    digest_kernel[grid](_words(memory), memory, words, rest, found, size=BLOCK)


def add_differing(memory: torch.Tensor, other: torch.Tensor, found: torch.Tensor) -> None:
    """Adds a number that is 0 if all bytes agree. One pass over both.

    Args:
        memory: uint8[bytes].
        other: uint8[bytes].
        found: int64[], on the GPU.
    """
    words, rest, grid = _parts(memory)
    differing_kernel[grid](
        _words(memory), memory, _words(other), other, words, rest, found, size=BLOCK
    )


def poison(memory: torch.Tensor) -> None:
    """Fills memory with the same odd bytes each time. One pass."""
    words, rest, grid = _parts(memory)
    poison_kernel[grid](_words(memory), memory, words, rest, size=BLOCK)


def first_difference(memory: torch.Tensor, expected: torch.Tensor) -> tuple[int, int]:
    """Place of the first byte that differs (the end where none does), and how many do."""
    first, count = len(memory), 0
    for start in range(0, len(memory), _CHUNK_BYTES):
        part, other = memory[start : start + _CHUNK_BYTES], expected[start : start + _CHUNK_BYTES]
        differing = torch.nonzero(part != other)
        if len(differing) and not count:
            first = start + int(differing[0])
        count += len(differing)
    return first, count


def first_beyond(
    memory: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype, tolerance: float
) -> int | None:
    """Place of the first byte of a float that differs by more than the tolerance, or None.

    The tolerance is relative; absolute, too, in units of the largest finite value that is expected,
    but of at most 1. Bytes behind the last whole float must be the same.
    """
    whole = len(memory) // dtype.itemsize * dtype.itemsize
    values, others = memory[:whole].view(dtype), expected[:whole].view(dtype)
    step = _CHUNK_BYTES // dtype.itemsize
    parts = list(zip(values.split(step), others.split(step), strict=True))
    largest = max(float(_finite(other).abs().max()) for _, other in parts) if whole else 0.0
    absolute = tolerance * min(1.0, largest)
    for number, (part, other) in enumerate(parts):
        close = torch.isclose(part, other, rtol=tolerance, atol=absolute, equal_nan=True)
        if not bool(close.all()):
            place = number * step + int(torch.nonzero(~close)[0])
            return int(place * dtype.itemsize)
    place, count = first_difference(memory[whole:], expected[whole:])
    return whole + place if count else None


def _finite(values: torch.Tensor) -> torch.Tensor:
    return torch.where(values.isfinite(), values, 0)


def warm_up(device: torch.device) -> None:
    """Has all of this compiled and loaded, so that no validation is charged for it."""
    memory = torch.zeros(BLOCK, dtype=torch.uint8, device=device)
    other = torch.empty_like(memory).copy_(memory)
    found = torch.zeros(1, dtype=torch.int64, device=device)
    poison(memory)
    add_differing(memory, other, found)
    add_digest(memory, found)
    found.tolist()


def _words(memory: torch.Tensor) -> torch.Tensor:
    return memory[: len(memory) // 8 * 8].view(torch.int64)


def _parts(memory: torch.Tensor) -> tuple[int, int, tuple[int]]:
    """Whole words, bytes behind them, and a grid of programs for both."""
    words, rest = divmod(len(memory), 8)
    return words, rest, (max(1, -(-words // BLOCK)),)
