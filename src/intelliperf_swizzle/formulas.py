# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Reads what lies in `formulas/`: the catalogue of patterns, users' swizzles, and formulas.

A formula says what a language model is asked to improve, what it is shown, and what it may cost.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO, Annotated, Any, TypeAlias

import yaml

from intelliperf_swizzle.codec import Between, decode
from intelliperf_swizzle.context.sections import COUNTERS, SECTIONS
from intelliperf_swizzle.errors import LanguageError, RecordError, UsageError, did_you_mean
from intelliperf_swizzle.language import INPUTS, Swizzle, parse
from intelliperf_swizzle.rank import RANK


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
        lines = [f"{name} = {values.get(name, self.defaults[name])}\n" for name in self.parameters]
        closed = "".join(lines) + self.text
        _parse(closed, self.name)
        return closed


def formula(name: str) -> Path:
    """Path of `formulas/<name>.yaml`.

    Raises:
        UsageError: there is no such formula.
    """
    path = _folder() / f"{name}.yaml"
    if not path.is_file():
        raise _not_found("formula", name, [file.stem for file in _folder().glob("*.yaml")])
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
    raise _not_found("pattern", name, [pattern.name for pattern in patterns()])


def load_swizzle(source: str | Path | IO[str]) -> Pattern:
    """Read a swizzle or pattern from a file or an open stream: YAML, or statements alone.

    YAML is a mapping with `text`, and may have `name` (else the file's), `summary`, `source`,
    `condition` and `parameters`.

    Raises:
        UsageError: the file cannot be read, or is not such a mapping.
        LanguageError: its text is not a swizzle.
    """
    where = str(source) if isinstance(source, str | Path) else getattr(source, "name", "input")
    with _reading(where, "swizzle", _EXAMPLE):
        text = Path(source).read_text("utf-8") if isinstance(source, str | Path) else source.read()
        if _begins_with_an_assignment(text):
            return bare_swizzle(text, Path(where).stem, where)
        file = decode(_SwizzleFile, {**dict.fromkeys(_OPTIONAL), **_mapping(text)})
        values, defaults = _parameters(file.parameters or {})
    _parse(file.text, where)
    if file.condition is not None:
        _parse(f"pid = {file.condition}", f"{where}: condition")
    return Pattern(
        name=file.name or Path(where).stem,
        summary=file.summary or "",
        source=file.source or "",
        condition=file.condition,
        text=file.text if file.text.endswith("\n") else file.text + "\n",
        parameters=values,
        defaults=defaults,
    )


def bare_swizzle(text: str, name: str = "swizzle", where: str = "swizzle") -> Pattern:
    """Statements of the language as a pattern without parameters; raises LanguageError."""
    _parse(text, where)
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


def _not_found(kind: str, name: str, known: list[str]) -> UsageError:
    hint = f"{did_you_mean(name, known)}there are {', '.join(sorted(known))}"
    return UsageError(f"no {kind} is called `{name}`", hint=hint)


@dataclass(frozen=True)
class _SwizzleFile:
    """The fields of a swizzle file; None = left out."""

    text: str
    name: str | None
    summary: str | None
    source: str | None
    condition: str | None
    parameters: Mapping[str, Any] | None


_OPTIONAL = ("name", "summary", "source", "condition", "parameters")
_EXAMPLE = "a swizzle file is statements, `pid = num_pids - 1 - pid`, or YAML with a key `text`"


@contextmanager
def _reading(where: object, kind: str, hint: str) -> Iterator[None]:
    """Says of which file, and what it should be, that something is wrong."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{where} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{where} is not text", hint=hint) from None
    except RecordError as error:
        raise UsageError(f"{where} is not a {kind}: {error.fact}", hint=hint) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"{where} is not YAML: {reason}", hint=hint) from None


def _mapping(text: str) -> dict[str, Any]:
    read = yaml.safe_load(text)
    if not isinstance(read, dict):
        raise RecordError("a mapping is expected")
    return read


def _parameters(content: Mapping[str, Any]) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Values to try and defaults; a list's first number is the default."""
    values: dict[str, tuple[int, ...]] = {}
    defaults: dict[str, str] = {}
    for name, offered in content.items():
        if isinstance(offered, str) and offered in INPUTS:
            values[name], defaults[name] = (), offered
        elif isinstance(offered, list) and offered and all(type(n) is int for n in offered):
            values[name], defaults[name] = tuple(offered), str(offered[0])
        else:
            raise RecordError(
                f"parameter `{name}` must be a list of integers, `[8, 4]`, or an input's name"
            )
    return values, defaults


def _parse(text: str, where: str) -> Swizzle:
    try:
        return parse(text)
    except LanguageError as error:
        raise LanguageError(
            f"{where}: {error.fact}", hint=error.hint, details=error.details
        ) from None


PROMPTS = ("task", "analysis", "language", "another_family")
"""The parts of a prompt that are our text."""

Count: TypeAlias = Annotated[int, Between(0)]


@dataclass(frozen=True)
class Budgets:
    """What a run may cost; each budget ends it with the best so far.

    Attributes:
        tokens: of all calls together, as the endpoint counts them.
        seconds: wall time of the proposer.
        call_seconds: one call may take.
        answer_tokens: one answer may have.
        history_tokens: of earlier attempts in a prompt.
        refusals: how often one iteration asks again after a refusal.
    """

    tokens: Count = 500_000
    seconds: Count = 1800
    call_seconds: Count = 300
    answer_tokens: Count = 8192
    history_tokens: Count = 3000
    refusals: Count = 2


@dataclass(frozen=True)
class Formula:
    """An optimization target as data; see `formulas/swizzle.yaml`.

    Attributes:
        name: of the file.
        summary: what it is for, in a sentence.
        rank: by what attempts are put in order, first criterion first.
        counters: numbers of a measurement that the model gets.
        context: sections of the context that it gets.
        memory_analysis: whether it is first asked for a written analysis of the kernel.
        temperature: of its answers.
        prompts: part of the prompt -> files, beside the formula or in the package.
        documents: files of its folder that are sent whole and unchanged.
        budgets: what a run may cost.
        folder: where the formula lies.
    """

    name: str
    summary: str
    rank: tuple[str, ...]
    counters: tuple[str, ...]
    context: tuple[str, ...]
    memory_analysis: bool
    temperature: float
    prompts: Mapping[str, tuple[str, ...]]
    documents: tuple[str, ...]
    budgets: Budgets
    folder: str


def load_formula(name_or_path: str | Path) -> Formula:
    """The formula of a name in `formulas/`, or of the user's own YAML file.

    Raises:
        UsageError: there is none, or a key or value of it makes no sense.
    """
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        path = formula(str(name_or_path))
    with _reading(path, "formula", f"keys: {', '.join(_DEFAULTS)}"):
        read = _fill({**_DEFAULTS, "name": path.stem}, _mapping(path.read_text(encoding="utf-8")))
        for key, known in _KNOWN.items():
            names = read[key] if isinstance(read[key], list | dict) else known
            wrong = [f"there is no `{name}`" for name in names if name not in tuple(known)]
            for fact in (*wrong, *(() if names else ("it is empty",))):
                raise RecordError(f"{key}: {fact}; there are {', '.join(known)}")
        made = decode(Formula, {**read, "folder": str(path.parent)})
        if missing := [name for name in made.documents if not (path.parent / name).is_file()]:
            raise RecordError(f"documents: there is no file {path.parent / missing[0]}")
    return made


def _fill(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given on top of the defaults; one name stands for a list of one."""
    filled = {**defaults, **given}
    for key, default in defaults.items():
        if isinstance(default, list) and isinstance(filled[key], str):
            filled[key] = [filled[key]]
        elif isinstance(default, dict) and isinstance(filled[key], dict):
            filled[key] = _fill(default, filled[key])
    return filled


_KNOWN: Mapping[str, Collection[str]] = {
    "rank": RANK, "counters": COUNTERS, "context": SECTIONS, "prompts": PROMPTS,
}  # fmt: skip
_DEFAULTS: Mapping[str, Any] = {
    "name": "", "summary": "", "rank": list(RANK), "counters": ["l2_hit_rate"],
    "context": ["source", "launch", "bottleneck"], "memory_analysis": False, "temperature": 1.0,
    "prompts": {part: [f"{part}.md"] for part in PROMPTS}, "documents": [],
    "budgets": asdict(Budgets()),
}  # fmt: skip
