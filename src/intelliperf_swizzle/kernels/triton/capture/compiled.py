# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, on a GPU: each kind of launch is written down once, and the rest counted.

The application must not be slowed down. A launch like one before costs a look at its arguments'
types, shapes and strides, some microseconds of the host. Where even these add up to more than
`MOST_OVERHEAD` of the time since the first one (kernels that are shorter than their launch, in an
endless loop), most launches of known kernels are only counted, as the last one that was looked at.
"""

from __future__ import annotations

import atexit
import inspect
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

from intelliperf_swizzle.codec import encode
from intelliperf_swizzle.kernels.triton.capture import journal
from intelliperf_swizzle.kernels.triton.capture.calls import Call, JitFunction, Passes
from intelliperf_swizzle.kernels.triton.capture.describe import describe
from intelliperf_swizzle.kernels.triton.capture.journal import Execution
from intelliperf_swizzle.kernels.triton.capture.sources import (
    UnreadableKernelError,
    is_jit_function,
)
from intelliperf_swizzle.kernels.triton.capture.store import MOST_VARIANTS, Store
from intelliperf_swizzle.kernels.triton.capture.uses import Uses

MOST_OVERHEAD = 0.01
"""Share of the time since the first launch that looking at known ones may take; to hand a launch on
costs another one or two percent of the shortest."""
FIRST_LOOKS = 512
"""So many launches of each kernel are looked at in any case: new kinds come at the beginning."""
UNLOOKED = 128
"""So many launches of a known kernel are only counted when it took more."""
TELL_SECONDS = 0.5
"""Counts are written to the journal this often, because the application may be killed."""

_Key: TypeAlias = tuple[object, ...]


class CompiledRecorder:
    """Writes down what a process launches on its GPU.

    Args:
        folder: of the capture.
        uses: of the process's jit functions.

    Attributes:
        passes: by `id` of a kernel, how many of its next launches need not be looked at.
    """

    def __init__(self, folder: Path, uses: Uses) -> None:
        self._folder = folder
        self._uses = uses
        self._store = Store(folder)
        self._names: dict[_Key, str | None] = {}
        self._kernels: list[JitFunction] = []  # kept alive, so that no other one gets its number
        self.passes: Passes = {}
        self._granted: dict[int, tuple[str, int]] = {}  # name, and passes that are not counted yet
        self._looks: Counter[_Key] = Counter()
        self._seen: Counter[int] = Counter()
        self._untold: Counter[str] = Counter()
        self._told = self._start = perf_counter()
        self._spent = 0.0
        self._busy = False
        atexit.register(self._tell)

    def launch(self, call: Call) -> None:
        """Looks at one call before it is made."""
        if self._busy:
            return
        begun = perf_counter()
        kernel = call.kernel
        self._settle(id(kernel))
        key = _key(call)
        if key not in self._names:
            if _is_capturing():
                return  # nothing may be copied now
            self._kernels.append(kernel)
        if key not in self._names or self._may_hold_others(key):
            self._busy = True
            try:
                self._names[key] = self._record(call)
            finally:
                self._busy = False
        name = self._names[key]
        if name is not None:
            self._untold[name] += 1
        now = perf_counter()
        self._spent += now - begun
        self._seen[id(kernel)] += 1
        spent = self._spent > MOST_OVERHEAD * (now - self._start)
        if name is not None and spent and self._seen[id(kernel)] > FIRST_LOOKS:
            self.passes[id(kernel)] = UNLOOKED
            self._granted[id(kernel)] = (name, UNLOOKED)
        if now - self._told > TELL_SECONDS:
            self._tell()

    def _may_hold_others(self, key: _Key) -> bool:
        """Whether tensors of integers might hold something new: the first times only."""
        if not self._looks[key]:
            return False
        self._looks[key] -= 1
        return True

    def _record(self, call: Call) -> str | None:
        """The name of the launch; it is written down if it is the first of its kind."""
        begun = perf_counter()
        try:
            live = describe(call)
            if not live.launch.programs:
                return None
            integers = {number: live.contents(number) for number in live.integers}
            name, seen = self._store.keep(live, integers)
        except (UnreadableKernelError, OSError) as error:
            self._refuse(call.kernel, str(error))
            return None
        if seen == "again":
            return name
        if live.integers:
            self._looks[_key(call)] = MOST_VARIANTS
        self._uses.tell()
        journal.write(self._folder, seen, record=name)
        self._untold[name] -= 1  # this one is counted by the event
        execution = Execution(computed=True, seconds=None)
        journal.write(self._folder, "ran", record=name, **encode(execution))
        now = perf_counter()
        # A first launch is no overhead of known ones, and the time before gives them none to spend.
        self._start = self._start + now - begun if self._names else now
        self._spent -= now - begun
        return name

    def _refuse(self, kernel: JitFunction, reason: str) -> None:
        sentence = f"`{kernel.fn.__name__}` was not recorded: {reason}"
        journal.write(self._folder, "refused", text=sentence)

    def _settle(self, kernel: int) -> None:
        """Counts the launches of a kernel that were let pass since the last time."""
        if kernel in self._granted:
            name, before = self._granted[kernel]
            left = self.passes[kernel]
            self._untold[name] += before - left
            self._granted[kernel] = (name, left)

    def _tell(self) -> None:
        """Writes the counts since the last time to the journal."""
        for kernel in tuple(self._granted):  # other threads may add to it
            self._settle(kernel)
        for name, times in tuple(self._untold.items()):
            if times:
                journal.write(self._folder, "again", record=name, times=times)
        self._untold.clear()
        self._told = perf_counter()


def _key(call: Call) -> _Key:
    """Equal for launches that differ at most in what their tensors hold, and cheap."""
    kernel, args, kwargs, grid = call
    if callable(grid):
        grid = grid({**_defaults(kernel), **dict(zip(kernel.arg_names, args)), **kwargs})  # noqa: B905
    extents = tuple(grid) if isinstance(grid, (tuple, list)) else grid
    places: list[int] = []
    values = [_seen(value, places) for value in args]
    named = [(name, _seen(value, places)) for name, value in kwargs.items()]
    shared = tuple(map(places.index, places))
    return (id(kernel), extents, tuple(values), tuple(named), shared)


def _seen(value: Any, places: list[int]) -> object:
    """What tells an argument from another of its kind; the places of tensors are listed."""
    if hasattr(value, "data_ptr"):
        tensor = getattr(value, "base", None) if hasattr(value, "base") else value
        tensor = value if tensor is None or not hasattr(tensor, "stride") else tensor
        places.append(value.data_ptr())
        return (value.dtype, value.shape, tensor.stride(), tensor.storage_offset())
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        extents = (*value.shape, *value.strides, *value.block_shape)
        return (*map(str, extents), _seen(value.base, places))
    if isinstance(value, (tuple, list)):
        return tuple(_seen(item, places) for item in value)
    if isinstance(value, (int, float, str, type(None))):
        return value
    return id(value) if is_jit_function(value) else repr(value)


def _is_capturing() -> bool:
    import torch

    return bool(torch.cuda.is_current_stream_capturing())


def _defaults(kernel: JitFunction) -> Mapping[str, object]:
    found = _defaults_of.get(id(kernel))
    if found is None:
        parameters = inspect.signature(kernel.fn).parameters.values()
        found = {one.name: one.default for one in parameters if one.default is not one.empty}
        _defaults_of[id(kernel)] = found
    return found


_defaults_of: dict[int, dict[str, object]] = {}
