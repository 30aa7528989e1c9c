# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: code of ours in front of each kernel launch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from triton.compiler import CompiledKernel
    from triton.runtime.autotuner import Autotuner

_Extents: TypeAlias = int | Sequence[int]
LaunchGrid: TypeAlias = _Extents | Callable[[dict[str, object]], _Extents]


class JitFunction(Hashable, Protocol):
    """A Triton function, compiled or interpreted."""

    fn: FunctionType
    arg_names: Sequence[str]

    def run(
        self, *args: object, grid: LaunchGrid, warmup: bool, **kwargs: object
    ) -> CompiledKernel:
        """Launches it, or only compiles it."""


class Call(NamedTuple):
    """A launch as the application makes it: `kernel[grid](*args, **kwargs)`."""

    kernel: JitFunction
    args: tuple[object, ...]
    kwargs: dict[str, object]
    grid: LaunchGrid


Before: TypeAlias = Callable[[Call], None]
Execute: TypeAlias = Callable[[], object]


def before_each_launch(before: Before, *, interpreted: bool) -> None:
    """Calls `before`, and then launches as if nothing had been.

    An autotuner's trials are no launches of the application.

    Args:
        before: what is called.
        interpreted: whether kernels run under Triton's interpreter.
    """
    if interpreted:

        def launch(call: Call, execute: Execute) -> None:
            before(call)
            execute()

        around_each_launch(launch)
        return
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    run, bench = JITFunction.run, Autotuner._bench
    tuning = 0

    def hooked(
        self: JitFunction, *args: object, grid: LaunchGrid, warmup: bool, **kwargs: object
    ) -> object:
        if not tuning and not warmup:
            before(Call(self, args, kwargs, grid))
        return run(self, *args, grid=grid, warmup=warmup, **kwargs)

    def benched(self: Autotuner, *args: object, **kwargs: object) -> object:
        nonlocal tuning
        tuning += 1
        try:
            return bench(self, *args, **kwargs)
        finally:
            tuning -= 1

    JITFunction.run, Autotuner._bench = hooked, benched


def around_each_launch(launch: Callable[[Call, Execute], None]) -> None:
    """Under Triton's interpreter: hands each call to `launch`, which executes it, or not."""
    from triton.runtime.interpreter import InterpretedFunction

    from intelliperf_swizzle.frontends.triton.capture.standin_triton import Compiled

    run = InterpretedFunction.run

    def hooked(
        self: JitFunction, *args: object, grid: LaunchGrid, warmup: bool, **kwargs: object
    ) -> Compiled:
        if not warmup:
            execute = partial(run, self, *args, grid=grid, warmup=False, **kwargs)
            launch(Call(self, args, kwargs, grid), execute)
        return Compiled(self, kwargs)

    InterpretedFunction.run = hooked
