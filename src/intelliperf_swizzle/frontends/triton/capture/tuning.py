# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What chooses among kernels: `triton.autotune` with its configurations, and `torch.compile`.

Each kernel that Inductor generates has a `CachingAutotuner`
(torch/_inductor/runtime/triton_heuristics.py), which has it compiled and tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from types import FunctionType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from intelliperf_swizzle.frontends.triton.capture.calls import trials
from intelliperf_swizzle.frontends.triton.capture.sources import constant, python_function
from intelliperf_swizzle.records import Launch

Configs: TypeAlias = tuple[Mapping[str, Any], ...]

VARIABLES = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER": "0"}
"""Of the application: kernels are compiled in it, and launched by Triton's launcher."""
_TUNER = "CachingAutotuner"
_UNNAMED = "triton_"
"""A kernel that Inductor times before it decides what to fuse."""

_configs: WeakKeyDictionary[FunctionType, Configs] = WeakKeyDictionary()


def watch(*, timed: bool) -> None:
    """Inside the application: from now on knows the configurations of each kernel, and trials.

    Args:
        timed: whether choices can be told apart by their times; without a GPU the first is taken.
    """
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import KernelInterface

    make, bench = Autotuner.__init__, Autotuner._bench

    def noting(tuner: Autotuner, *args: object, **kwargs: object) -> None:
        make(tuner, *args, **kwargs)
        _configs[python_function(tuner)] = tuple(
            {name: constant(value) for name, value in config.all_kwargs().items()}
            for config in tuner.configs
        )

    def benched(tuner: Autotuner, *args: object, **kwargs: object) -> object:
        with trials():
            return bench(tuner, *args, **kwargs)

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
    Autotuner.__init__, Autotuner._bench = noting, benched


def _apart(launch: Callable[..., Any], *, always: bool = False) -> Callable[..., Any]:
    """A tuner's method, with its trials apart from the application's launches."""

    def launched(tuner: Any, *args: object, **kwargs: Any) -> Any:
        trial = always or kwargs.get("benchmark_run") or tuner.fn.__name__ == _UNNAMED
        with trials() if trial else nullcontext():
            return launch(tuner, *args, **kwargs)

    return launched


def configs_of(function: FunctionType) -> Configs:
    """The configurations of a kernel, by its plain function; empty if it is not tuned."""
    return _configs.get(function, ())


def describe_configs(launches: Iterable[Launch], *, timed: bool) -> list[str]:
    """A line for each tuned kernel: of which of its configurations all numbers are.

    Args:
        launches: of an application.
        timed: whether the autotuner timed them, on a GPU.
    """
    tuned: dict[tuple[str, str], list[Launch]] = {}
    for launch in launches:
        if len(launch.configs) > 1:
            tuned.setdefault((launch.kernel, launch.source.entry.file), []).append(launch)
    how = "the fastest" if timed else "the first that its pruning leaves, as nothing is timed"
    return [
        f"`{kernel}` is tuned (triton.autotune): all numbers are of "
        f"{_in_words(dict.fromkeys(one.config for one in known), known[0].configs)} of "
        f"{len(known[0].configs)}, {how}; a patch leaves those of other constexprs as they are"
        for (kernel, _), known in tuned.items()
    ]


def _in_words(recorded: Iterable[int | None], configs: Configs) -> str:
    """The recorded configurations, with what they have not in common with all others."""
    varying = {n for one in configs for n, v in one.items() if any(c.get(n) != v for c in configs)}
    told = {
        number: " ".join(f"{n}={v}" for n, v in one.items() if n in varying)
        for number, one in enumerate(configs)
    }
    words = (f"number {n + 1} ({told[n]})" if n is not None else "one of its own" for n in recorded)
    return " and ".join(words)
