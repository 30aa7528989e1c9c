# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The configurations that `triton.autotune` chooses from, and which of them was recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from intelliperf_swizzle.frontends.triton.capture.sources import constant, python_function
from intelliperf_swizzle.records import Launch

Configs: TypeAlias = tuple[Mapping[str, Any], ...]

_configs: WeakKeyDictionary[FunctionType, Configs] = WeakKeyDictionary()


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
        f"{_in_words(recorded[kernel])}, {how}; where constexprs differ, a patch leaves the others "
        f"as they are. Configurations: {_listed(configs[kernel])}"
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
