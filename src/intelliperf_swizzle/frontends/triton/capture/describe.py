# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From the live arguments of a kernel call to a `Launch`, and back to the bytes of its tensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinMethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.frontends.triton.capture import addresses, sources
from intelliperf_swizzle.frontends.triton.capture.calls import Call

if TYPE_CHECKING:
    import torch

_read_once = functools.lru_cache(maxsize=None)(sources.read_source)
"""An application may launch a kernel thousands of times, and Triton wants its globals constant."""


@dataclass(frozen=True)
class DescribedLaunch:
    """A launch and the memory of its tensors.

    Attributes:
        launch: without contents of storages.
        spans: the memory of each storage.
        tensors: of the arguments.
    """

    launch: records.Launch
    spans: Mapping[int, addresses.Span]
    tensors: list[torch.Tensor]

    @functools.cached_property
    def memory(self) -> Mapping[int, torch.Tensor]:
        """Bytes of each storage, a live view: a torch tensor, uint8[bytes]."""
        return {number: span.bytes() for number, span in self.spans.items()}

    @property
    def integers(self) -> list[int]:
        """The storages that show integers (or bools)."""
        return sorted(number for number, span in self.spans.items() if span.integers)

    def contents(self, number: int) -> records.UInt8Array:
        """Bytes of a storage on the host: a live view of host memory, a copy of a GPU's."""
        return host_bytes(self.memory[number])


def host_bytes(view: torch.Tensor) -> records.UInt8Array:
    """Bytes of memory on the host: a live view of host memory, a copy of a GPU's."""
    on_host = view.untyped_storage().device.type == "cpu"  # whatever a stand-in says
    array: records.UInt8Array = view.numpy() if on_host else view.cpu().numpy()
    return array


def describe(call: Call, *, look: bool = True) -> DescribedLaunch:
    """Describe one call.

    Args:
        call: any.
        look: whether memory is looked into for addresses; not while a CUDA graph is captured.

    Raises:
        TypeError: the arguments do not fit the kernel's signature.
        UnreadableKernelError: the kernel or an argument cannot be recorded.
    """
    kernel, args, kwargs, grid, _ = call
    signature = inspect.signature(kernel.fn)
    bound = signature.bind(*args, **{k: v for k, v in kwargs.items() if k in signature.parameters})
    bound.apply_defaults()
    values = {name: unwrap(value) for name, value in bound.arguments.items()}
    passed = tuple((n, value) for n, value in values.items() if sources.is_jit_function(value))
    source, keys = _read_once(kernel, passed)
    memory = _Memory(values.values())
    numbers = [n for n in _leaves(values.values()) if type(n) is int and 0 < n < 1 << 63]
    pointed = memory.follow(numbers) if look else set()
    converter = _Converter(keys, memory)
    arguments = {name: converter.convert(name, value) for name, value in values.items()}
    launch = records.Launch(
        kernel=kernel.fn.__name__,
        source=source,
        grid=grid,
        arguments=arguments,
        constexprs=tuple(name for name in values if _is_constexpr(signature.parameters[name])),
        options={
            name: plain
            for name, value in kwargs.items()
            if name not in signature.parameters
            and (plain := sources.constant(value)) is not sources.NOT_A_CONSTANT
        },
        storages={
            number: records.Storage(
                span.end - span.begin,
                address=span.begin if span.begin in pointed or span.begin % 16 else None,
            )
            for number, span in enumerate(memory.spans)
        },
        fields={n: names for item in values.items() for n, names in _fields(*item)},
    )
    return DescribedLaunch(launch, dict(enumerate(memory.spans)), memory.tensors)


class _Memory:
    """The memory of a launch: of its tensors first, in the order of the arguments.

    Args:
        values: the arguments.

    Attributes:
        tensors: of the arguments.
        spans: in the order of their numbers.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self.tensors = list(tensors_in(values))
        spans = [addresses.span_of(tensor) for tensor in self.tensors]
        joined = addresses.merge_spans(spans)
        foreign = [span for span in spans if span.storage and not span.storage.resizable()]
        if len(foreign) > 1 and addresses.mapped_twice(addresses.merge_spans(foreign)):
            raise sources.UnreadableKernelError("two of its tensors show the same bytes of a file")
        self._live: list[addresses.Span] = []
        self.spans: list[addresses.Span] = []
        self._add([next((s for s in joined if s.begin <= x.begin < s.end), x) for x in spans])

    def number(self, tensor: torch.Tensor) -> int:
        """The storage that a tensor is a view of."""
        at = tensor.untyped_storage().data_ptr()
        spans = enumerate(self.spans)
        return next((number for number, s in spans if s.begin <= at < max(s.end, s.begin + 1)))

    def follow(self, numbers: Sequence[int]) -> set[int]:
        """Adds what the numbers, and those in memory of integers, point into; where that begins."""
        given = np.array(numbers, np.int64)
        if addresses.may_point(given) or any(
            addresses.may_point(self._words(span)) for span in self.spans
        ):
            self._live = live = addresses.live_spans(self.spans)
            whole = (next((x for x in live if x.begin <= s.begin < x.end), s) for s in self.spans)
            self.spans[:] = dict.fromkeys(whole)  # with what is alive around each
        pointed = self._add(addresses.pointed_into(given, self._live))
        for span in self.spans:  # grows as it goes
            pointed |= self._add(addresses.pointed_into(self._words(span), self._live))
        return pointed

    def _add(self, found: Sequence[addresses.Span]) -> set[int]:
        """Storages that may be new; where they begin."""
        self.spans += [span for span in dict.fromkeys(found) if span not in self.spans]
        return {span.begin for span in found}

    def _words(self, span: addresses.Span) -> records.Int64Array:
        """The 64-bit numbers that a storage of integers holds."""
        held = span.integers and span.end - span.begin >= 8
        return addresses.words_of(host_bytes(span.bytes())) if held else np.zeros(0, np.int64)


def _is_descriptor(value: object) -> bool:
    return hasattr(value, "block_shape") and hasattr(value, "base")


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    """Values, and for tuples and descriptors what is in them."""
    for value in map(unwrap, values):
        if _is_descriptor(value):
            yield value.base
        elif isinstance(value, (tuple, list)):
            yield from _leaves(value)
        else:
            yield value


def _fields(name: str, value: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names of the items of named tuples, by the names of these, a nested one after a dot."""
    if isinstance(value, tuple):
        names = getattr(value, "_fields", ())
        yield from [(name, names)] if names else []
        for part, item in zip(names or range(len(value)), value, strict=True):
            yield from _fields(f"{name}.{part}", unwrap(item))


def tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The tensors of arguments, also those in tuples and descriptors."""
    return (base_of(value) for value in _leaves(values) if hasattr(value, "data_ptr"))


def base_of(value: Any) -> torch.Tensor:
    """The tensor itself, or that on whose memory an object is that Triton takes for a tensor.

    Raises:
        UnreadableKernelError: no attribute of the object is a tensor.
    """
    while not hasattr(value, "storage_offset"):
        held = getattr(value, "__dict__", {}).values()
        inside = [part for part in held if hasattr(part, "data_ptr")]
        if not inside:
            fact = f"a {type(value).__name__} refers to memory of no known tensor"
            raise sources.UnreadableKernelError(fact)
        value = inside[0]
    return value


def as_view(value: Any) -> tuple[torch.Tensor, int, Hashable]:
    """The tensor that Triton is given, how many bytes behind the begin of its storage the address
    is, and how it is seen if not as that tensor itself.

    Raises:
        UnreadableKernelError: the address is not in the storage, or not always the same.
    """
    tensor = base_of(value)
    if isinstance(value.data_ptr, BuiltinMethodType):  # torch's own
        return tensor, tensor.storage_offset() * tensor.element_size(), None
    storage, address = tensor.untyped_storage(), value.data_ptr()
    ahead = address - storage.data_ptr()
    if not 0 <= ahead <= storage.nbytes() or address != value.data_ptr():
        fact = f"a {type(value).__name__} gives an address that is not in the memory of its tensor"
        raise sources.UnreadableKernelError(fact)
    sizes = (*getattr(value, "shape", ()), *getattr(value, "stride", lambda: ())())
    return tensor, ahead, (str(value.dtype), sizes, ahead)


@dataclass
class _Converter:
    """Turns live arguments into records."""

    keys: Mapping[int, str]
    memory: _Memory

    def convert(self, name: str, value: Any) -> records.Argument:
        value = unwrap(value)
        if _is_descriptor(value):
            return records.DescriptorArgument(
                base=self._tensor(value.base),
                shape=_integers(value.shape),
                strides=_integers(value.strides),
                block_shape=_integers(value.block_shape),
            )
        if hasattr(value, "data_ptr"):
            return self._tensor(value)
        if sources.is_jit_function(value):
            return records.FunctionArgument(self.keys[id(sources.python_function(value))])
        if type(value).__name__ == "dtype":
            return records.DtypeArgument(getattr(value, "name", str(value)))
        if isinstance(value, (tuple, list)):
            return tuple(self.convert(name, item) for item in value)
        plain: records.Argument = sources.constant(value)
        if plain is sources.NOT_A_CONSTANT or isinstance(plain, dict):
            fact = f"its argument `{name}` is a {type(value).__name__}, which cannot be recorded"
            raise sources.UnreadableKernelError(fact)
        return plain

    def _tensor(self, value: Any) -> records.TensorArgument:
        tensor, ahead, _ = as_view(value)
        number = self.memory.number(tensor)
        storage = tensor.untyped_storage().data_ptr()
        return records.TensorArgument(
            storage=number,
            dtype=_triton_name(value.dtype),
            shape=_integers(getattr(value, "shape", tensor.shape)),
            strides=_integers((value if hasattr(value, "stride") else tensor).stride()),
            offset_bytes=storage - self.memory.spans[number].begin + ahead,
        )


def _triton_name(dtype: object) -> str:
    """Triton's name of torch's dtype, or of one of its own: `fp16`, `int32`."""
    from triton._utils import type_canonicalisation_dict as names

    short: str = names[str(dtype).rpartition(".")[2]]
    bits = short[1:]
    return {"i": f"int{bits}", "u": f"uint{bits}"}.get(short[0], short)


def unwrap(value: object) -> Any:
    """The value of a `tl.constexpr`; anything else unchanged."""
    import triton.language as tl

    return value.value if isinstance(value, tl.constexpr) else value


def _integers(extents: Iterable[object]) -> tuple[int, ...]:
    return tuple(int(unwrap(extent)) for extent in extents)


def _is_constexpr(parameter: inspect.Parameter) -> bool:
    kind = parameter.annotation
    return getattr(kind, "__name__", str(kind)).rpartition(".")[2] == "constexpr"
