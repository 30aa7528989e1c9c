# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: what tells launches apart, but for what their tensors hold.

Some microseconds for each launch: what is decided by the types of the arguments is decided once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Any

from intelliperf_swizzle.frontends.triton.capture.calls import Call, JitFunction
from intelliperf_swizzle.frontends.triton.capture.describe import base_of
from intelliperf_swizzle.frontends.triton.capture.sources import is_jit_function


class _Plan:
    """How the calls of a kernel with arguments of certain types are told apart.

    Attributes:
        tensors: places of plain tensors among the values of a call.
        others: places of values that must be looked into.
        numbers: takes the numbers, strings and None out of the values; None if there are none.
    """

    def __init__(self, kernel: JitFunction, values: Sequence[object]) -> None:
        self.kernel = kernel  # kept alive, so that no other one gets its `id`
        plain = [at for at, one in enumerate(values) if type(one) in _PLAIN]
        self.tensors = [at for at, one in enumerate(values) if hasattr(one, "storage_offset")]
        self.others = sorted(set(range(len(values))) - {*plain, *self.tensors})
        self.numbers = itemgetter(*plain) if plain else None


_PLAIN = frozenset({int, float, bool, str, type(None)})


class Identity:
    """Tells the launches of a process apart."""

    def __init__(self) -> None:
        self._plans: dict[Hashable, _Plan] = {}

    def __call__(self, call: Call) -> Hashable:
        """Equal for calls that differ at most in what their tensors hold, and where they lie.

        Looks at the types, shapes, strides and sharing of tensors, and at all other values.
        """
        kernel, args, kwargs, grid = call
        values = (*args, *kwargs.values())
        kinds = (id(kernel), len(args), *kwargs, *map(type, values))
        plan = self._plans.get(kinds)
        if plan is None:
            plan = self._plans[kinds] = _Plan(kernel, values)
        tensors: list[Any] = [values[at] for at in plan.tensors]
        others = tuple([_look_into(values[at], tensors) for at in plan.others])
        seen: list[object] = []
        storages: list[int] = []
        for one in tensors:
            storage = one.untyped_storage()
            storages.append(storage.data_ptr())
            seen += (one.dtype, one.shape, one.stride(), one.storage_offset(), storage.nbytes())
        return (
            plan,
            grid,
            plan.numbers(values) if plan.numbers else None,
            others,
            tuple(seen),
            tuple(map(storages.index, storages)),
        )


def _look_into(value: Any, tensors: list[Any]) -> Hashable:
    """What tells a value from another of its type; the tensors in it are listed."""
    if hasattr(value, "storage_offset"):
        tensors.append(value)
        return None
    if hasattr(value, "block_shape") and hasattr(value, "base"):  # a descriptor
        extents = (*value.shape, *value.strides, *value.block_shape)
        return (*map(str, extents), _look_into(value.base, tensors))
    if hasattr(value, "data_ptr"):  # a tensor seen in another way
        base = base_of(value)
        sizes = (*getattr(value, "shape", ()), *getattr(value, "stride", lambda: ())())
        ahead = value.data_ptr() - base.data_ptr()
        return (str(value.dtype), sizes, ahead, _look_into(base, tensors))
    if isinstance(value, (tuple, list)):
        return tuple([(type(item), _look_into(item, tensors)) for item in value])
    if is_jit_function(value):
        return id(value)
    return repr(value)
