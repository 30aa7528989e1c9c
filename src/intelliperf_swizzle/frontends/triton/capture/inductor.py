# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, on a GPU: what `torch.compile` generates and launches itself.

Inductor compiles its kernels with Triton and launches the binary, past `JITFunction.run`. Each has
a `CachingAutotuner` (torch/_inductor/runtime/triton_heuristics.py), whose `run` the generated code
calls with the tensors and sizes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from intelliperf_swizzle.frontends.triton.capture.calls import Before, Call

_TUNER = "CachingAutotuner"
_KNOWN = "_intelliperf_swizzle_known"


def watch(before: Before, on_failure: Callable[[str], None]) -> None:
    """Calls `before` for each launch, once Inductor's runtime has been imported.

    Args:
        before: what is called.
        on_failure: called with a sentence if a launch cannot be understood.
    """
    from triton.runtime.jit import KernelInterface

    def made(kind: type, /, **options: object) -> None:
        super(KernelInterface, kind).__init_subclass__(**options)
        if kind.__name__ == _TUNER:
            kind.run = _watched(kind.run, before, on_failure)  # type: ignore[attr-defined]

    KernelInterface.__init_subclass__ = classmethod(made)


def _watched(
    run: Callable[..., object], before: Before, on_failure: Callable[[str], None]
) -> Callable[..., object]:
    def look(tuner: Any, args: tuple[object, ...], grid: Any) -> None:
        try:
            call = _call(tuner, args, grid)
        except Exception as error:  # another version of torch
            name = tuner.inductor_meta.get("kernel_name", "a kernel")
            on_failure(f"launches of `{name}`, which Inductor made, are missing: {error!r}")
        else:
            before(call)

    def watched(
        tuner: Any, *args: object, stream: object, benchmark_run: bool = False, **kwargs: Any
    ) -> object:
        if benchmark_run:
            return run(tuner, *args, stream=stream, benchmark_run=True, **kwargs)
        known = hasattr(tuner, _KNOWN)
        if known:
            look(tuner, args, kwargs.get("grid"))
        result = run(tuner, *args, stream=stream, **kwargs)
        if not known:  # only the first launch decides on a configuration
            setattr(tuner, _KNOWN, True)
            look(tuner, args, kwargs.get("grid"))
        return result

    return watched


def _call(tuner: Any, args: tuple[object, ...], grid: Any) -> Call:
    """A launch as `kernel[grid](**kwargs)` would make it.

    Args:
        tuner: of the kernel; one launcher is left.
        args: in the order of the launcher's parameters.
        grid: where torch hands it over; in newer ones the launcher computes it.
    """
    if tuner.fn.fn is None:  # it was compiled in another process
        tuner.fn = tuner._reload_kernel().fn
    (launcher,) = tuner.launchers
    names = launcher.__code__.co_varnames[: launcher.__code__.co_argcount]
    given = dict(zip((one for one in names if one not in ("grid", "stream")), args, strict=True))
    config = launcher.config
    bound = {**tuner.triton_meta.get("constants", {}), **config.kwargs, **given}
    if grid is None:
        heuristics = importlib.import_module(type(tuner).__module__)
        grid = heuristics.GridExpr.from_meta(tuner.inductor_meta, config).eval_slow(bound)
    elif callable(grid):
        grid = grid(bound)
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    kwargs = {name: bound[name] for name in tuner.fn.arg_names if name in bound}
    return Call(tuner.fn, (), {**kwargs, **options}, grid)
