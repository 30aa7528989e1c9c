# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: code of ours in front of each kernel launch."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

Before = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]
"""Called with the jit function, its positional and keyword arguments and the grid."""

Passes = dict[int, int]


def before_each_launch(before: Before, *, interpreted: bool, passes: Passes | None = None) -> None:
    """Calls `before`, and then launches as if nothing had been.

    An autotuner's trials are no launches of the application.

    Args:
        before: what is called.
        interpreted: whether kernels run under Triton's interpreter.
        passes: by `id` of a jit function, how many of its next launches `before` need not see;
            counted down here.
    """
    if interpreted:
        _before_interpreted(before)
        return
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    run, bench = JITFunction.run, Autotuner._bench
    free: Passes = {} if passes is None else passes
    tuning = 0

    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not tuning and not kwargs["warmup"]:
            options = {k: v for k, v in kwargs.items() if k not in ("grid", "warmup")}
            before(self, args, options, kwargs["grid"])
        return run(self, *args, **kwargs)

    def benched(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal tuning
        tuning += 1
        try:
            return bench(self, *args, **kwargs)
        finally:
            tuning -= 1

    JITFunction.run, Autotuner._bench = _RunMethod(run, hooked, free), benched


class _RunMethod:
    """`JITFunction.run`, which Triton looks up once for each launch.

    So a launch that need not be seen costs a look-up, a tenth of a microsecond, and no call of ours
    that would hand all arguments on: that is all in an endless loop of short ones.
    """

    def __init__(self, run: Callable[..., Any], hooked: Callable[..., Any], free: Passes) -> None:
        self._run = run
        self._hooked = hooked
        self._free = free

    def __get__(self, kernel: Any, owner: type | None = None) -> Callable[..., Any]:
        if kernel is None:
            return self._run
        left = self._free.get(id(kernel))
        if not left:
            return MethodType(self._hooked, kernel)
        self._free[id(kernel)] = left - 1
        return MethodType(self._run, kernel)


def _before_interpreted(before: Before) -> None:
    from triton.runtime.interpreter import InterpretedFunction

    from intelliperf_swizzle.kernels.triton.capture.standin_triton import Compiled

    run = InterpretedFunction.run

    def hooked(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if not warmup:
            before(self, args, kwargs, grid)
            run(self, *args, grid=grid, warmup=False, **kwargs)
        return Compiled(self, kwargs)

    InterpretedFunction.run = hooked
