# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The configurations of `triton.autotune` that no launch was recorded with.

A patch stands under the tuner and so in all of them, but what programs do to each other is known of
the recorded ones alone: another one may split a sum, or keep a counter. So its lines stand under a
condition that Triton decides when it compiles, and in the others the kernel keeps its order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from intelliperf_swizzle.records import Launch


def other_configs(launches: Sequence[Launch]) -> list[Mapping[str, Any]]:
    """The constexprs of each configuration that none of a kernel's launches has."""
    first = launches[0]
    own = [{n: v for n, v in one.items() if n in first.constexprs} for one in first.configs]
    others: list[Mapping[str, Any]] = []
    for one in own:
        recorded = any(
            all(launch.arguments.get(name) == value for name, value in one.items())
            for launch in launches
        )
        if not recorded and one not in others:
            others.append(one)
    return others


def recorded_only(launches: Sequence[Launch]) -> str | None:
    """What holds in the recorded configurations and in no other one; None if there is no other."""
    others = other_configs(launches)
    names = sorted({name for one in others for name in one})
    values = [{name: launch.arguments.get(name) for name in names} for launch in launches]
    differing = [name for name in names if any(a.get(name) != b[name] for a in others
                                               for b in values)]  # fmt: skip
    told = [" and ".join(f"{name} == {one[name]!r}" for name in differing) for one in values]
    distinct = list(dict.fromkeys(told))
    if not others:
        return None
    return distinct[0] if len(distinct) == 1 else " or ".join(f"({one})" for one in distinct)


def under(condition: str | None, lines: Sequence[str], plain: Mapping[str, str]) -> list[str]:
    """Statements that stand under a condition, with what their results are if it does not hold."""
    if condition is None:
        return list(lines)
    before = (f"{name} = {value}" for name, value in plain.items())
    return [*before, f"if {condition}:", *(f"    {line}" for line in lines)]


def with_config(launch: Launch, config: Mapping[str, Any]) -> Launch:
    """A launch as it would be with other constexprs; its grid may be another one."""
    return replace(launch, arguments={**launch.arguments, **config})
