# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: a launch's arguments with their tensors in other memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch

MOST_POINTERS = 1 << 16
"""Of one table of addresses."""

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
    foreign = [one for one in devices if one.type != "cuda"] or sorted(map(str, devices))[1:]
    if foreign:
        raise UnreachableMemoryError(f"a tensor of the launch is on `{foreign[0]}`")
    return devices.pop()


def moved(arguments: Arguments, memory: Mapping[int, torch.Tensor]) -> Arguments:
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
            return _redirected(value, memory, met)
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
        raise UnreachableMemoryError("the arguments hold a tensor in a way that is not understood")
    return replaced


def _redirected(
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
