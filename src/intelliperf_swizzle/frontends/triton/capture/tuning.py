# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What chooses among kernels: `triton.autotune` with its configurations, and `torch.compile`.

Each kernel that Inductor generates has a `CachingAutotuner`
(torch/_inductor/runtime/triton_heuristics.py), which has it compiled and tried.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from types import FunctionType
from typing import Any
from weakref import WeakValueDictionary

from intelliperf_swizzle.children import cores
from intelliperf_swizzle.frontends.triton.capture.calls import Call, JitFunction, trials
from intelliperf_swizzle.frontends.triton.capture.sources import constant, python_function
from intelliperf_swizzle.frontends.triton.capture.uses import place_of

VARIABLES = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER": "0"}
"""Of the application: kernels are compiled in it, and launched by Triton's launcher."""
_TUNER = "CachingAutotuner"
_UNNAMED = "triton_"  # a kernel that Inductor times before it decides what to fuse

_TILE = re.compile(r"\bBLOCK_[MN] *: *tl\.constexpr = (\d+)")

_tried: dict[FunctionType, set[str]] = {}
_tuners: WeakValueDictionary[FunctionType, Any] = WeakValueDictionary()


def watch(*, timed: bool) -> None:
    """Inside the application: from now on knows the configurations of each kernel, and trials.

    Args:
        timed: whether choices can be compared by their times; without a GPU the first is taken.
    """
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import KernelInterface

    from intelliperf_swizzle.frontends.triton.capture.unknown import decide  # it needs torch

    make, prune, bench = Autotuner.__init__, Autotuner.prune_configs, Autotuner._bench

    def noting(tuner: Autotuner, *args: object, **kwargs: object) -> None:
        make(tuner, *args, **kwargs)
        _tuners[python_function(tuner)] = tuner

    def pruned(tuner: Autotuner, given: dict[str, Any]) -> Sequence[Any]:
        tuner.pruned = [*prune(tuner, given)]  # by code of the application's
        return tuner.pruned  # type: ignore[no-any-return]

    def benched(tuner: Autotuner, *args: object, **kwargs: object) -> object:
        with trials():
            if timed:
                compile_choices(tuner, args, **kwargs)
            else:
                _tried[python_function(tuner)] = {*tuner.reset_to_zero, *tuner.restore_value}
                decide(_place_of_hook(tuner))
            return bench(tuner, *args, **kwargs)

    def made(kind: Any, /, **options: object) -> None:
        super(KernelInterface, kind).__init_subclass__(**options)
        if kind.__name__ == _TUNER:
            kind.run, kind.bench = _apart(kind.run), _apart(kind.bench, always=True)
            if not timed:
                from torch._inductor.runtime import benchmarking

                for tool in vars(benchmarking).values():
                    if hasattr(tool, "benchmark_gpu"):
                        tool.benchmark = tool.benchmark_gpu = _traffic

    KernelInterface.__init_subclass__ = classmethod(made)
    Autotuner.__init__, Autotuner.prune_configs, Autotuner._bench = noting, pruned, benched


def _place_of_hook(tuner: Any) -> str:
    """Where a hook of the application's is that trials call; empty if there is none."""
    hooks = (tuner.pre_hook, tuner.post_hook, *(config.pre_hook for config in tuner.configs))
    own = (h for h in hooks if isinstance(h, FunctionType) and h.__module__[:7] != "triton.")
    return next((f"{Path(file).name}:{line}" for file, line in map(place_of, own)), "")


def kept_in_trials(kernel: JitFunction) -> set[str] | None:
    """Which arguments were reset or restored in the trials that a kernel's tuner would have made
    since this was asked last; None if it would have made none."""
    return _tried.pop(python_function(kernel), None)


def _traffic(*trial: object, **_: object) -> float:
    """In place of a time of a kernel of Inductor's: of a matrix product what its programs read for
    each multiplication, so that the largest tiles are taken; the same of any other."""
    tuners = (getattr(getattr(part, "func", None), "__self__", None) for part in trial)
    tile = _TILE.findall("".join(getattr(getattr(t, "fn", None), "src", "") for t in tuners))
    return sum(1 / int(extent) for extent in tile) or 1.0


def compile_choices(tuner: Any, args: Sequence[object], config: object, **given: Any) -> None:
    """Before the first of a tuner's trials, compiles them all at once, which else takes longest.

    What cannot be compiled fails again when it is tried. A hook of a configuration may change
    arguments, and so what is compiled: then nothing is done.
    """
    from triton.runtime._async_compile import AsyncCompileMode

    choices = tuner.pruned
    if config is not choices[0] or any(choice.pre_hook for choice in choices):
        return
    pool = ThreadPoolExecutor(cores())
    with suppress(Exception), pool, AsyncCompileMode(pool, ignore_errors=True):
        for choice in choices:
            tuner.fn.run(*args, **{**given, **choice.all_kwargs(), "warmup": True})


def _apart(launch: Callable[..., Any], *, always: bool = False) -> Callable[..., Any]:
    """A tuner's method, with its trials apart from the application's launches."""

    def launched(tuner: Any, *args: object, **kwargs: Any) -> Any:
        trial = always or kwargs.get("benchmark_run") or tuner.fn.__name__ == _UNNAMED
        with trials() if trial else nullcontext():
            return launch(tuner, *args, **kwargs)

    return launched


def choices(call: Call, tensors: tuple[str, ...] = ()) -> dict[str, Any]:
    """`configs` and `tuned` of a launch: with each configuration that its tuner would time,
    constexprs, what heuristics make of them, options, and `grid`; `varying`, if a hook may
    change `tensors`."""
    if (tuner := _tuners.get(python_function(call.kernel))) is None:
        return {}
    found: dict[str, Any] = {"configs": tuple(_constants(c.all_kwargs()) for c in tuner.configs)}
    if _place_of_hook(tuner):
        found["varying"] = tensors
    with suppress(Exception):  # code of the application's
        found["tuned"] = tuple(_choices(tuner, call.kernel, {**tuner.nargs, **call.given}))
    return found


def _choices(tuner: Any, kernel: object, given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    chosen = {*tuner.nargs}.union(*(config.all_kwargs() for config in tuner.configs))
    for config in tuner.prune_configs({n: given[n] for n in given.keys() - chosen}):
        values, inner = config.all_kwargs(), tuner.fn
        while inner is not kernel:
            for name, heuristic in inner.values.items():
                values[name] = heuristic({**given, **values})
            inner = inner.fn
        grid = given["grid"]({**given, **values}) if callable(given["grid"]) else given["grid"]
        yield {**_constants(values), "grid": [*map(int, grid), 1, 1][:3]}


def _constants(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: constant(value) for name, value in values.items()}
