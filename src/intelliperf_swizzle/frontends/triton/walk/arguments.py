# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The arguments of a recorded launch as values of its kernel's IR."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel
from intelliperf_swizzle.frontends.triton.walk.blocks import Block
from intelliperf_swizzle.frontends.triton.walk.elements import element_of, rounded
from intelliperf_swizzle.frontends.triton.walk.memory import Memory
from intelliperf_swizzle.records import Argument, DescriptorArgument, Launch, TensorArgument


def bind_arguments(kernel: Kernel, launch: Launch, memory: Memory) -> dict[str, Block]:
    """The value of each argument of a kernel, by name.

    The kernel has no argument for what was specialised; the others come in the launch's order.

    Raises:
        TraceError: an argument of the kernel is none of the launch.
    """
    bound: dict[str, Block] = {}
    for name, kind, value in _match(kernel, launch):
        element = element_of(kind)
        if isinstance(value, TensorArgument):
            value = memory.base[value.storage] + value.offset_bytes
        elif element.pointee:
            value = int(memory.translate(np.array([value or 0], np.uint64).view(np.int64))[0])
        number = np.array([value])
        if isinstance(value, int) and element.array.kind == "i":
            number = np.array([value & (1 << element.bits) - 1], np.uint64)
            number = number.astype(f"u{element.bytes}").view(element.array)
        bound[name] = Block((rounded(number, element),), element, ())
    return bound


def scalar_values(kernel: Kernel, launch: Launch) -> dict[str, str]:
    """The scalar arguments of a launch that are values of its kernel: argument -> value."""
    return {
        name: value
        for value, name, argument in _paired(kernel, launch)
        if isinstance(launch.arguments.get(name), int | float) and argument is not None
    }


def _match(kernel: Kernel, launch: Launch) -> Iterator[tuple[str, str, Argument]]:
    kinds = dict(zip(kernel.args, kernel.arg_types, strict=True))
    for value, _, argument in _paired(kernel, launch):
        yield value, kinds[value], argument


def _paired(kernel: Kernel, launch: Launch) -> Iterator[tuple[str, str, Argument]]:
    """Value, name and argument of each."""
    leaves = [
        leaf
        for name, argument in launch.arguments.items()
        if name not in launch.constexprs
        for leaf in _leaves(name, argument)
    ]
    at = 0
    for value, kind in zip(kernel.args, kernel.arg_types, strict=True):
        wanted = value.removeprefix("%")
        while at < len(leaves) and not _is_printed(wanted, kind, *leaves[at]):
            at += 1
        if at == len(leaves):
            raise TraceError(f"{launch.kernel} has no argument `{wanted}`")
        yield value, *leaves[at]
        at += 1


def _is_printed(printed: str, kind: str, name: str, argument: Argument) -> bool:
    """Whether a value is what an argument, or a part of one, is printed as."""
    whole, _, part = name.partition(".")
    if _is_called(printed, name):
        return True  # Triton 3.6 calls all parts alike
    return bool(part) and _is_called(printed, whole) and (kind == "i1") == (type(argument) is bool)


def _is_called(printed: str, name: str) -> bool:
    """Whether a value is printed as MLIR prints this name; a second one gets a number."""
    plain = re.sub(r"[^\w$.\-]", "_", name)
    return printed == plain or bool(re.fullmatch(re.escape(plain) + r"_\d+", printed))


def _leaves(name: str, argument: Argument) -> Iterator[tuple[str, Argument]]:
    """The scalars and pointers that an argument is flattened to, in Triton's order and names."""
    if isinstance(argument, tuple):
        for position, item in enumerate(argument):
            yield from _leaves(f"{name}.{position}", item)
    elif isinstance(argument, DescriptorArgument):
        yield name, argument.base
        for _ in range(2):  # as parts of the descriptor, and as arguments of their own
            yield from ((f"{name}.shape.{i}", n) for i, n in enumerate(argument.shape))
            yield from ((f"{name}.stride.{i}", n) for i, n in enumerate(argument.strides))
            yield from ((f"{name}.{flag}", False) for flag in ("padding", "roundF32ToTF32"))
    else:
        yield name, argument
