# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A recorded launch made live again: its kernel imported, its arguments as the interpreter's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as triton_interpreter

from intelliperf_swizzle.frontends.triton.interpreter.fixes import fix_interpreter, forward_builtins
from intelliperf_swizzle.frontends.triton.interpreter.memory import Fill, Memory, restore_contents
from intelliperf_swizzle.frontends.triton.interpreter.sequential import (
    Observer,
    SequentialRun,
    patched_language,
    run_programs,
)
from intelliperf_swizzle.frontends.triton.ir.render import import_functions, render_module
from intelliperf_swizzle.records import (
    Argument,
    DescriptorArgument,
    DtypeArgument,
    FunctionArgument,
    Launch,
    TensorArgument,
)


@dataclass(frozen=True)
class LiveLaunch:
    """A launch that can be run.

    Attributes:
        launch: what was recorded.
        function: the kernel as a Python function, rewritten for the interpreter.
        constexprs: its constexpr arguments by name.
        memory: where its storages lie.
        functions: the live jit functions by key.
    """

    launch: Launch
    function: Callable[..., Any]
    constexprs: Mapping[str, Any]
    memory: Memory
    functions: Mapping[str, Any]

    def arguments(self) -> dict[str, Any]:
        """All arguments as the kernel takes them; to be called with the language patched."""
        return {
            name: self.constexprs[name] if name in self.constexprs else self._tensor(argument)
            for name, argument in self.launch.arguments.items()
        }

    def _tensor(self, argument: Argument) -> Any:
        if isinstance(argument, TensorArgument):
            return self._pointer(argument)
        if isinstance(argument, DescriptorArgument):
            return self._descriptor(argument)
        if isinstance(argument, tuple):
            return tuple(self._tensor(item) for item in argument)
        if isinstance(argument, DtypeArgument):
            return tl.dtype(argument.name)
        if isinstance(argument, FunctionArgument):
            return self.functions[argument.key]
        return triton_interpreter._implicit_cvt(argument)

    def _pointer(self, argument: TensorArgument) -> Any:
        dtype = tl.pointer_type(tl.dtype(argument.dtype))
        address = self.memory.base[argument.storage] + argument.offset_bytes
        handle = triton_interpreter.TensorHandle(np.array([address], np.uint64), dtype)
        return tl.tensor(handle, dtype)

    def _descriptor(self, argument: DescriptorArgument) -> Any:
        convert = triton_interpreter._implicit_cvt
        return triton_interpreter.interpreter_semantic.make_tensor_descriptor(
            base=self._pointer(argument.base),
            shape=[convert(extent) for extent in argument.shape],
            strides=[*(convert(s) for s in argument.strides[:-1]), tl.constexpr(1)],
            block_shape=[tl.constexpr(extent) for extent in argument.block_shape],
        )


def revive(
    launch: Launch,
    folder: str | os.PathLike[str],
    *,
    edits: Mapping[str, str] = {},
    fill: Fill = restore_contents,
) -> LiveLaunch:
    """Import a launch's kernel and lay out its memory. For child processes only.

    Args:
        launch: what was recorded.
        folder: where the rendered modules are written.
        edits: function key -> its other text.
        fill: writes the initial bytes of a storage when it is first touched; by default what
            was recorded, zeros where nothing was.

    Raises:
        RuntimeError: `TRITON_INTERPRET=1` was not set before Triton was imported.
    """
    fix_interpreter()
    functions = import_functions(render_module(launch.source, folder, edits))
    for function in functions.values():
        forward_builtins(function.fn.__globals__)
    kernel = functions[launch.source.kernel]
    constexprs = {
        name: _constexpr(argument, functions)
        for name, argument in launch.arguments.items()
        if name in launch.constexprs
    }
    return LiveLaunch(launch, kernel.rewrite(), constexprs, Memory(launch, fill), functions)


def _constexpr(argument: Argument, functions: Mapping[str, Any]) -> Any:
    if isinstance(argument, DtypeArgument):
        return tl.dtype(argument.name)
    if isinstance(argument, FunctionArgument):
        return functions[argument.key]
    if isinstance(argument, tuple):
        return tuple(_constexpr(item, functions) for item in argument)
    return argument


def run_sequential(
    live: LiveLaunch,
    *,
    programs: Iterable[int] | None = None,
    observer: Observer | None = None,
) -> SequentialRun:
    """Run programs of a live launch one by one; see `sequential.run_programs`.

    Raises:
        DeadlockError: programs wait for each other for ever.
        Exception: whatever the kernel raises.
    """
    with patched_language():
        return run_programs(
            live.function,
            live.arguments(),
            live.launch.grid,
            space=live.memory,
            programs=programs,
            observer=observer,
        )
