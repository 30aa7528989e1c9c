# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: a launch's arguments with their tensors in other memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch

Arguments: TypeAlias = tuple[tuple[object, ...], dict[str, object]]
"""Positional and keyword arguments of one launch."""

Launch: TypeAlias = Callable[[tuple[object, ...], dict[str, object]], object]
"""Runs one kernel on given arguments."""


class UnreachableMemoryError(Exception):
    """Memory of a launch is reached by none of its arguments, and so cannot be replaced."""


def moved(arguments: Arguments, memory: Mapping[int, torch.Tensor]) -> Arguments:
    """The arguments, with views of a storage being views of other memory.

    Of a table of addresses, an int64 or uint64 tensor from which a kernel makes pointers, a copy
    with other addresses is made.

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
            return _redirected(_view(value, memory), memory, met)
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
    """A table with addresses in other memory; the tensor itself where it holds no address."""
    if tensor.dtype not in {torch.int64, torch.uint64}:
        return tensor
    before = tensor.view(torch.int64)
    after = before
    for first, other in memory.items():
        inside = (before >= first) & (before < first + other.nbytes)
        if inside.any():
            met.add(first)
            after = torch.where(inside, before + (other.data_ptr() - first), after)
    if after is before:
        return tensor
    table = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    table.view(torch.int64).copy_(after)
    return table


def _view(tensor: torch.Tensor, memory: Mapping[int, torch.Tensor]) -> torch.Tensor:
    other = memory.get(tensor.untyped_storage().data_ptr())
    if other is None:
        return tensor
    view = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    first = other.storage_offset() // tensor.element_size() + tensor.storage_offset()
    return view.set_(other.untyped_storage(), first, tensor.shape, tensor.stride())
