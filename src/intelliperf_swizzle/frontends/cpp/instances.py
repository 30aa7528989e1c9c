# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The instances of a kernel's text: an edit changes all of them, and not all were recorded.

An edit is limited to the recorded instances of a template by what the compiler knows of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.cpp.execute.native import split_list
from intelliperf_swizzle.frontends.cpp.record.device_code import DeviceKernel
from intelliperf_swizzle.records import KernelSource, Launch

_PARAMETER = re.compile(r"(typename|class|[\w:]+(?: [\w:]+)*) (\w+)(?: ?=.*)?$")
_LOCAL = re.compile(r"Z(?:\d+\w+?|N\w+?E\w*?)E(?:\d|U|s)")
"""In a kernel's symbol: a type that is declared in a function, and has no name outside of it."""
_NUMBER = re.compile(r"(?:\((.+)\))?(-?\w+|'.+')$")


def same_place(kernel: DeviceKernel, source: KernelSource) -> bool:
    """Whether a compiled kernel is of the kernel that this text is of; a template has several."""
    if kernel.source is None:
        return False
    entry, other = kernel.source.entry, source.entry
    return (entry.file, entry.first_line) == (other.file, other.first_line)


def recorded_alone(
    launches: Sequence[Launch], program: Sequence[tuple[Path, DeviceKernel]]
) -> str | None:
    """The condition in C++ under which an instance is a recorded one; None if all of them are.

    Args:
        launches: all of one kernel.
        program: its kernels, each with its file.

    Raises:
        SpliceError: there is no such condition.
    """
    source = launches[0].source
    paths = {one.options["device_kernel"] for one in launches}
    own = [(str(path) in paths, kernel) for path, kernel in program if same_place(kernel, source)]
    others = [kernel for recorded, kernel in own if not recorded]
    if not others:
        return None
    arguments = [
        [_arguments(one.instance) for known, one in own if known is has] for has in (True, False)
    ]
    local = any(_LOCAL.search(kernel.code.symbol, 2) for recorded, kernel in own if recorded)
    condition = None if local else _condition(_parameters(source), *arguments)
    if condition is None:
        entry, which = source.entry, others[0].instance or others[0].code.symbol
        raise SpliceError(
            f"{entry.file}:{entry.first_line}: `{entry.name}` has the text of `{which}` too, which "
            "was not recorded and would be renumbered with it",
            hint="run the application so that it launches both, or give one a text of its own",
        )
    return condition


def _condition(
    parameters: Sequence[tuple[str, str]],
    recorded: Sequence[Sequence[str]],
    others: Sequence[Sequence[str]],
) -> str | None:
    """What holds of the recorded instances alone, by their template arguments; None = nothing."""
    every = (*recorded, *others)
    if any(len(one) != len(parameters) for one in every):
        return None
    varying = [k for k in range(len(parameters)) if len({one[k] for one in every}) > 1]
    chosen, rest = ({tuple(one[k] for k in varying) for one in some} for some in (recorded, others))
    terms = [[_equals(parameters[k], one[k]) for k in varying] for one in recorded]
    if chosen & rest or any(None in one for one in terms):
        return None
    return " || ".join(dict.fromkeys(f"({' && '.join(map(str, one))})" for one in terms))


def _parameters(source: KernelSource) -> list[tuple[str, str]]:
    """Kind and name of each parameter of a template; none where it is no plain one."""
    text = source.entry.text
    head = re.match(r"\s*template\s*<", text)
    if head is None or re.search(r"\.\.\.|\btemplate\b", text[head.end() : text.find("(")]):
        return []
    parts = split_list(text[head.end() :])
    found = [_PARAMETER.match(" ".join(part.split())) for part in parts]
    return [(one[1], one[2]) for one in found if one]


def _arguments(instance: str) -> list[str]:
    """The template arguments of an instance: `4` and `float` of `k<4, float>`."""
    _, opened, rest = instance.partition("<")
    return split_list(rest) if opened else []


def _equals(parameter: tuple[str, str], argument: str) -> str | None:
    kind, name = parameter
    if kind in ("typename", "class"):
        return f"__is_same({name}, {argument})" if re.fullmatch(r"[\w: *<>,]+", argument) else None
    number = _NUMBER.match(argument)
    if number is None:
        return None
    if number[1]:
        return f"static_cast<long long>({name}) == {number[2]}"
    if argument in ("true", "false"):
        return name if argument == "true" else f"!{name}"
    return f"{name} == {argument}"
