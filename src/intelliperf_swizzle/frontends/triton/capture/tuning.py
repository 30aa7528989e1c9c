# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The configurations that `triton.autotune` chooses from, and which of them was recorded.

Where all are to be recorded, each launch of a tuned kernel is followed by calls of the kernel with
each other configuration that the tuner's pruning leaves, which launch nothing: only the arguments
and the grid are of interest, and heuristics make some of them.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from intelliperf_swizzle.frontends.triton.capture.sources import constant, python_function
from intelliperf_swizzle.records import Launch

Configs: TypeAlias = tuple[Mapping[str, Any], ...]

_configs: WeakKeyDictionary[FunctionType, Configs] = WeakKeyDictionary()
_now = threading.local()


def is_other_config() -> bool:
    """Whether a call is one that the application has not made, with another configuration."""
    return getattr(_now, "other", False)


def watch_all() -> None:
    """Inside the application: from now on tuned kernels are called with all configurations."""
    from triton.runtime.autotuner import Autotuner

    run, prune = Autotuner.run, Autotuner.prune_configs
    left: WeakKeyDictionary[Autotuner, Sequence[Any]] = WeakKeyDictionary()

    def pruning(self: Autotuner, *args: object, **kwargs: object) -> Sequence[Any]:
        left[self] = prune(self, *args, **kwargs)
        return left[self]

    def running(self: Autotuner, *args: object, **kwargs: object) -> object:
        launched = run(self, *args, **kwargs)
        chosen = self.best_config
        _now.other = not kwargs.get("warmup")
        try:
            for one in left.get(self, self.configs) if _now.other else ():
                with suppress(Exception):  # it does not fit what the application passes
                    if one is not chosen:
                        self.fn.run(*args, **kwargs, **one.all_kwargs())
        finally:
            _now.other = False
        return launched

    Autotuner.run, Autotuner.prune_configs = running, pruning


def watch() -> None:
    """Inside the application: from now on knows the configurations of each kernel."""
    from triton.runtime.autotuner import Autotuner

    make = Autotuner.__init__

    def noting(tuner: Autotuner, *args: object, **kwargs: object) -> None:
        make(tuner, *args, **kwargs)
        _configs[python_function(tuner)] = tuple(
            {name: constant(value) for name, value in one.all_kwargs().items()}
            for one in tuner.configs
        )

    Autotuner.__init__ = noting


def configs_of(function: FunctionType) -> Configs:
    """The configurations of a kernel, by its plain function; empty if it is not tuned."""
    return _configs.get(function, ())


def describe_configs(launches: Iterable[Launch], *, timed: bool) -> list[str]:
    """A sentence for each tuned kernel: its configurations, and which were recorded.

    Args:
        launches: of an application.
        timed: whether the autotuner timed them, on a GPU.
    """
    recorded: dict[tuple[str, str], Counter[int | None]] = {}
    configs: dict[tuple[str, str], Configs] = {}
    for launch in launches:
        if len(launch.configs) > 1:
            kernel = (launch.kernel, launch.source.entry.file)
            configs[kernel] = launch.configs
            recorded.setdefault(kernel, Counter())[launch.config] += launch.count
    how = "the fastest" if timed else "the first that its pruning leaves, since nothing is timed"
    return [
        f"`{kernel[0]}` is tuned (triton.autotune). Recorded, and what all numbers are of: "
        f"{_in_words(recorded[kernel])}, {how}. Configurations: {_listed(configs[kernel])}"
        for kernel in recorded
    ]


def _in_words(recorded: Counter[int | None]) -> str:
    return " and ".join(
        f"{'one of its own' if number is None else f'number {number + 1}'} ({times} launches)"
        for number, times in recorded.most_common()
    )


def _listed(configs: Configs) -> str:
    """The configurations by number, without what they have in common."""
    same = {n for n, value in configs[0].items() if all(one.get(n) == value for one in configs)}
    return "; ".join(
        f"{number}: " + " ".join(f"{n}={value}" for n, value in one.items() if n not in same)
        for number, one in enumerate(configs, 1)
    )
