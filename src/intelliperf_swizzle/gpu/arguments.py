# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: a launch's arguments with their tensors in other memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments of one launch."""

Launch = Callable[[tuple[Any, ...], dict[str, Any]], None]
"""Runs one kernel on given arguments."""


def moved(arguments: Arguments, memory: Mapping[int, Any]) -> Arguments:
    """The arguments, with views of a storage being views of other memory.

    Args:
        arguments: of a launch.
        memory: uint8[bytes] of the same size for the address of a storage, on a boundary of any
            type; storages that are not in it stay.
    """

    def move(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return _view(value, memory)
        if type(value).__name__ == "TensorWrapper":
            return type(value)(move(value.base), value.dtype)
        if hasattr(value, "block_shape") and hasattr(value, "base"):  # a tensor descriptor
            return dataclasses.replace(value, base=move(value.base))
        if type(value) in (tuple, list):
            return type(value)(move(item) for item in value)
        return value

    args, kwargs = arguments
    return tuple(map(move, args)), {name: move(value) for name, value in kwargs.items()}


def _view(tensor: Any, memory: Mapping[int, Any]) -> Any:
    other = memory.get(tensor.untyped_storage().data_ptr())
    if other is None:
        return tensor
    view = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    first = other.storage_offset() // tensor.element_size() + tensor.storage_offset()
    return view.set_(other.untyped_storage(), first, tensor.shape, tensor.stride())
