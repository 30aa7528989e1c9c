# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The arguments of a recorded launch as what Triton's binder asks of them: no memory, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import triton.language as tl
from triton.backends.amd.compiler import HIPBackend

from intelliperf_swizzle import records

HIPBackend._torch_available = False  # no argument is torch's, and to import it takes seconds


class ElementType(str):
    """A dtype by its Triton name, which is all that Triton wants of a tensor's dtype here."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(tl.dtype(str(self)).primitive_bitwidth) // 8


class Tensor:
    """A tensor argument without memory: what Triton asks of one to choose a kernel."""

    def __init__(self, argument: records.TensorArgument, storage_bytes: int):
        self.dtype = ElementType(argument.dtype)
        self.shape = argument.shape
        self._strides = argument.strides
        self._offset_bytes = argument.offset_bytes
        self._storage_bytes = storage_bytes

    def stride(self, axis: int | None = None) -> int | tuple[int, ...]:
        """Strides in elements."""
        return self._strides if axis is None else self._strides[axis]

    def data_ptr(self) -> int:
        """An address with the alignment of the real one (allocations are aligned to 256 bytes)."""
        return self._offset_bytes

    def ptr_range(self) -> int:
        """Bytes behind the address; below 2**31 an AMD GPU can use 32-bit offsets."""
        return self._storage_bytes


def stand_in_arguments(launch: records.Launch, functions: Mapping[str, object]) -> dict[str, Any]:
    """All arguments of a launch by name, from which Triton decides what to specialise on.

    Args:
        launch: as recorded.
        functions: the live jit functions by key.
    """
    return {name: _live(one, launch, functions) for name, one in launch.arguments.items()}


def _live(
    argument: records.Argument, launch: records.Launch, functions: Mapping[str, object]
) -> object:
    if isinstance(argument, records.TensorArgument):
        return Tensor(argument, launch.storages[argument.storage].bytes)
    if isinstance(argument, records.DescriptorArgument):
        from triton.tools.tensor_descriptor import TensorDescriptor

        return TensorDescriptor(
            _live(argument.base, launch, functions),
            list(argument.shape),
            list(argument.strides),
            list(argument.block_shape),
        )
    if isinstance(argument, records.DtypeArgument):
        return tl.dtype(argument.name)
    if isinstance(argument, records.FunctionArgument):
        return functions[argument.key]
    if isinstance(argument, tuple):
        return tuple(_live(item, launch, functions) for item in argument)
    return argument
