# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The configurations of `triton.autotune` that no launch was recorded with.

A patch stands under the tuner and so in all of them, but what programs do to each other is known of
the recorded ones alone: another one may split a sum, or keep a counter. So its lines stand under a
condition that Triton decides when it compiles, and in the others the kernel keeps its order.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.triton.source.reads import definition, language_name, where
from intelliperf_swizzle.records import DtypeArgument, FunctionArgument, Launch, TensorArgument
from intelliperf_swizzle.records.launches import as_written

_POINTER = "pointer<"
"""How Triton's names of the types of tensors begin; another value of such an argument is None."""


def other_configs(launches: Sequence[Launch]) -> list[Mapping[str, Any]]:
    """The constexprs of each configuration that none of a kernel's launches has."""
    first, recorded = launches[0], [launch.arguments.items() for launch in launches]
    own = [{n: v for n, v in config.items() if n in first.constexprs} for config in first.configs]
    return [c for c in _distinct(own) if not any(c.items() <= items for items in recorded)]


def recorded_configs(
    launches: Sequence[Launch], *, digested: bool = False
) -> list[Mapping[str, Any]]:
    """The values of constexprs that distinguish the recorded configurations; may be empty.

    What `triton.heuristics` chooses counts, too: which values there are is not known. Functions
    that the kernel's identity distinguishes do not count if that is compared: `digested`.

    Raises:
        SpliceError: they cannot be expressed as a condition.
    """
    first, others = launches[0], other_configs(launches)
    names, recorded = {n for config in others for n in config}, [x.arguments for x in launches]
    decisive = {n for n in names if any(a.get(n) != b.get(n) for a in others for b in recorded)}
    computed = [item for launch in launches for item in launch.source.computed.items()]
    by_digest = {n for n, v in computed if digested and isinstance(v, list) and v[1:]}
    by_digest -= {n for n, v in computed if not (isinstance(v, list) and v[1:])}
    passed = {n for n in first.fixed if isinstance(first.arguments.get(n), FunctionArgument)}
    decisive |= _chosen_by_heuristics(first) | {*first.fixed, *dict(computed)} - by_digest
    decisive -= passed if digested else set()
    decisive = {part for name in decisive for part in _parts(first, name)}
    known = [_values(launch) for launch in launches]
    for name in sorted(decisive):
        values = [held.get(name, ...) for held in known]
        value = next((item for item in values if isinstance(item, list)), values[0])
        alike = all(name in held for held in known) or "[" not in name
        if not alike or not isinstance(value, int | float | str | DtypeArgument | None):
            place = value[0] if isinstance(value, list) else where(first.source.entry, 1)
            raise SpliceError(f"{place}: a patch cannot test `{name}`, which decides accesses")
    return _distinct([{n: named.get(n) for n in sorted(decisive)} for named in known])


def conditions(launches: Sequence[Launch]) -> tuple[str, str]:
    """`recorded_configs` as a condition, empty if there is no other configuration; and one on
    floats, and numbers in tuples, that decide what is accessed.

    Raises:
        SpliceError: as there, or launches differ in both.
    """
    both, entry, values = [], launches[0].source.entry, recorded_configs(launches)
    leaves = (n for n, leaf in launches[0].leaves()
              if isinstance(leaf, float) or ("." in n and isinstance(leaf, int)))  # fmt: skip
    numbers = {*map(as_written, leaves)}
    for own in (False, True):
        rows = _distinct([{n: v for n, v in a.items() if (n in numbers) is own} for a in values])
        tests = [" and ".join(_test(*kv, language_name(entry)) for kv in a.items()) for a in rows]
        both.append(" or ".join(f"({test})" if len(tests) > 1 else test for test in tests))
    if all(" or " in text for text in both):
        raise SpliceError(f"{where(entry, 1)}: launches differ in numbers and in constexprs")
    return both[0], both[1]


def _distinct(values: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [value for at, value in enumerate(values) if value and value not in values[:at]]


def _test(name: str, value: object, language: str | None) -> str:
    if isinstance(value, DtypeArgument) and value.name.startswith(_POINTER):
        return f"{name} is not None"
    if isinstance(value, DtypeArgument):
        bits = re.sub(r"^fp|^bf", lambda kind: {"fp": "float", "bf": "bfloat"}[kind[0]], value.name)
        return f"{name} == {language}.{bits}"
    return f"{name} {'is' if value is None else '=='} {value!r}"


def _values(launch: Launch) -> dict[str, Any]:
    """What a launch was made with, by the names that the kernel has for it."""
    types = {f"{n}.dtype.element_ty": DtypeArgument(tensor.dtype) for n, tensor in launch.tensors()}
    every = launch.leaves(compiled_in=True)
    leaves = {as_written(name): value for name, value in every} | {**launch.arguments}
    tensors = {n: value for n, value in leaves.items() if isinstance(value, TensorArgument)}
    pointers = {n: DtypeArgument(f"{_POINTER}{tensor.dtype}>") for n, tensor in tensors.items()}
    return {**launch.source.computed, **types, **leaves, **pointers}


def _parts(launch: Launch, name: str) -> list[str]:
    """What is tested of an argument; of a tuple, each of its items, and of these what is asked."""
    leaves = (leaf for leaf, _ in launch.leaves(compiled_in=True) if leaf.startswith(f"{name}."))
    parts = [*map(as_written, leaves)] if isinstance(launch.arguments.get(name), tuple) else []
    types = (f"{part}.dtype.element_ty" for part in parts)
    return [*parts, *(asked for asked in types if asked in launch.source.entry.text)] or [name]


def _chosen_by_heuristics(launch: Launch) -> set[str]:
    """The constexprs that `triton.heuristics` chooses; all of them if its text does not say."""
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
