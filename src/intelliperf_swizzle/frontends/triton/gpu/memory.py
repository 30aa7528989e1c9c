# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: the memory of a launch, its arguments in other memory, and their bytes.

What is done to bytes works on whole 64-bit words, and the few bytes behind them; what is counted is
added to a number that stays on the GPU, so that nothing waits for the host until all of it is asked
for. Whether inputs changed is decided by a sum over all words of a bijective mix of word and place:
any write that changes a byte changes it, up to a chance of 2⁻⁶⁴.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import torch

MOST_POINTERS = 1 << 16
"""Of one table of addresses."""
_CHUNK_BYTES = 64 << 20  # worked on at a time: that makes as much, or a byte for each, in passing
_PLACE = 0x9E3779B97F4A7C15 - (1 << 64)
_FACTORS = (0xFF51AFD7ED558CCD - (1 << 64), 0xC4CEB9FE1A85EC53 - (1 << 64))

Arguments: TypeAlias = tuple[tuple[object, ...], dict[str, object]]
"""Positional and keyword arguments of one launch."""

Launch: TypeAlias = Callable[[tuple[object, ...], dict[str, object]], object]
"""Runs one kernel on given arguments."""


class UnreachableMemoryError(Exception):
    """Memory of a launch cannot be replaced: no argument reaches it, or it is not the GPU's."""


def device_of(memory: Mapping[int, torch.Tensor]) -> torch.device:
    """The GPU that all memory of a launch is on.

    Raises:
        UnreachableMemoryError: some is the host's (pinned), or another GPU's.
    """
    devices = {view.device for view in memory.values() if view.nbytes}
    foreign = [d for d in devices if d.type != "cuda"] or sorted(map(str, devices))[1:]
    if foreign:
        raise UnreachableMemoryError(f"a tensor of the launch is on `{foreign[0]}`")
    return devices.pop()


def move(arguments: Arguments, memory: Mapping[int, torch.Tensor]) -> Arguments:
    """The arguments, with views of a storage being views of other memory.

    A table of addresses, 64-bit integers from which a kernel makes pointers, gets those of the
    other memory.

    Args:
        arguments: of a launch.
        memory: uint8[bytes] of the same size for the address of a storage, on a boundary of any
            type; storages that are not in it stay.

    Raises:
        UnreachableMemoryError: no argument is a view of one of the storages, or holds its address.
    """
    met = set()

    def move(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            met.add(value.untyped_storage().data_ptr())
            return _redirect(value, memory, met)
        if type(value).__name__ == "TensorWrapper":
            return type(value)(move(value.base), value.dtype)
        if hasattr(value, "block_shape") and hasattr(value, "base"):  # a tensor descriptor
            return dataclasses.replace(value, base=move(value.base))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(move, value))
        if isinstance(value, (tuple, list)):
            return type(value)(map(move, value))
        return value

    args, kwargs = arguments
    replaced = tuple(map(move, args)), {name: move(value) for name, value in kwargs.items()}
    if not memory.keys() <= met:
        raise UnreachableMemoryError("the arguments hold a tensor in an unknown way")
    return replaced


def _redirect(
    tensor: torch.Tensor, memory: Mapping[int, torch.Tensor], met: set[int]
) -> torch.Tensor:
    """A tensor's view of other memory; if it is a table of addresses, with those of other memory.

    A table that is itself in other memory gets them there, so that what a kernel writes to it is
    seen. Waits for the GPU once for each tensor of at most `MOST_POINTERS` such integers.
    """
    view = _view(tensor, memory)
    holds_addresses = tensor.dtype in {torch.int64, torch.uint64}
    if not (holds_addresses and memory and tensor.numel() <= MOST_POINTERS):
        return view
    before = after = view.view(torch.int64)
    found = []
    for first, other in memory.items():
        inside = (before >= first) & (before < first + other.nbytes)
        after = torch.where(inside, before + (other.data_ptr() - first), after)
        found.append(inside.any())
    held = [first for first, any_ in zip(memory, torch.stack(found).tolist(), strict=True) if any_]
    if not held:
        return view
    met.update(held)
    if view is tensor:
        shape, strides = tensor.shape, tensor.stride()
        view = torch.empty_strided(shape, strides, dtype=tensor.dtype, device=tensor.device)
    view.view(torch.int64).copy_(after)
    return view


def _view(tensor: torch.Tensor, memory: Mapping[int, torch.Tensor]) -> torch.Tensor:
    other = memory.get(tensor.untyped_storage().data_ptr())
    if other is None:
        return tensor
    view = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    first = other.storage_offset() // tensor.element_size() + tensor.storage_offset()
    return view.set_(other.untyped_storage(), first, tensor.shape, tensor.stride())


# --- bytes --------------------------------------------------------------------------------------


def add_digest(memory: torch.Tensor, found: torch.Tensor) -> None:
    """Adds a number that is equal for equal contents; else by a chance of 2⁻⁶⁴.

    Args:
        memory: uint8[bytes].
        found: int64[], on the GPU.
    """
    for place, part in _parts(memory):
        found += _mix(part.long(), place).sum()


def add_differing(memory: torch.Tensor, other: torch.Tensor, found: torch.Tensor) -> None:
    """Adds a number that is 0 if all bytes agree.

    Args:
        memory: uint8[bytes].
        other: uint8[bytes].
        found: int64[], on the GPU.
    """
    for (_, part), (_, same) in zip(_parts(memory), _parts(other), strict=True):
        found += (part != same).sum()


def poison(memory: torch.Tensor) -> None:
    """Fills memory with the same odd bytes each time, which no program would leave there."""
    for place, part in _parts(memory):
        part.copy_(_mix(torch.zeros_like(part, dtype=torch.int64), place + 1))


def _parts(memory: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
    """The words of memory in chunks, then the bytes behind them; each with its first place."""
    whole = len(memory) // 8 * 8
    for start in range(0, whole, _CHUNK_BYTES):
        yield start // 8, memory[start : min(whole, start + _CHUNK_BYTES)].view(torch.int64)
    yield whole, memory[whole:]


def _mix(words: torch.Tensor, place: int) -> torch.Tensor:
    """A bijection of 64-bit words (the finaliser of MurmurHash3), another one at each place."""
    words = words ^ (torch.arange(place, place + len(words), device=words.device) * _PLACE)
    for factor in _FACTORS:
        words = (words ^ (words >> 33 & (1 << 31) - 1)) * factor
    return words ^ (words >> 33 & (1 << 31) - 1)


def first_difference(memory: torch.Tensor, expected: torch.Tensor) -> tuple[int, int]:
    """Place of the first byte that differs (the end if none does), and how many do."""
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
