# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The configurations of `triton.autotune` that no launch was recorded with.

A patch stands under the tuner and so in all of them, but what programs do to each other is known of
the recorded ones alone: another one may split a sum, or keep a counter. So its lines stand under a
condition that Triton decides when it compiles, and in the others the kernel keeps its order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.triton.source.reads import definition, language_name, where
from intelliperf_swizzle.records import DtypeArgument, Launch


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
    first, others = launches[0], other_configs(launches)
    names = {name for other in others for name in other}
    recorded = [{name: launch.arguments.get(name) for name in names} for launch in launches]
    decisive = {name for name in names if any(a.get(name) != b[name] for a in others
                                              for b in recorded)}  # fmt: skip
    known = [_named_values(launch) for launch in launches]
    decisive |= _chosen_by_heuristics(first) | {*first.fixed, *first.source.computed}
    for name in sorted(decisive):
        value = known[0].get(name, ...)
        if not isinstance(value, int | float | str | DtypeArgument | None):
            place = value[0] if isinstance(value, list) else where(first.source.entry, 1)
            raise SpliceError(
                f"{place}: a patch cannot test what `{name}` is, which decides what is compiled",
                hint="make it an argument of the kernel, or launch it with all that it may be",
            )
    compiled = sorted(n for n in decisive if not _is_number(n, known[0]))
    return _distinct([{n: one.get(n) for n in compiled} for one in known])


def recorded_numbers(launches: Sequence[Launch]) -> str:
    """A condition on floats, and numbers in tuples, that decide what is accessed; mostly empty.

    Raises:
        SpliceError: launches differ in these as well as in constexprs.
    """
    known = [_named_values(launch) for launch in launches]
    names = sorted(n for n in launches[0].fixed if _is_number(n, known[0]))
    distinct = _distinct([{n: one.get(n) for n in names} for one in known])
    if len(distinct) > 1 and len(recorded_configs(launches)) > 1:
        told = f"{where(launches[0].source.entry, 1)}: launches differ in `{names[0]}`"
        raise SpliceError(f"{told} and in constexprs", hint="make it a constexpr")
    each = (" & ".join(f"({n} == {v!r})" for n, v in one.items()) for one in distinct)
    return " | ".join(f"({one})" if len(distinct) > 1 else one for one in each)


def _distinct(values: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [one for at, one in enumerate(values) if one and one not in values[:at]]


def _is_number(name: str, known: Mapping[str, Any]) -> bool:
    return isinstance(known.get(name), float) or name.endswith("]")


def recorded_only(launches: Sequence[Launch]) -> str:
    """`recorded_configs` as a condition; empty if there is no other configuration."""
    configs = recorded_configs(launches)
    language = language_name(launches[0].source.entry)
    distinct = [" and ".join(_test(n, v, language) for n, v in one.items()) for one in configs]
    return distinct[0] if len(distinct) == 1 else " or ".join(f"({one})" for one in distinct)


def _test(name: str, value: object, language: str | None) -> str:
    if isinstance(value, DtypeArgument):
        bits = re.sub(r"^fp|^bf", lambda kind: {"fp": "float", "bf": "bfloat"}[kind[0]], value.name)
        return f"{name} == {language}.{bits}"
    return f"{name} {'is' if value is None else '=='} {value!r}"


def _named_values(launch: Launch) -> dict[str, Any]:
    """What a launch was made with, by the names that the kernel has for it."""
    leaves = ((re.sub(r"\.(\d+)", r"[\1]", name), value) for name, value in launch.leaves())
    types = {f"{n}.dtype.element_ty": DtypeArgument(one.dtype) for n, one in launch.tensors()}
    return {**launch.source.computed, **types, **dict(leaves), **launch.arguments}


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
