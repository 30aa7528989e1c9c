# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: our code in front of each kernel launch, with a GPU or without.

`around_each_launch` sees what Triton launches, compiled and bound, whoever calls it: also what
Inductor generates.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from intelliperf_swizzle.records import Grid

if TYPE_CHECKING:
    from triton.compiler import CompiledKernel


class JitFunction(Hashable, Protocol):
    """A function of `triton.jit`."""

    fn: FunctionType
    arg_names: Sequence[str]

    def run(self, *args: object, grid: Grid, warmup: bool, **kwargs: object) -> CompiledKernel:
        """Launches it, or only compiles it."""


class Call(NamedTuple):
    """A launch: `kernel[grid](*args, **kwargs)`; `given`: by name, as tuners gave it on."""

    kernel: JitFunction
    args: tuple[object, ...]
    kwargs: dict[str, object]
    grid: Grid
    given: Mapping[str, object] = {}


class BoundCall(NamedTuple):
    """A launch as Triton makes it.

    Attributes:
        call: all arguments by position, options of the launch by name, the grid in numbers.
        empty: whether it has no program.
        name: of what was compiled; the same for launches of one specialisation.
        ttir: its text; None if it is not such that it can be interpreted.
    """

    call: Call
    empty: bool
    name: str
    ttir: str | None


Execute: TypeAlias = Callable[[], object]
_BEFORE_ARGUMENTS = 6
"""Of a launcher, after the grid: stream, function, metadata of kernel and launch, two hooks."""
_now = threading.local()


@contextmanager
def trials() -> Iterator[None]:
    """What is launched inside is a tuner's trial, and no launch of the application."""
    _now.trials = getattr(_now, "trials", 0) + 1
    try:
        yield
    finally:
        _now.trials -= 1


def around_each_launch(launch: Callable[[BoundCall, Execute], None]) -> None:
    """Hands each launch to `launch`, which executes it, or not."""
    from triton.compiler import CompiledKernel
    from triton.runtime.jit import JITFunction

    run, load = JITFunction.run, CompiledKernel._init_handles

    def hooked(self: JitFunction, *args: object, **kwargs: object) -> object:
        outer, _now.given = getattr(_now, "given", None), kwargs
        try:
            return run(self, *args, **kwargs)
        finally:
            _now.given = outer

    def loading(self: CompiledKernel) -> None:
        load(self)
        if not isinstance(self._run, WatchedLauncher):
            self._run = WatchedLauncher(self, self._run, launch)

    JITFunction.run, CompiledKernel._init_handles = hooked, loading


class WatchedLauncher:
    """What launches a compiled kernel.

    Args:
        kernel: the compiled kernel.
        run: its launcher.
        launch: is given each launch.
    """

    def __init__(
        self,
        kernel: CompiledKernel,
        run: Callable[..., object],
        launch: Callable[[BoundCall, Execute], None],
    ) -> None:
        self._kernel, self._run, self._launch = kernel, run, launch
        ttir = str(kernel.asm.get("ttir", ""))
        self._ttir = ttir if ttir and "!tt.tensordesc" not in ttir else None
        self._kinds = list(kernel.src.signature.values())
        self._options = {n: getattr(kernel.metadata, n) for n in ("num_warps", "num_stages")}

    def __call__(self, x: int, y: int, z: int, *given: Any) -> None:
        """Launches it on a grid, as Triton's launcher does, hooks around it included."""
        *before, metadata, enter, leave = given[:_BEFORE_ARGUMENTS]
        args = given[_BEFORE_ARGUMENTS:]

        def execute() -> object:
            return self._run(x, y, z, *before, metadata, None, None, *args)

        if enter is not None:
            enter(metadata)  # what it changes in memory, the launch sees
        if getattr(_now, "trials", 0):
            execute()
        else:
            self._launch(self._bind((int(x), int(y), int(z)), args), execute)
        if leave is not None:
            leave(metadata)

    def _bind(self, grid: Grid, args: Sequence[object]) -> BoundCall:
        kernel, named = self._kernel.src.fn, getattr(_now, "given", None)
        options = self._options
        if named is not None:
            known = {*kernel.arg_names, "grid", "warmup"}
            options = {name: value for name, value in named.items() if name not in known}
        call = Call(kernel, tuple(self._values(args)), options, grid, named or {})
        empty = 0 in grid  # Triton launches nothing then, and says nothing
        return BoundCall(call, empty, self._kernel.hash, self._ttir)

    def _values(self, args: Sequence[object]) -> Iterator[object]:
        """All arguments: a constexpr may be missing, or something else stand in its place."""
        constants = self._kernel.src.constants
        complete = len(args) == len(self._kinds)
        rest = iter(args)
        for place, kind in enumerate(self._kinds):
            if kind != "constexpr":
                yield next(rest)
                continue
            yield constants.get((place,), next(rest) if complete else None)
