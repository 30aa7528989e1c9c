# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From parsed options to a run and from its outcome to files: what both command lines share."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.errors import SwizzleError, UsageError
from intelliperf_swizzle.formula import Formula, load_formula
from intelliperf_swizzle.hardware import Device, Target, detect, devices, load_target
from intelliperf_swizzle.hardware.device import unknown
from intelliperf_swizzle.kernel.edit import apply
from intelliperf_swizzle.loop import Outcome, Settings
from intelliperf_swizzle.options import DEFAULT_TARGET, FORMULAS, PREFIX, PROPOSERS
from intelliperf_swizzle.profile import Profiler
from intelliperf_swizzle.profile.application import Application
from intelliperf_swizzle.profile.choose import choose_profiler
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.propose.llm import LanguageModelProposer, Model, find_endpoint
from intelliperf_swizzle.propose.llm.transport import KEY_VARIABLE
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.propose.together import Together
from intelliperf_swizzle.readers import utf8
from intelliperf_swizzle.report.files import check_format, writable, write_files

STDOUT = "-"
"""The output file that is no file: JSON on stdout."""

BUILD_LIMIT_SECONDS = 3600.0
"""A build command that takes longer hangs."""


def invocation(
    program: str, arguments: Sequence[str], environment: Mapping[str, str] = os.environ
) -> str:
    """Shell text that starts the same run again: directory, our variables, command line."""
    ours = [f"{name}={shlex.quote(value)}" for name, value in sorted(environment.items())
            if name.startswith(PREFIX)]  # fmt: skip
    line = " ".join((*ours, shlex.join((program, *arguments))))
    return f"cd {shlex.quote(str(Path.cwd()))} && {line}"


def settings_of(
    options: argparse.Namespace,
    command: tuple[str, ...],
    tell: Callable[[str], None],
    invocation: str = "",
) -> Settings:
    """What the options ask for.

    Args:
        options: IntelliPerf's and ours.
        command: the application.
        tell: told where files go, should they not go where they belong.
        invocation: shell text that repeats the run.

    Raises:
        UsageError: there is no such project directory, formula or output format.
    """
    project = Path(options.project_directory)
    utf8(str(Path.cwd()), "the directory")
    utf8(str(project.absolute()), "the project directory")
    if not project.is_dir():
        raise UsageError(f"there is no directory {project}", hint="-p names the project directory")
    if options.output_file not in (None, STDOUT):
        check_format(Path(options.output_file))
    formula = load_formula(options.formula)
    return Settings(
        command=command,
        project_directory=project.resolve(),
        formula=formula.name,
        rank=formula.rank,
        output_directory=writable(Path(options.report_dir or "swizzle-out"), tell),
        kernel=options.kernel,
        top_n=options.top_n,
        candidates=options.candidates,
        num_attempts=options.num_attempts,
        tolerance=options.accordo_absolute_tolerance,
        seed=options.seed,
        history=Path(options.history) if options.history else None,
        resume=options.resume,
        quiet_seconds=options.quiet_seconds,
        limit_seconds=options.limit_seconds,
        compute=options.compute,
        validation_seconds=options.validation_seconds,
        unittest_command=options.unittest_command,
        measured=options.measure,
        fall_back=options.profiler == "auto",
        invocation=invocation,
    )


def target_of(options: argparse.Namespace, progress: Progress) -> Target:
    """The GPU that is asked for, else the one present, else the default."""
    if options.target:
        return load_target(options.target)
    present = detect(options.device or 0)
    if present is not None:
        progress.note(f"target {present.name}: the GPU present")
        return present
    fact, hint = "no GPU found", "--target names another"
    for device in devices()[options.device or 0 :][:1]:
        fact, hint = unknown(device)
    progress.note(f"{fact}: target {DEFAULT_TARGET}, modelled ({hint})")
    return load_target(DEFAULT_TARGET)


def device_of(options: argparse.Namespace, target: Target) -> Device | None:
    """The GPU that the application runs on; None where all is to be modelled.

    That is so without a GPU, where another one is the target, and with `--profiler model`.

    Raises:
        UsageError: there is no GPU of the number that is asked for.
    """
    present = devices()
    if options.device is not None and options.device >= len(present):
        listed = ", ".join(f"{one.number}: {one.product}" for one in present) or "none"
        raise UsageError(f"there is no GPU {options.device}", hint=f"visible: {listed}")
    if options.profiler == "model" or not present:
        return None
    device = present[options.device or 0]
    return device if device.target and device.target.name == target.name else None


def measured_by(
    options: argparse.Namespace, settings: Settings, target: Target, progress: Progress
) -> tuple[Settings, Profiler]:
    """The settings with the GPU that measures, if one does, and the profiler.

    Raises:
        UsageError: there is no such GPU or profiler.
        ProfileError: the profiler that is asked for cannot work here.
    """
    device = device_of(options, target)
    if device is None and options.profiler in ("auto", "model"):
        return settings, choose_profiler(options.profiler, target)
    application = Application(
        settings.command,
        settings.project_directory,
        device,
        limit_seconds=settings.limit_seconds,
    )
    profiler = choose_profiler(options.profiler, target, application, progress)
    return replace(settings, device=device), profiler


def proposer_of(options: argparse.Namespace, progress: Progress) -> Proposer:
    """The proposer that is asked for; `auto` is `both` where a language model is configured.

    Raises:
        UsageError: there is no such proposer, or it needs a language model and none is configured.
    """
    if options.proposer not in PROPOSERS:
        raise UsageError(
            f"there is no proposer `{options.proposer}`", hint=f"one of: {', '.join(PROPOSERS)}"
        )
    endpoint = find_endpoint(options.model, options.provider, options.internal, os.environ)
    if options.proposer == "offline" or endpoint is None:
        return _without_model(options, progress)
    formula = _within_budget(load_formula(options.formula), options)
    model = LanguageModelProposer(
        formula,
        Model(endpoint, formula.temperature, formula.budgets.answer_tokens, options.seed),
        progress,
        options.samples,
    )
    return model if options.proposer == "llm" else Together(OfflineProposer(), model)


def _without_model(options: argparse.Namespace, progress: Progress) -> Proposer:
    needs_model = f"proposer `{options.proposer}`" if options.proposer in ("llm", "both") else None
    if options.formula in FORMULAS[1:]:
        needs_model = f"formula `{options.formula}`"
    if needs_model:
        raise UsageError(
            f"{needs_model} needs a language model",
            hint=f"set {KEY_VARIABLE}, or name an endpoint: -r http://localhost:8000/v1",
        )
    if options.proposer == "auto":
        progress.note("no language model is configured: searching offline")
    return OfflineProposer()


def _within_budget(formula: Formula, options: argparse.Namespace) -> Formula:
    """The formula with the budgets that the options set."""
    budgets = formula.budgets
    if options.max_tokens is not None:
        budgets = replace(budgets, tokens=options.max_tokens)
    if options.max_seconds is not None:
        budgets = replace(budgets, seconds=options.max_seconds)
    return replace(formula, budgets=budgets)


def run_build(command: str | None, project: Path) -> None:
    """Runs the user's build command in the project directory, if there is one.

    Raises:
        SwizzleError: it failed; with its last lines.
    """
    if not command:
        return
    try:
        build = subprocess.run(
            shlex.split(command),
            cwd=project,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SwizzleError(
            f"the build command took longer than {BUILD_LIMIT_SECONDS:g} s"
        ) from None
    if build.returncode:
        lines = (build.stdout + build.stderr).splitlines()[-20:]
        raise SwizzleError(
            f"the build command failed with exit code {build.returncode}", details=tuple(lines)
        )


def finish(options: argparse.Namespace, settings: Settings, outcome: Outcome) -> list[str]:
    """Writes the files and applies the edit where asked for; a line for each, for people."""
    written = write_files(
        outcome,
        settings.output_directory / outcome.run.kernel,
        output_file=options.output_file,
        attempts_directory=options.trace_path,
    )
    if options.in_place and outcome.edit:
        backups = apply(outcome.edit)
        applied = zip(outcome.edit.files, backups, strict=True)
        written += [f"applied: {path} (before: {backup})" for path, backup in applied]
    elif options.in_place:
        written.append("nothing applied: no eligible swizzle")
    return written
