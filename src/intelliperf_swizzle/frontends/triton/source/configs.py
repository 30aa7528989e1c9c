# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The configurations of `triton.autotune` that no launch was recorded with.

A patch stands under the tuner and so in all of them, but what programs do to each other is known of
the recorded ones alone: another one may split a sum, or keep a counter. So its lines stand under a
condition that Triton decides when it compiles, and in the others the kernel keeps its order.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.triton.source.reads import definition
from intelliperf_swizzle.records import Launch


def other_configs(launches: Sequence[Launch]) -> list[Mapping[str, Any]]:
    """The constexprs of each configuration that none of a kernel's launches has."""
    first = launches[0]
    own = [{n: v for n, v in config.items() if n in first.constexprs} for config in first.configs]
    others: list[Mapping[str, Any]] = []
    for one in own:
        recorded = any(
            all(launch.arguments.get(name) == value for name, value in one.items())
            for launch in launches
        )
        if not recorded and one not in others:
            others.append(one)
    return others


def recorded_configs(launches: Sequence[Launch]) -> list[Mapping[str, Any]]:
    """The values of constexprs that tell the recorded configurations from others; may be empty.

    What `triton.heuristics` chooses counts, too: which values there are is not known.

    Raises:
        SpliceError: they cannot be said in a condition.
    """
    others = other_configs(launches)
    names = {name for other in others for name in other}
    recorded = [{name: launch.arguments.get(name) for name in names} for launch in launches]
    decisive = {name for name in names if any(a.get(name) != b[name] for a in others
                                              for b in recorded)}  # fmt: skip
    decisive |= _chosen_by_heuristics(launches[0]) | {*launches[0].fixed}
    said = (int, float, str, type(None))
    if odd := [n for n in decisive if not isinstance(launches[0].arguments.get(n, ...), said)]:
        raise SpliceError(
            "a patch cannot be limited to the configuration that was recorded: "
            f"`{odd[0]}` is no number",
            hint="launch the kernel with all of its configurations",
        )
    values = [{n: launch.arguments.get(n) for n in sorted(decisive)} for launch in launches]
    return [one for at, one in enumerate(values) if one and one not in values[:at]]


def recorded_only(launches: Sequence[Launch]) -> str:
    """`recorded_configs` as a condition; empty if there is no other configuration."""
    configs = recorded_configs(launches)
    distinct = [
        " and ".join(f"{n} {'is' if v is None else '=='} {v!r}" for n, v in one.items())
        for one in configs
    ]
    return distinct[0] if len(distinct) == 1 else " or ".join(f"({one})" for one in distinct)


def _chosen_by_heuristics(launch: Launch) -> set[str]:
    """The constexprs that `triton.heuristics` chooses; all of them if its text does not tell."""
    found: set[str] = set()
    for decorator in definition(launch.source.entry).decorator_list:
        if not isinstance(decorator, ast.Call) or "heuristics" not in ast.unparse(decorator.func):
            continue
        values = decorator.args[0] if decorator.args else decorator.keywords[0].value
        keys = values.keys if isinstance(values, ast.Dict) else [None]
        names = [str(key.value) for key in keys if isinstance(key, ast.Constant)]
        found |= {*names} if len(names) == len(keys) else {*launch.constexprs}
    return found & {*launch.constexprs}


def under(condition: str, lines: Sequence[str], plain: Mapping[str, str]) -> list[str]:
    """Statements that stand under a condition, with what their results are if it does not hold.

    Without a condition they stand by themselves.
    """
    if not condition:
        return list(lines)
    before = (f"{name} = {value}" for name, value in plain.items())
    return [*before, f"if {condition}:", *(f"    {line}" for line in lines)]
