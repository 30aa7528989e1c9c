# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A formula: what a language model is asked to improve, what it is told, and what it may cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from intelliperf_swizzle.context import COUNTERS, SECTIONS
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.formulas import formula
from intelliperf_swizzle.rank import RANK

PROMPTS = ("task", "analysis", "language", "another_family")
"""The parts of a prompt that are words of ours."""


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

    tokens: int = 500_000
    seconds: int = 1800
    call_seconds: int = 300
    answer_tokens: int = 8192
    history_tokens: int = 3000
    refusals: int = 2


@dataclass(frozen=True)
class Formula:
    """An optimization target as data; see `formulas/swizzle.yaml`.

    Attributes:
        name: of the file.
        summary: what it is for, in a sentence.
        rank: by what attempts are put in order, first criterion first.
        counters: readings of a measurement that the model is told.
        context: sections of the context that it is told.
        memory_analysis: whether it is first asked for an analysis of the kernel in words.
        temperature: of its answers.
        prompts: part of the prompt -> files, beside the formula or in the package.
        documents: files that are sent whole, as they are.
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
    documents: tuple[Path, ...]
    budgets: Budgets
    folder: Path


def load_formula(name_or_path: str | Path) -> Formula:
    """The formula of a name in `formulas/`, or of the user's own YAML file.

    Raises:
        UsageError: there is none, or a key or value of it makes no sense.
    """
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        path = formula(str(name_or_path))
    return _FormulaReader(path).formula()


class _FormulaReader:
    """Reads one file; every refusal names it and the key."""

    def __init__(self, path: Path):
        self._path = path
        self._content = self._mapping()

    def formula(self) -> Formula:
        known = {one.name for one in fields(Formula)} - {"folder"}
        for key in self._content:
            if key not in known:
                raise self._refused(f"unknown key `{key}`", f"the keys are {', '.join(known)}")
        return Formula(
            name=self._typed("name", str, self._path.stem),
            summary=self._typed("summary", str, ""),
            rank=self._names("rank", RANK, RANK),
            counters=self._names("counters", COUNTERS, ["l2_hit_rate"]),
            context=self._names("context", SECTIONS, ["source", "launch", "bottleneck"]),
            memory_analysis=self._typed("memory_analysis", bool, False),
            temperature=float(self._typed("temperature", (int, float), 1.0)),
            prompts=self._prompts(),
            documents=tuple(self._file(name) for name in self._texts("documents")),
            budgets=self._budgets(),
            folder=self._path.parent,
        )

    def _mapping(self) -> dict[str, Any]:
        try:
            content = yaml.safe_load(self._path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{self._path} cannot be read: {error.strerror}") from None
        except (yaml.YAMLError, ValueError) as error:
            raise self._refused(f"not YAML: {' '.join(str(error).split())}") from None
        if not isinstance(content, dict):
            raise self._refused("a mapping is expected")
        return content

    def _typed(self, key: str, kind: type | tuple[type, ...], default: object) -> Any:
        value = self._content.get(key, default)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self._refused(f"`{key}` cannot be {value!r}")
        return value

    def _texts(self, key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        value = self._content.get(key, default)
        texts = (value,) if isinstance(value, str) else value
        if not isinstance(texts, list | tuple) or not all(isinstance(one, str) for one in texts):
            raise self._refused(f"`{key}` must be a list of names, not {value!r}")
        return tuple(texts)

    def _names(self, key: str, known: Collection[str], default: Sequence[str]) -> tuple[str, ...]:
        names = self._texts(key, default)
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            what = f"`{key}` has no `{unknown[0]}`" if unknown else f"`{key}` is empty"
            raise self._refused(what, f"there are {', '.join(known)}")
        return names

    def _prompts(self) -> dict[str, tuple[str, ...]]:
        named = self._typed("prompts", dict, {})
        prompts: dict[str, tuple[str, ...]] = {part: (f"{part}.md",) for part in PROMPTS}
        for part, names in named.items():
            if part not in PROMPTS:
                raise self._refused(f"`prompts` has no `{part}`", f"parts: {', '.join(PROMPTS)}")
            prompts[part] = (names,) if isinstance(names, str) else tuple(map(str, names))
        return prompts

    def _file(self, name: str) -> Path:
        path = self._path.parent / name
        if not path.is_file():
            raise self._refused(f"there is no file {path}")
        return path

    def _budgets(self) -> Budgets:
        given = self._typed("budgets", dict, {})
        known = {one.name for one in fields(Budgets)}
        for key, value in given.items():
            if key not in known:
                raise self._refused(f"`budgets` has no `{key}`", f"there are {', '.join(known)}")
            if type(value) is not int or value < 0:
                raise self._refused(f"`budgets: {key}` must be a whole number, not {value!r}")
        return Budgets(**given)

    def _refused(self, what: str, hint: str | None = None) -> UsageError:
        return UsageError(f"{self._path} is not a formula: {what}", hint=hint)
