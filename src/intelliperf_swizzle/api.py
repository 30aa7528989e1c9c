# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs as functions; `from intelliperf_swizzle import optimize, score, prove`.

Each does what the command of its name does, with the same defaults and the same errors, and prints
nothing. Environment variables of options are not read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from intelliperf_swizzle import mapping
from intelliperf_swizzle.context import render
from intelliperf_swizzle.edit import Edit, apply
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.kernels.triton.source_proofs import RemapVerdict
from intelliperf_swizzle.kernels.triton.source_proofs import prove_source as _prove_source
from intelliperf_swizzle.language import INPUTS, Swizzle, parse
from intelliperf_swizzle.options import DEFAULT_TARGET, Options, options_of
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.readers import grid_of, refuse_reserved
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Ceiling,
    Measurement,
    Proof,
    Witness,
)
from intelliperf_swizzle.records import Run as RunRecord
from intelliperf_swizzle.report.files import writable
from intelliperf_swizzle.report.html import fragment
from intelliperf_swizzle.search import run, single
from intelliperf_swizzle.search.deliver import deliver
from intelliperf_swizzle.search.proposers import choose_proposers
from intelliperf_swizzle.search.setup import Setup, prepare

AnySwizzle: TypeAlias = "str | Swizzle"
"""A swizzle's text, the name of a pattern of the catalogue, or a parsed swizzle."""
AnyTarget: TypeAlias = "str | Target"
"""A GPU's name, the path of its YAML file, or a loaded target."""


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
    refuse_reserved(constants, INPUTS)
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
    target: AnyTarget | None = None,
    progress: Progress | None = None,
    **given: Any,
) -> Score:
    """Prove and measure one swizzle on an application's kernel.

    Args:
        swizzle: its text, the name of a pattern, or a parsed swizzle.
        command: the application, as an argument list.
        target: the GPU; by default the one present, else an MI300X, modelled.
        progress: told of each step.
        given: options of `intelliperf-swizzle score` by name, such as `kernel` or
            `project_directory`; and parameters of the pattern.

    Raises:
        SwizzleError: the application, the recording or a tool failed, or the input is wrong.
    """
    known = {option.name for option in options_of("score")}
    parameters = {name: value for name, value in given.items() if name not in known}
    name, closed, readable = _closed(swizzle, parameters)
    _refuse_unread(name, parameters, readable)
    text = closed.text if isinstance(closed, Swizzle) else closed
    options = {name: value for name, value in given.items() if name in known}
    setup = _prepare("score", command, target, options, progress)
    subject, attempt = single.score(Candidate(text, name, "user"), setup, progress)
    return Score(subject.kernel, subject.baseline, subject.ceiling, attempt, subject.cautions)


def explain(
    command: Sequence[str],
    *,
    target: AnyTarget | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, str]:
    """What a language model would be told of an application's kernel: section -> text.

    Args as of `optimize`, with the options of `intelliperf-swizzle explain`; `formula` says which
    sections.
    """
    setup = _prepare("explain", command, target, options, progress)
    context = single.explain(setup, progress)
    counters = setup.formula.counters
    return {section: render(context, section, counters) for section in setup.formula.context}


def optimize(
    command: Sequence[str],
    *,
    target: AnyTarget | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Find a swizzle for an application; the user's sources stay as they are (`Run.apply`).

    Args:
        command: the application, as an argument list.
        target: the GPU; by default the one present, else an MI300X, modelled.
        progress: told of each step.
        options: those of `intelliperf-swizzle --help` by name, with their defaults: `kernel`,
            `proposer`, `candidates`, `seed`, `report_dir`, `resume`, …

    Raises:
        SwizzleError: the application, the recording or a tool failed, or the input is wrong.
    """
    setup = _prepare("optimize", command, target, options, progress)
    heard = progress or Silent()
    folder = writable(setup.options.report_dir, heard.note)
    outcome = run.optimize(setup, choose_proposers(setup.options, heard), folder, heard)
    deliver(outcome, setup.options)
    if outcome.interrupted:
        raise outcome.interrupted
    record = {one.name: getattr(outcome.run, one.name) for one in fields(RunRecord)}
    return Run(**record, edit=outcome.edit)


def _prepare(
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
            f"`{command}` is no argument list",
            hint=f'["{Path(sys.executable).name}", "app.py"]',
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
