# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From the live arguments of a kernel call to a `Launch`, and back to the bytes of its tensors."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from intelliperf_swizzle.frontends.triton.capture.calls import Call
from intelliperf_swizzle.frontends.triton.capture.pointers import (
    MOST_POINTERS,
    LiveTensors,
    makes_pointers,
    point,
    pointers_of,
)
from intelliperf_swizzle.frontends.triton.capture.sources import (
    NOT_A_CONSTANT,
    UnreadableKernelError,
    constant,
    is_jit_function,
    python_function,
    read_source,
)
from intelliperf_swizzle.frontends.triton.capture.tuning import configs_of
from intelliperf_swizzle.records import (
    Argument,
    DescriptorArgument,
    DtypeArgument,
    FunctionArgument,
    Grid,
    Launch,
    Storage,
    TensorArgument,
    UInt8Array,
)

if TYPE_CHECKING:
    import torch

_read_once = functools.lru_cache(maxsize=None)(read_source)
"""An application may launch a kernel thousands of times, and Triton wants its globals constant."""


@dataclass(frozen=True)
class DescribedLaunch:
    """A launch and the memory of its tensors.

    Attributes:
        launch: without contents of storages.
        memory: bytes of each storage, a live view: a torch tensor, uint8[bytes].
        integers: storages that a tensor of integers (or bools) is a view of.
    """

    launch: Launch
    memory: Mapping[int, torch.Tensor]
    integers: frozenset[int]

    @property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """Begin and end of all storages, if arrays of pointers lead to some; else nothing."""
        if not any(tensor.targets for _, tensor in self.launch.tensors()):
            return ()
        begins = [(view.data_ptr(), view.nbytes) for view in self.memory.values()]
        return tuple((begin, begin + size) for begin, size in begins)

    def contents(self, number: int) -> UInt8Array:
        """Bytes of a storage on the host: a live view of host memory, a copy of a GPU's."""
        return host_bytes(self.memory[number].untyped_storage())

    def recorded(self, number: int) -> UInt8Array:
        """A copy of these bytes as a record keeps them: pointers are those of a revived launch."""
        return point(self.launch, number, self.contents(number)).copy()


def host_bytes(storage: torch.UntypedStorage) -> UInt8Array:
    """Bytes of a storage on the host: a live view of host memory, a copy of a GPU's."""
    view = _bytes_of(storage)
    on_host = storage.device.type == "cpu"  # whatever a stand-in says
    array: UInt8Array = view.numpy() if on_host else view.cpu().numpy()
    return array


def describe(call: Call) -> DescribedLaunch:
    """Describe one call.

    Raises:
        TypeError: the arguments do not fit the kernel's signature.
        UnreadableKernelError: the kernel or an argument cannot be recorded.
    """
    kernel, args, kwargs, grid = call
    signature = inspect.signature(kernel.fn)
    bound = signature.bind(*args, **{k: v for k, v in kwargs.items() if k in signature.parameters})
    bound.apply_defaults()
    values = {name: unwrapped(value) for name, value in bound.arguments.items()}
    passed = tuple(value for value in values.values() if is_jit_function(value))
    source, keys = _read_once(kernel, passed)
    converter = _Converter(keys, makes_pointers(source))
    arguments = {name: converter.convert(name, value) for name, value in values.items()}
    launch = Launch(
        kernel=kernel.fn.__name__,
        source=source,
        grid=normalise(grid(dict(values)) if callable(grid) else grid),
        arguments=arguments,
        constexprs=tuple(
            name for name in values if _is_constexpr(signature.parameters[name].annotation)
        ),
        options={
            name: constant(value)
            for name, value in kwargs.items()
            if name not in signature.parameters and constant(value) is not NOT_A_CONSTANT
        },
        storages={number: Storage(memory.nbytes) for number, memory in converter.memory.items()},
        configs=configs_of(python_function(kernel)),
    )
    return DescribedLaunch(launch, converter.memory, frozenset(converter.integers))


def normalise(grid: int | Sequence[int]) -> Grid:
    """A grid of one to three extents as three."""
    extents = [int(extent) for extent in (grid if isinstance(grid, Iterable) else (grid,))]
    if not 1 <= len(extents) <= 3:
        raise UnreadableKernelError(f"a grid has 1 to 3 dimensions, not {len(extents)}")
    x, y, z = (*extents, 1, 1)[:3]
    return (x, y, z)


@dataclass
class _Converter:
    """Turns live arguments into records; numbers storages in the order of the arguments."""

    keys: Mapping[int, str]
    follows_pointers: bool
    memory: dict[int, torch.Tensor] = field(default_factory=dict)
    integers: set[int] = field(default_factory=set)
    _numbers: dict[int, int] = field(default_factory=dict)

    def convert(self, name: str, value: Any) -> Argument:
        value = unwrapped(value)
        if hasattr(value, "block_shape") and hasattr(value, "base"):
            return DescriptorArgument(
                base=self._tensor(value.base),
                shape=_integers(value.shape),
                strides=_integers(value.strides),
                block_shape=_integers(value.block_shape),
            )
        if hasattr(value, "data_ptr"):
            array = self._tensor(value)
            targets = self._targets(name, array) if self.follows_pointers else ()
            return replace(array, targets=targets)
        if is_jit_function(value):
            return FunctionArgument(self.keys[id(python_function(value))])
        if type(value).__module__ == "triton.language.core" and type(value).__name__ == "dtype":
            return DtypeArgument(value.name)
        if isinstance(value, (tuple, list)):
            return tuple(self.convert(name, item) for item in value)
        plain: Argument = constant(value)
        if plain is NOT_A_CONSTANT or isinstance(plain, dict):
            raise UnreadableKernelError(
                f"its argument `{name}` is a {type(value).__name__}, which cannot be recorded"
            )
        return plain

    def _targets(self, name: str, array: TensorArgument) -> tuple[TensorArgument | None, ...]:
        """What the elements point at, if some do."""
        if array.dtype not in ("int64", "uint64") or math.prod(array.shape) > MOST_POINTERS:
            return ()
        storage = self.memory[array.storage].untyped_storage()
        addresses = pointers_of(host_bytes(storage), array).ravel().tolist()
        live = LiveTensors(storage.device)
        found = [live.find(address) if address else None for address in addresses]
        lost = [at for at, one in enumerate(found) if one is None and addresses[at]]
        if all(one is None for one in found):
            return ()
        if lost:
            raise UnreadableKernelError(
                f"its argument `{name}` holds pointers, and `{name}[{lost[0]}]` points at memory of"
                " no tensor that is alive"
            )
        return tuple([None if one is None else self._tensor(one) for one in found])

    def _tensor(self, value: torch.Tensor) -> TensorArgument:
        from triton.runtime.interpreter import _implicit_cvt

        tensor = value.base if type(value).__name__ == "TensorWrapper" else value
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if address not in self._numbers or not storage.nbytes():
            number = self._numbers[address] = len(self.memory)
            self.memory[number] = _bytes_of(storage)
        dtype = _implicit_cvt(value).dtype.element_ty.name
        if dtype.startswith(("int", "uint")):
            self.integers.add(self._numbers[address])
        return TensorArgument(
            storage=self._numbers[address],
            dtype=dtype,
            shape=_integers(tensor.shape),
            strides=_integers(tensor.stride()),
            offset_bytes=tensor.storage_offset() * tensor.element_size(),
        )


def _bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    import torch

    view = torch.tensor([], dtype=torch.uint8, device=storage.device)
    view.set_(storage, 0, (storage.nbytes(),), (1,))
    return view


def unwrapped(value: object) -> Any:
    """The value of a `tl.constexpr`; any other as it is."""
    import triton.language as tl

    return value.value if isinstance(value, tl.constexpr) else value


def _integers(extents: Iterable[object]) -> tuple[int, ...]:
    return tuple(int(unwrapped(extent)) for extent in extents)


def _is_constexpr(annotation: object) -> bool:
    return getattr(annotation, "__name__", str(annotation)).rpartition(".")[2] == "constexpr"
