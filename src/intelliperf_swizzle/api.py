# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs as functions; `from intelliperf_swizzle import optimize, score, prove`.

Each does what the command of its name does, with the same defaults and the same errors, and prints
nothing. Environment variables of options are not read.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from intelliperf_swizzle import mapping
from intelliperf_swizzle.disk import Kept, kept_for_user, temporary_folder
from intelliperf_swizzle.edit import Edit, apply
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.frontends.ports import RecordRequest, examiner
from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.language import INPUTS, Swizzle, parse
from intelliperf_swizzle.options import DEFAULT_TARGET, Options, options_of
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose.llm.prompt import first_questions
from intelliperf_swizzle.readers import grid_of, refuse_reserved
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Ceiling,
    Constants,
    Grid,
    Launch,
    Measurement,
    Proof,
    RemapVerdict,
    Witness,
)
from intelliperf_swizzle.records import Run as RunRecord
from intelliperf_swizzle.report import words
from intelliperf_swizzle.report.files import writable
from intelliperf_swizzle.search import run
from intelliperf_swizzle.search.conclude import deliver
from intelliperf_swizzle.search.setup import Setup, choose_proposers, prepare

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


def refuse_unread(
    name: str, given: Iterable[str], read: Iterable[str], parameters: Iterable[str] = ()
) -> None:
    """Refuses a value that a swizzle has no use for."""
    for unread in sorted({*given} - {*read})[:1]:
        raise UsageError(
            f"`{name}` does not read `{unread}`",
            hint=f"its parameters are: {', '.join(parameters) or 'none'}",
        )


@dataclass(frozen=True)
class Run(RunRecord):
    """A finished run, for the kernel that saves most time.

    Attributes:
        edit: what carries the best swizzles of all kernels into the user's sources; None if
            there are none.
        others: what came of the other kernels that were searched.
    """

    edit: Edit | None = None
    others: tuple[RunRecord, ...] = ()

    def apply(self) -> tuple[Path, ...]:
        """Write the best swizzles into the user's sources; returns the backups of what was there.

        Raises:
            SpliceError: a file has changed since.
        """
        return apply(self.edit) if self.edit else ()

    def __str__(self) -> str:
        return words.message(self)

    def __repr__(self) -> str:
        tried = f"{len(self.attempts)} attempts"
        return f"<Run of {self.kernel} on {self.target}: {words.verdict(self)}, {tried}>"


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
    name, text, readable = close_swizzle(swizzle, parameters)
    refuse_unread(name, parameters, readable, readable)
    options = {name: value for name, value in given.items() if name in known}
    setup = prepare_call("score", command, target, options, progress)
    subject, attempt = run.score(Candidate(text, name, "user"), setup, progress)
    return Score(subject.kernel, subject.baseline, subject.ceiling, attempt, subject.cautions)


def explain(
    command: Sequence[str],
    *,
    target: AnyTarget | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, str]:
    """What a language model would be sent of an application's kernel: section -> text.

    `instructions` come first, and documents are among the sections.

    Args as of `optimize`, with the options of `intelliperf-swizzle explain`; `formula` says which
    sections.
    """
    setup = prepare_call("explain", command, target, options, progress)
    context = run.explain(setup, progress)
    proposal = first_questions(setup.formula, context)[-1]
    return {"instructions": proposal.instructions, **proposal.inputs}


def optimize(
    command: Sequence[str],
    *,
    target: AnyTarget | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Find swizzles for an application's kernels; its sources stay as they are (`Run.apply`).

    Args:
        command: the application, as an argument list.
        target: the GPU; by default the one present, else an MI300X, modelled.
        progress: told of each step.
        options: those of `intelliperf-swizzle --help` by name, with their defaults: `kernel`,
            `proposer`, `candidates`, `seed`, `report_dir`, `resume`, …

    Raises:
        SwizzleError: the application, the recording or a tool failed, or the input is wrong.
    """
    setup = prepare_call("optimize", command, target, options, progress)
    heard = progress or Silent()
    folder = writable(setup.options.report_dir, heard.note)
    outcome = run.optimize(setup, choose_proposers(setup.options, heard), folder, heard)
    deliver(outcome, setup.options)
    if outcome.interrupted and outcome.interrupted.exit_code:
        raise outcome.interrupted
    record = {one.name: getattr(outcome.run, one.name) for one in fields(RunRecord)}
    others = tuple(one.run for one in outcome.others)
    return Run(**record, edit=outcome.combined, others=others)


def prove(
    swizzle: AnySwizzle,
    grid: int | Sequence[int],
    *,
    target: AnyTarget = DEFAULT_TARGET,
    sizes: bool = True,
    **constants: int,
) -> Proof | Witness:
    """Is a swizzle a permutation of a launch's tiles?

    Args:
        swizzle: its text, the name of a pattern, or a parsed swizzle.
        grid: programs of the launch, along up to three axes.
        target: gives the number of XCDs.
        sizes: also prove it for other sizes, up to some seconds: for the proof's `extent`.
        constants: integer arguments of the kernel, and parameters of the pattern, by name.

    Returns:
        A proof, or a witness against it, whose `failure` is set where the text has no value on
        this grid.

    Raises:
        LanguageError: the text is no swizzle, or reads a name that is not given.
        UsageError: there is no such pattern or target, or no such grid.
    """
    name, text, parameters = close_swizzle(swizzle, constants)
    parsed = parse(text)
    refuse_unread(name, constants, parameters | parsed.names, parameters)
    refuse_reserved(constants, INPUTS)
    own = {one: value for one, value in constants.items() if one not in parameters}
    return prove_parsed(parsed, grid_of(grid), own, loaded_target(target), sizes=sizes)


def prove_parsed(
    swizzle: Swizzle, grid: Grid, constants: Constants, target: Target, *, sizes: bool = True
) -> Proof | Witness:
    """The same of a parsed swizzle that reads no other constants."""
    proof = mapping.prove(swizzle, grid, constants, **target.inputs)
    if isinstance(proof, Witness) or not sizes:
        return proof
    return mapping.extend(proof, swizzle, **target.inputs)


def prove_source(
    command: Sequence[str],
    source: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    target: AnyTarget = DEFAULT_TARGET,
    project_directory: str | os.PathLike[str] = ".",
    limit_seconds: float = 300.0,
    sweep: bool = False,
    no_cache: bool = False,
    progress: Progress | None = None,
) -> tuple[RemapVerdict, ...]:
    """Does a kernel, with the remap that its source has, compute each tile exactly once?

    Args:
        command: the application, as an argument list.
        source: the file that the kernel, or a jit function that it calls, is written in.
        kernel: only this one of the file.
        target: the GPU that the application is told of.
        project_directory: where the application is started.
        limit_seconds: recording ends at the latest.
        sweep: also look at each launch at other sizes, some seconds each: `RemapVerdict.sizes`.
        no_cache: look anew at launches that an earlier run has looked at.
        progress: told of each step.

    Returns:
        A verdict for each distinct launch.

    Raises:
        UsageError: there is no such file, or no kernel of it was launched.
        CaptureError: the application launched no kernel.
    """
    file, folder = Path(source), Path(project_directory)
    if not file.is_file():
        raise UsageError(f"there is no file {file}", hint="--source names the kernel's file")
    if not folder.is_dir():
        raise UsageError(f"there is no directory {folder}", hint="-p names the project directory")
    gpu = loaded_target(target)
    progress, language = progress or Silent(), examiner()
    kept = Kept(None) if no_cache else kept_for_user()
    with temporary_folder("source") as records:
        progress.phase(f"recording {shlex.join(command)}")
        request = RecordRequest(command, folder, records, gpu, limit_seconds=limit_seconds)
        recorded = language.record(request)
        for note in recorded.cautions:
            progress.note(note)
        launches = launches_of(recorded.launches, file, kernel)
        noun = "launch" if len(launches) == 1 else "launches"
        progress.phase(f"looking at {len(launches)} {noun}")
        return language.prove_launches(launches, sweep=sweep, kept=kept)


def launches_of(
    launches: Sequence[Launch], source: Path, kernel: str | None = None
) -> tuple[Launch, ...]:
    """The launches of kernels that are written in a file, or call a jit function of it.

    Raises:
        UsageError: there is none.
    """
    file = source.resolve()
    named = [one for one in launches if kernel in (None, one.kernel)]
    if not named:
        found = sorted({one.kernel for one in launches})
        raise UsageError(
            f"the application launched no kernel `{kernel}`",
            hint=f"it launched: {', '.join(found)}",
        )
    chosen = tuple(one for one in named if file in _files(one))
    if not chosen:
        found = sorted({str(path) for one in named for path in _files(one)})
        raise UsageError(
            f"no kernel that was launched is written in {source}",
            hint=f"they are in: {', '.join(found)}",
        )
    return chosen


def _files(launch: Launch) -> set[Path]:
    return {Path(function.file).resolve() for function in launch.source.functions.values()}
