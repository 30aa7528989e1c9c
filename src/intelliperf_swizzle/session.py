# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From parsed options to a run and from its outcome to files: what both command lines share."""

from __future__ import annotations

import argparse
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

from intelliperf_swizzle.errors import SwizzleError, UsageError
from intelliperf_swizzle.hardware import Target, detect, load_target
from intelliperf_swizzle.kernel.edit import apply
from intelliperf_swizzle.loop import Outcome, Settings
from intelliperf_swizzle.options import DEFAULT_TARGET, FORMULAS
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.report.files import check_format, writable, write_files

STDOUT = "-"
"""The output file that is no file: JSON on stdout."""

BUILD_LIMIT_SECONDS = 3600.0
"""A build command that takes longer hangs."""


def settings_of(
    options: argparse.Namespace, command: tuple[str, ...], tell: Callable[[str], None]
) -> Settings:
    """What the options ask for.

    Args:
        options: IntelliPerf's and ours.
        command: the application.
        tell: told where files go, should they not go where they belong.

    Raises:
        UsageError: there is no such project directory, formula or output format.
    """
    project = Path(options.project_directory)
    if not project.is_dir():
        raise UsageError(f"there is no directory {project}", hint="-p names the project directory")
    if options.output_file not in (None, STDOUT):
        check_format(Path(options.output_file))
    return Settings(
        command=command,
        project_directory=project.resolve(),
        formula=_formula(options.formula),
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
    )


def target_of(options: argparse.Namespace, progress: Progress) -> Target:
    """The GPU that is asked for, else the one present, else the default."""
    if options.target:
        return load_target(options.target)
    present = detect()
    if present is not None:
        progress.note(f"target {present.name}: the GPU present")
        return present
    progress.note(f"no GPU found: target {DEFAULT_TARGET}, modelled (--target names another)")
    return load_target(DEFAULT_TARGET)


def proposer_of(options: argparse.Namespace, progress: Progress) -> Proposer:
    """The proposer that is asked for."""
    if options.proposer == "auto":
        progress.note("no language model is configured: searching offline")
    elif options.proposer != "offline":
        raise UsageError(f"there is no proposer `{options.proposer}`", hint="one of: auto, offline")
    return OfflineProposer()


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


def _formula(text: str) -> str:
    """The formula of that name or file; without a language model there is only `swizzle`."""
    if text == FORMULAS[0]:
        return text
    if text not in FORMULAS and not Path(text).is_file():
        raise UsageError(f"there is no formula `{text}`", hint=f"one of: {', '.join(FORMULAS)}")
    raise UsageError(
        f"formula `{text}` needs a language model", hint=f"without one there is `{FORMULAS[0]}`"
    )
