# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: what `torch.compile` generates, apart from its trials.

Each kernel that Inductor generates has a `CachingAutotuner`
(torch/_inductor/runtime/triton_heuristics.py), which has it compiled and tried.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from intelliperf_swizzle.frontends.triton.capture.calls import trials

VARIABLES = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER": "0"}
"""Of the application: kernels are compiled in it, and launched by Triton's launcher."""
_TUNER = "CachingAutotuner"


def watch(*, timed: bool) -> None:
    """Sees Inductor's runtime when it is imported.

    Args:
        timed: whether configurations can be told apart by their times; without a GPU the first is
            taken.
    """
    from triton.runtime.jit import KernelInterface

    def made(kind: Any, /, **options: object) -> None:
        super(KernelInterface, kind).__init_subclass__(**options)
        if kind.__name__ == _TUNER:
            kind.run, kind.bench = _watched(kind.run), _tried(kind.bench, timed=timed)

    KernelInterface.__init_subclass__ = classmethod(made)


def _watched(run: Callable[..., object]) -> Callable[..., object]:
    def watched(tuner: Any, *args: object, benchmark_run: bool = False, **kwargs: Any) -> object:
        if not benchmark_run:
            return run(tuner, *args, **kwargs)
        with trials():
            return run(tuner, *args, benchmark_run=True, **kwargs)

    return watched


def _tried(bench: Callable[..., float], *, timed: bool) -> Callable[..., float]:
    def tried(tuner: Any, *args: object, **kwargs: Any) -> float:
        with trials():
            return bench(tuner, *args, **kwargs) if timed else 1.0

    return tried
