# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The configurations that `triton.autotune` chooses from, and which of them was recorded."""

from __future__ import annotations

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
