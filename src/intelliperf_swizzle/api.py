# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs as functions; `from intelliperf_swizzle import optimize, score, prove`.

Each does what the command of its name does, with the same defaults and the same errors, and prints
nothing. Environment variables of options are not read.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from intelliperf_swizzle import loop, mapping
from intelliperf_swizzle.context import render
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.formula import load_formula
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.kernel.edit import Edit, apply
from intelliperf_swizzle.language import Swizzle, parse
from intelliperf_swizzle.options import DEFAULT_TARGET, OWN_OPTIONS
from intelliperf_swizzle.profile import Profiler
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Ceiling,
    Grid,
    Measurement,
    Proof,
    Witness,
)
from intelliperf_swizzle.records import Run as RunRecord
from intelliperf_swizzle.report.html import fragment
from intelliperf_swizzle.session import finish, measured_by, proposer_of, settings_of, target_of
from intelliperf_swizzle.source_proofs import RemapVerdict
from intelliperf_swizzle.source_proofs import prove_source as _prove_source

AnySwizzle: TypeAlias = "str | Swizzle"
"""A swizzle's text, the name of a pattern of the catalogue, or a parsed swizzle."""
AnyTarget: TypeAlias = "str | Target"
"""A GPU's name, the path of its YAML file, or a loaded target."""

_HOST_OPTIONS: dict[str, Any] = {
    "formula": "swizzle",
    "project_directory": ".",
    "top_n": 10,
    "num_attempts": 10,
    "accordo_absolute_tolerance": 1e-6,
    "unittest_command": None,
    "trace_path": None,
    "output_file": None,
    "in_place": False,
    "kernel": None,
    "model": "gpt-4o",
    "provider": "openai",
    "internal": False,
}
"""What `optimize` of the command line has where an option of IntelliPerf's is not given."""


@dataclass(frozen=True)
class Run(RunRecord):
    """A finished run; in a notebook it shows itself.

    Attributes:
        edit: what carries the best swizzle into the user's sources; None where there is none.
    """

    edit: Edit | None = None

    def apply(self) -> tuple[Path, ...]:
        """Write the best swizzle into the user's sources; returns the backups of what was there.

        Raises:
            SpliceError: a file has changed since.
        """
        return apply(self.edit) if self.edit else ()

    def _repr_html_(self) -> str:
        return fragment(self)


@dataclass(frozen=True)
class Score:
    """One swizzle on one kernel.

    Attributes:
        kernel: its name.
        baseline: the unchanged kernel's measurement.
        ceiling: no permutation exceeds it.
        attempt: the swizzle with its proof or verdict, and its measurement where it has one.
        cautions: what makes the numbers doubtful, a sentence each.
    """

    kernel: str
    baseline: Measurement
    ceiling: Ceiling
    attempt: Attempt
    cautions: tuple[str, ...] = ()


def prove(
    swizzle: AnySwizzle,
    grid: int | Sequence[int],
    *,
    target: AnyTarget = DEFAULT_TARGET,
    sweep: bool = True,
    **constants: int,
) -> Proof | Witness:
    """Is a swizzle a permutation of a launch's tiles?

    Args:
        swizzle: its text, the name of a pattern, or a parsed swizzle.
        grid: programs of the launch, along up to three axes.
        target: gives the number of XCDs.
        sweep: also try other grids, a fifth of a second: for the proof's condition.
        constants: integer arguments of the kernel, and parameters of the pattern, by name.

    Returns:
        A proof, or a witness against it. `witness.failure` is set where the text has no value on
        this grid.

    Raises:
        LanguageError: the text is no swizzle, or reads a name that is not given.
        UsageError: there is no such pattern or target, or no such grid.
    """
    name, closed, parameters = _closed(swizzle, constants)
    parsed = closed if isinstance(closed, Swizzle) else parse(closed)
    _refuse_unread(name, constants, parameters | parsed.names)
    gpu = loaded_target(target)
    extents = grid_of(grid)
    return mapping.prove(
        parsed,
        extents,
        {one: value for one, value in constants.items() if one not in parameters},
        num_xcds=gpu.num_xcds,
        cus_per_xcd=gpu.cus_per_xcd,
        sweep=mapping.sweep_grids(extents) if sweep else (),
    )


def prove_source(
    command: Sequence[str],
    source: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    target: AnyTarget = DEFAULT_TARGET,
    project_directory: str | os.PathLike[str] = ".",
    sweep: bool = False,
    progress: Progress | None = None,
) -> tuple[RemapVerdict, ...]:
    """Does a kernel, with the remap that its source has, compute each tile exactly once?

    Args:
        command: the application, as an argument list.
        source: the file that the kernel, or a jit function that it calls, is written in.
        kernel: only this one of the file.
        target: the GPU that the application is told of.
        project_directory: where the application is started.
        sweep: also look at each launch at other sizes, some seconds each: `RemapVerdict.sizes`.
        progress: told of each step.

    Returns:
        A verdict for each distinct launch.

    Raises:
        UsageError: there is no such file, or no kernel of it was launched.
        CaptureError: the application launched no kernel.
    """
    return _prove_source(
        command,
        Path(source),
        kernel=kernel,
        folder=Path(project_directory),
        target=loaded_target(target),
        sweep=sweep,
        progress=progress,
    )


def score(
    swizzle: AnySwizzle,
    command: Sequence[str],
    *,
    kernel: str | None = None,
    target: AnyTarget | None = None,
    project_directory: str | os.PathLike[str] = ".",
    profiler: str = "auto",
    progress: Progress | None = None,
    **parameters: int,
) -> Score:
    """Prove and measure one swizzle on an application's kernel.

    Args:
        swizzle: its text, the name of a pattern, or a parsed swizzle.
        command: the application, as an argument list.
        kernel: the kernel; by default the one with the most to gain.
        target: the GPU; by default the one present, else an MI300X, modelled.
        project_directory: where the application is started.
        profiler: `auto`, `model`, or another of the command line's.
        progress: told of each step.
        parameters: of the pattern.

    Raises:
        SwizzleError: the application, the capture or a tool failed, or the input is wrong.
    """
    name, closed, readable = _closed(swizzle, parameters)
    _refuse_unread(name, parameters, readable)
    text = closed.text if isinstance(closed, Swizzle) else closed
    asked = _Asked(
        command, progress, target, kernel=kernel, profiler=profiler,
        project_directory=os.fspath(project_directory),
    )  # fmt: skip
    subject, attempt = loop.score(
        Candidate(text, name, "user"), asked.settings, asked.target, asked.profiler, asked.progress
    )
    return Score(subject.kernel, subject.baseline, subject.ceiling, attempt, subject.cautions)


def explain(
    command: Sequence[str],
    *,
    kernel: str | None = None,
    target: AnyTarget | None = None,
    project_directory: str | os.PathLike[str] = ".",
    formula: str = "swizzle",
    profiler: str = "auto",
    progress: Progress | None = None,
) -> dict[str, str]:
    """What a language model would be told of an application's kernel: section -> text.

    Args as of `score`; `formula` says which sections.
    """
    asked = _Asked(
        command, progress, target, kernel=kernel, formula=formula, profiler=profiler,
        project_directory=os.fspath(project_directory),
    )  # fmt: skip
    context = loop.explain(asked.settings, asked.target, asked.profiler, asked.progress)
    loaded = load_formula(formula)
    return {section: render(context, section, loaded.counters) for section in loaded.context}


def optimize(
    command: Sequence[str],
    *,
    kernel: str | None = None,
    target: AnyTarget | None = None,
    project_directory: str | os.PathLike[str] = ".",
    proposer: str = "auto",
    profiler: str = "auto",
    candidates: int = 400,
    num_attempts: int = 10,
    seed: int = 0,
    report_dir: str | os.PathLike[str] = "swizzle-out",
    resume: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Find a swizzle for an application; the user's sources stay as they are (`Run.apply`).

    Args:
        command: the application, as an argument list.
        kernel: the kernel; by default the one with the most to gain.
        target: the GPU; by default the one present, else an MI300X, modelled.
        project_directory: where the application is started.
        proposer: `offline`, `llm`, `both`, or `auto`: both where a language model is configured.
        profiler: `auto`, `model`, or another of the command line's.
        candidates: to try at most.
        num_attempts: to build and validate at most.
        seed: of every random choice.
        report_dir: result, report, patch and history go to a folder in it, by the kernel's name.
        resume: go on with the history that is there.
        progress: told of each step.

    Raises:
        SwizzleError: the application, the capture or a tool failed, or the input is wrong.
    """
    asked = _Asked(
        command, progress, target, kernel=kernel, proposer=proposer, profiler=profiler,
        candidates=candidates, num_attempts=num_attempts, seed=seed, resume=resume,
        report_dir=os.fspath(report_dir), project_directory=os.fspath(project_directory),
    )  # fmt: skip
    chosen = proposer_of(asked.options, asked.progress)
    outcome = loop.optimize(asked.settings, asked.target, asked.profiler, chosen, asked.progress)
    finish(asked.options, asked.settings, outcome)
    record = {one.name: getattr(outcome.run, one.name) for one in fields(RunRecord)}
    return Run(**record, edit=outcome.edit)


class _Asked:
    """What a call asks for, as the command line would have it."""

    def __init__(
        self,
        command: Sequence[str],
        progress: Progress | None,
        target: AnyTarget | None,
        **given: Any,
    ) -> None:
        if isinstance(command, str) or not command:
            raise UsageError(
                f"`{command}` is no argument list",
                hint=f'["{Path(sys.executable).name}", "app.py"]',
            )
        own = {option.name: option.default for option in OWN_OPTIONS}
        self.options = argparse.Namespace(**{**own, **_HOST_OPTIONS, **given})
        self.progress = progress or Silent()
        self.options.target = target if isinstance(target, str) else None
        settings = settings_of(self.options, tuple(command), self.progress.note)
        self.target = (
            target if isinstance(target, Target) else target_of(self.options, self.progress)
        )
        self.settings: loop.Settings
        self.profiler: Profiler
        self.settings, self.profiler = measured_by(
            self.options, settings, self.target, self.progress
        )


def grid_of(grid: int | Sequence[int]) -> Grid:
    """One to three extents as a grid of three axes; raises UsageError."""
    extents = (grid,) if isinstance(grid, int) else tuple(grid)
    if not 1 <= len(extents) <= 3:
        raise UsageError(f"`{grid}` is not a grid", hint="4096, or (64, 64)")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def loaded_target(target: AnyTarget) -> Target:
    """The target itself, or by its name; raises UsageError."""
    return target if isinstance(target, Target) else load_target(target)


def _closed(
    swizzle: AnySwizzle, parameters: Mapping[str, int]
) -> tuple[str, Swizzle | str, set[str]]:
    """A name for messages, the swizzle with the pattern's parameters bound, and their names."""
    if isinstance(swizzle, Swizzle) or "=" in swizzle:
        return "swizzle", swizzle, set()
    pattern = load_pattern(swizzle)
    bound = {name: value for name, value in parameters.items() if name in pattern.parameters}
    return pattern.name, pattern.bind(**bound), set(pattern.parameters)


def _refuse_unread(name: str, given: Iterable[str], read: Iterable[str]) -> None:
    unread = sorted(set(given) - set(read))
    if unread:
        raise UsageError(f"`{name}` does not read `{unread[0]}`")
