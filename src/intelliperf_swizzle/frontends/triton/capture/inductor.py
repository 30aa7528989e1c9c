# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: what `torch.compile` generates, apart from its trials.

Each kernel that Inductor generates has a `CachingAutotuner`
(torch/_inductor/runtime/triton_heuristics.py), which has it compiled and tried.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from intelliperf_swizzle.frontends.triton.capture.calls import trials

VARIABLES = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER": "0"}
"""Of the application: kernels are compiled in it, and launched by Triton's launcher."""
_TUNER = "CachingAutotuner"
_UNNAMED = "triton_"
"""A kernel that Inductor times before it decides what to fuse."""


def watch(*, timed: bool) -> None:
    """Sees Inductor's runtime when it is imported.

    Args:
        timed: whether choices can be told apart by their times; without a GPU the first is taken.
    """
    from triton.runtime.jit import KernelInterface

    def made(kind: Any, /, **options: object) -> None:
        super(KernelInterface, kind).__init_subclass__(**options)
        if kind.__name__ == _TUNER:
            kind.run, kind.bench = _apart(kind.run), _apart(kind.bench, always=True)
            if not timed:
                from torch._inductor.runtime import benchmarking

                for each in vars(benchmarking).values():
                    if hasattr(each, "benchmark_gpu"):
                        each.benchmark = each.benchmark_gpu = lambda *_, **__: 1.0

    KernelInterface.__init_subclass__ = classmethod(made)


def _apart(launch: Callable[..., Any], *, always: bool = False) -> Callable[..., Any]:
    """A tuner's method, with its trials apart from the application's launches."""

    def launched(tuner: Any, *args: object, **kwargs: Any) -> Any:
        trial = always or kwargs.get("benchmark_run") or tuner.fn.__name__ == _UNNAMED
        with trials() if trial else nullcontext():
            return launch(tuner, *args, **kwargs)

    return launched
