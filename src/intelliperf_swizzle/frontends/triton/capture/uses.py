# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: which jit functions use which, found from the objects themselves.

A kernel that is edited may have helpers, and may be a helper, of functions in any module, launched
or not. What a function names is looked up as Triton does, in its globals and closure, so aliases,
imports and attributes of modules need no care. Functions are identified by file and line: several
objects may be made from one text, and an edit changes them all.
"""

import atexit
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from weakref import ref

from intelliperf_swizzle.frontends import ssa
from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.triton.capture.sources import is_aggregate, python_function
from intelliperf_swizzle.records import Launch

Place = tuple[str, int]
"""File and first line, decorators included, of a function."""

MOST_NESTING = 4
"""So deep are containers looked into for jit functions."""


class Uses:
    """Tells the journal what the jit functions of a process use.

    Args:
        folder: of the capture.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._functions: list[ref[types.FunctionType]] = []
        self._told: set[tuple[Place, Place]] = set()
        self._looked_at = 0

    def watch(self) -> None:
        """From now on knows each jit function that is made."""
        from triton.runtime.jit import JITFunction

        make = JITFunction.__init__

        def noting(jit_function: object, *args: object, **kwargs: object) -> None:
            make(jit_function, *args, **kwargs)
            if (function := _jit(jit_function)) is not None:
                self._functions.append(ref(function))

        JITFunction.__init__ = noting
        atexit.register(self.tell)

    def tell(self, first: int = 0) -> None:
        """Writes the uses that are new since the last time; names may be bound late.

        Args:
            first: number of the function from which on they are looked at, in order of making.
        """
        functions, self._looked_at = self._functions[first:], len(self._functions)
        named = cache(_named)
        for function in filter(None, [reference() for reference in functions]):
            user = place_of(function)
            used = {place_of(callee) for callee in [*ssa.reached([function], named)][1:]}
            if new := sorted(place for place in used if (user, place) not in self._told):
                self._told |= {(user, place) for place in new}
                journal.write(self._folder, "uses", name=function.__name__, user=user, used=new)

    def tell_new(self) -> None:
        """Writes those of functions that have been made since the last time."""
        self.tell(self._looked_at)


# --- what a function names ------------------------------------------------------------------------


def _named(function: types.FunctionType) -> list[types.FunctionType]:
    """The plain functions of the jit functions that a function names."""
    return [f for value in _values(inspect.unwrap(function)) for f in _functions_in(value)]


def place_of(function: types.FunctionType) -> Place:
    """Where a function is written."""
    function = inspect.unwrap(function)
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    return (str(Path(file).resolve()), function.__code__.co_firstlineno)


def _values(function: types.FunctionType) -> Iterator[object]:
    """What a function takes from outside: default values, globals, cells; and all that it may ask
    these for, by any name in it."""
    codes = [function.__code__]
    for code in codes:  # grows by comprehensions and functions in it
        codes += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
    names = {name for code in codes for name in (*code.co_names, *code.co_freevars)}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    held = {name: _attribute(cell, "cell_contents") for name, cell in cells}
    scope = {**function.__globals__, **held}
    found = [scope[name] for name in names & scope.keys()]
    yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    for _ in range(MOST_NESTING):
        yield from found
        found = [_attribute(value, name) for value in found for name in names]
        found = [*{id(value): value for value in found if value is not None}.values()]


def _attribute(value: object, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # a property of the application's own, a cell that is not bound yet
        return None


def _functions_in(value: object, depth: int = 0) -> Iterator[types.FunctionType]:
    """The plain functions of the jit functions that a value is or holds."""
    if (function := _jit(value)) is not None:
        yield function
    elif depth < MOST_NESTING:
        for inner in _holds(value):
            yield from _functions_in(inner, depth + 1)


def _holds(value: object) -> Iterable[object]:
    if isinstance(value, (tuple, list, set, frozenset)):
        return value
    if isinstance(value, Mapping):
        return list(value.values())
    if type(value).__name__ == "constexpr":
        return (_attribute(value, "value"),)
    if is_aggregate(value):
        return list(vars(value).values())
    return ()


def _jit(value: object) -> types.FunctionType | None:
    """The plain function below a jit function and what is wrapped around it, None of others."""
    if isinstance(value, (type, types.ModuleType)) or not hasattr(type(value), "__getitem__"):
        return None  # `kernel[grid]`
    try:
        return python_function(_attribute(value, "fn"))
    except AttributeError:
        return None


# --- what it means for a recorded kernel ----------------------------------------------------------


def with_other_users(launches: list[Launch], events: Iterable[Mapping[str, Any]]) -> list[Launch]:
    """The launches with the users that their kernels' functions have beside the kernel.

    Args:
        launches: all that were recorded; what a launch hands to its kernel is in its source.
        events: `uses` of the journals of all processes.
    """
    users: dict[Place, dict[Place, str]] = {}
    for event in events:
        for file, line in event["used"]:
            users.setdefault((file, line), {})[tuple(event["user"])] = event["name"]
    own: dict[Place, set[Place]] = {}
    for launch in launches:
        entry = _entry(launch)
        places = {(f.file, f.first_line) for f in launch.source.functions.values()}
        own.setdefault(entry, set()).update(places)
        for place in places - {entry}:
            users.setdefault(place, {})[entry] = launch.kernel
    launched = frozenset(own)
    return [
        _with_other_users(launch, users, (own[_entry(launch)] - launched) | {_entry(launch)})
        for launch in launches
    ]


def _entry(launch: Launch) -> Place:
    return (launch.source.entry.file, launch.source.entry.first_line)


def _with_other_users(
    launch: Launch, users: Mapping[Place, Mapping[Place, str]], own: set[Place]
) -> Launch:
    entry = _entry(launch)
    functions = {}
    for key, function in launch.source.functions.items():
        place = (function.file, function.first_line)
        inner = {entry} if place == entry else own
        others = {at: name for at, name in users.get(place, {}).items() if at not in inner}
        # a helper that is launched, too, is its own user
        if place != entry and place not in own:
            others[place] = function.name
        places = tuple(f"`{name}` ({at[0]}:{at[1]})" for at, name in sorted(others.items()))
        functions[key] = replace(function, other_users=places)
    return replace(launch, source=replace(launch.source, functions=functions))
