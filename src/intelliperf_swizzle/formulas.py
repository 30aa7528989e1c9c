# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Finds `formulas/` and reads the catalogue of patterns and the swizzles of users."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import yaml

from intelliperf_swizzle.errors import LanguageError, UsageError
from intelliperf_swizzle.language import INPUTS, Swizzle, parse

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times as fast, where PyYAML was built with it."""
_KEYS = ("name", "summary", "source", "condition", "parameters", "text")


@dataclass(frozen=True)
class Pattern:
    """A named swizzle with the numbers in it left open.

    Attributes:
        name: of the file in `formulas/patterns/`.
        summary: what it does, for people.
        source: where it was published.
        condition: the grids on which it is a permutation, as a condition of the language; None =
            all grids.
        text: in the swizzle language, reading each parameter by its name.
        parameters: parameter -> values to try; () where the number belongs to the launch (`cols`:
            the tiles in a row).
        defaults: parameter -> what it is unless bound: a number or an input such as `grid_0`.
    """

    name: str
    summary: str
    source: str
    condition: str | None
    text: str
    parameters: Mapping[str, tuple[int, ...]]
    defaults: Mapping[str, str]

    def bind(self, **values: int | str) -> str:
        """The closed text: an assignment for each parameter, then the text.

        Args:
            values: by parameter, a number or an expression of the language, e.g.
                `cols="cdiv(N, BLOCK_N)"`. Parameters left out take their default.

        Raises:
            UsageError: there is no such parameter.
            LanguageError: a value makes no sense in the language.
        """
        for name in values:
            if name not in self.parameters:
                raise UsageError(
                    f"`{self.name}` has no parameter `{name}`",
                    hint=f"its parameters are: {', '.join(self.parameters) or 'none'}",
                )
        leading = [
            f"{name} = {values.get(name, self.defaults[name])}\n" for name in self.parameters
        ]
        closed = "".join(leading) + self.text
        _parsed(closed, self.name)
        return closed


def formula(name: str) -> Path:
    """Path of `formulas/<name>.yaml`.

    Raises:
        UsageError: there is no such formula.
    """
    path = _folder() / f"{name}.yaml"
    if not path.is_file():
        raise _unknown("formula", name, [file.stem for file in _folder().glob("*.yaml")])
    return path


@cache
def patterns() -> tuple[Pattern, ...]:
    """The catalogue, by name."""
    return tuple(load_swizzle(path) for path in sorted((_folder() / "patterns").glob("*.yaml")))


@cache
def published() -> tuple[Pattern, ...]:
    """Swizzles word for word as published, by name, for the audit; not all are permutations."""
    return tuple(load_swizzle(path) for path in sorted((_folder() / "audit").glob("*.yaml")))


def load_pattern(name: str) -> Pattern:
    """The pattern of that name, of the catalogue or of the audit.

    Raises:
        UsageError: there is none.
    """
    for pattern in (*patterns(), *published()):
        if pattern.name == name:
            return pattern
    raise _unknown("pattern", name, [pattern.name for pattern in patterns()])


def load_swizzle(source: str | Path | IO[str]) -> Pattern:
    """Read a swizzle or pattern from a file or an open stream: YAML, or statements alone.

    YAML is a mapping with `text`, and may have `name` (else the file's), `summary`, `source`,
    `condition` and `parameters`.

    Raises:
        UsageError: the file cannot be read, or is not such a mapping.
        LanguageError: its text is not a swizzle.
    """
    where = str(source) if isinstance(source, str | Path) else getattr(source, "name", "input")
    read = _read(source, where)
    if _begins_with_an_assignment(read):
        return bare_swizzle(read, Path(where).stem, where)
    content = _mapping(read, where)
    text = content.get("text")
    if not isinstance(text, str):
        raise UsageError(f"{where}: `text` must be a swizzle, not {text!r}", hint=_example())
    _parsed(text, where)
    names = {key: content.get(key) for key in ("name", "summary", "source", "condition")}
    for key, value in names.items():
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{where}: `{key}` must be text, not {value!r}", hint=f"`{key}: '…'`")
    if names["condition"] is not None:
        _parsed(f"pid = {names['condition']}", f"{where}: condition")
    values, defaults = _parameters(content.get("parameters") or {}, where)
    return Pattern(
        name=names["name"] or Path(where).stem,
        summary=names["summary"] or "",
        source=names["source"] or "",
        condition=names["condition"],
        text=text if text.endswith("\n") else text + "\n",
        parameters=values,
        defaults=defaults,
    )


def bare_swizzle(text: str, name: str = "swizzle", where: str = "swizzle") -> Pattern:
    """Statements of the language as a pattern without parameters; raises LanguageError."""
    _parsed(text, where)
    return Pattern(name, "", "", None, text if text.endswith("\n") else text + "\n", {}, {})


def _begins_with_an_assignment(content: str) -> bool:
    """Whether a text is statements, and not YAML: of those its first line is one."""
    first = next((line for line in content.splitlines() if line.split("#")[0].strip()), "")
    return bool(re.match(r"\s*\w+\s*=", first))


def _folder() -> Path:
    """`formulas/` inside the package (a wheel) or beside `src` (an editable install)."""
    package = Path(__file__).parent
    for folder in (package / "formulas", package.parents[1] / "formulas"):
        if (folder / "patterns").is_dir():
            return folder
    raise UsageError(
        f"the folder `formulas` is missing from the installation at {package}",
        hint="install the package again",
    )


def _unknown(kind: str, name: str, known: list[str]) -> UsageError:
    close = difflib.get_close_matches(name, known, n=1)
    there = f"there are {', '.join(sorted(known))}"
    return UsageError(
        f"no {kind} is called `{name}`",
        hint=f"did you mean `{close[0]}`? {there}" if close else there,
    )


def _read(source: str | Path | IO[str], where: str) -> str:
    try:
        if isinstance(source, str | Path):
            return Path(source).read_text(encoding="utf-8")
        return source.read()
    except OSError as error:
        raise UsageError(f"{where} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{where} is not text", hint=_example()) from None


def _mapping(content: str, where: str) -> Mapping[str, Any]:
    try:
        read = yaml.load(content, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"{where} is not YAML: {reason}", hint=_example()) from None
    if not isinstance(read, dict):
        raise UsageError(f"{where} is not a swizzle: a mapping is expected", hint=_example())
    for key in read:
        if key not in _KEYS:
            raise UsageError(
                f"{where}: unknown key `{key}`", hint=f"the keys are {', '.join(_KEYS)}"
            )
    return read


def _example() -> str:
    return "a swizzle file is statements, `pid = num_pids - 1 - pid`, or YAML with a key `text`"


def _parameters(content: object, where: str) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Values to try and defaults; a list's first number is the default."""
    if not isinstance(content, dict):
        raise UsageError(f"{where}: `parameters` must be a mapping", hint="`group: [8, 4]`")
    values: dict[str, tuple[int, ...]] = {}
    defaults: dict[str, str] = {}
    for name, offered in content.items():
        if isinstance(offered, str) and offered in INPUTS:
            values[name], defaults[name] = (), offered
        elif isinstance(offered, list) and offered and all(type(n) is int for n in offered):
            values[name], defaults[name] = tuple(offered), str(offered[0])
        else:
            raise UsageError(
                f"{where}: parameter `{name}` must be a list of integers or an input's name",
                hint=f"`{name}: [8, 4]` or `{name}: grid_0`",
            )
    return values, defaults


def _parsed(text: str, where: str) -> Swizzle:
    try:
        return parse(text)
    except LanguageError as error:
        raise LanguageError(
            f"{where}: {error.fact}", hint=error.hint, details=error.details
        ) from None
