# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a call is given: a swizzle, a GPU, and the options of its verb."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.options import Options, options_of
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.search.setup import Setup, prepare

AnySwizzle: TypeAlias = "str | Swizzle"
"""A swizzle's text, the name of a pattern of the catalogue, or a parsed swizzle."""
AnyTarget: TypeAlias = "str | Target"
"""A GPU's name, the path of its YAML file, or a loaded target."""


def prepare_call(
    verb: str,
    command: Sequence[str],
    target: AnyTarget | None,
    given: Mapping[str, Any],
    progress: Progress | None,
) -> Setup:
    """What a call asks for, as the command line would have it.

    Raises:
        UsageError: the verb has no such option, or the command is no argument list.
    """
    if isinstance(command, str) or not command:
        raise UsageError(
            f"`{command}` is no argument list", hint=f'["{Path(sys.executable).name}", "app.py"]'
        )
    known = {option.name for option in options_of(verb)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise UsageError(
            f"`{verb}` has no option `{unknown[0]}`", hint=f"one of: {', '.join(sorted(known))}"
        )
    texts = {
        name: os.fspath(value) if isinstance(value, os.PathLike) else value
        for name, value in given.items()
    }
    named = target if isinstance(target, str) else None
    options = Options(**{**texts, "target": named})
    loaded = target if isinstance(target, Target) else None
    return prepare(options, command, progress or Silent(), target=loaded)


def loaded_target(target: AnyTarget) -> Target:
    """The target itself, or by its name; raises UsageError."""
    return target if isinstance(target, Target) else load_target(target)


def close_swizzle(swizzle: AnySwizzle, parameters: Mapping[str, int]) -> tuple[str, str, set[str]]:
    """A name for messages, the text with the pattern's parameters bound, and their names."""
    text = swizzle.text if isinstance(swizzle, Swizzle) else swizzle
    if "=" in text:
        return "swizzle", text, set()
    pattern = load_pattern(text)
    bound = {name: value for name, value in parameters.items() if name in pattern.parameters}
    return pattern.name, pattern.bind(**bound), set(pattern.parameters)


def refuse_unread(name: str, given: Iterable[str], read: Iterable[str]) -> None:
    """Refuses what the swizzle has no name for; raises UsageError."""
    unread = sorted(set(given) - set(read))
    if unread:
        raise UsageError(f"`{name}` does not read `{unread[0]}`")
