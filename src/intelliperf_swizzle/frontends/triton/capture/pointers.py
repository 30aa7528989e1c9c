# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: arrays of pointers, tensors of integers that a kernel makes pointers of.

Each value is looked up among the tensors that are alive. A record keeps the tensors, and in the
array the addresses that `interpreter.memory` gives them: then whatever revives the launch follows
them like other pointers.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.frontends.triton.interpreter.memory import Memory
from intelliperf_swizzle.records import KernelSource, Launch, TensorArgument, UInt8Array

if TYPE_CHECKING:
    import torch

MOST_POINTERS = 1 << 16
"""Of one array; a larger tensor of integers is none."""


def makes_pointers(source: KernelSource) -> bool:
    """Whether a kernel may make a pointer of an integer: it names a type of pointers."""
    return any(
        "pointer_type" in one.text or "('pointer'," in repr(one.names)
        for one in source.functions.values()
    )


class LiveTensors:
    """The tensors of the process that are alive, by address.

    Args:
        device: where they lie.
    """

    def __init__(self, device: torch.device) -> None:
        self._exact: dict[int, torch.Tensor] = {}
        self._around: list[torch.Tensor] = []
        for tensor in _tensors():
            storage = tensor.untyped_storage()
            if storage.device == device and storage.nbytes():
                self._around.append(tensor)
                other = self._exact.get(tensor.data_ptr())
                if other is None or _size(tensor) > _size(other):
                    self._exact[tensor.data_ptr()] = tensor

    def find(self, address: int) -> torch.Tensor | None:
        """The largest tensor that begins at an address, else bytes from there on."""
        import torch

        if address in self._exact:
            return self._exact[address]
        for tensor in self._around:
            storage = tensor.untyped_storage()
            offset = address - storage.data_ptr()
            if 0 <= offset < storage.nbytes():
                view = torch.empty(0, dtype=torch.uint8, device=storage.device)
                return view.set_(storage, offset, (storage.nbytes() - offset,), (1,))
        return None


def _size(tensor: torch.Tensor) -> tuple[int, int]:
    """Of two views of the same bytes, the one of more dimensions says more."""
    return tensor.nbytes, tensor.dim()


def _tensors() -> Iterator[torch.Tensor]:
    import torch

    for found in gc.get_objects():
        if issubclass(type(found), torch.Tensor):
            try:
                found.untyped_storage().data_ptr()
            except (NotImplementedError, RuntimeError):  # sparse and functional tensors have none
                continue
            yield found


def point(launch: Launch, number: int, contents: UInt8Array) -> UInt8Array:
    """What a storage holds, with the addresses of a revived launch in its arrays of pointers."""
    arrays = [one for _, one in launch.tensors() if one.storage == number and one.targets]
    if not arrays:
        return contents
    contents, base = contents.copy(), Memory(launch).base
    for array in arrays:
        places = pointers_of(contents, array)
        addresses = [base[to.storage] + to.offset_bytes if to else 0 for to in array.targets]
        places[...] = np.array(addresses, np.int64).reshape(places.shape)
    return contents


def pointers_of(contents: UInt8Array, array: TensorArgument) -> npt.NDArray[Any]:
    """The elements of an array of pointers, a view of its storage's bytes."""
    count = (len(contents) - array.offset_bytes) // 8
    words = contents[array.offset_bytes :][: count * 8].view(np.int64)
    strides = [stride * 8 for stride in array.strides]
    return np.lib.stride_tricks.as_strided(words, array.shape, strides)
