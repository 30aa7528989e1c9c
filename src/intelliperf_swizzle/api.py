# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs as functions; `from intelliperf_swizzle import optimize, score, prove`.

Each does what the command of its name does, with the same defaults and the same errors, and prints
nothing. Environment variables of options are not read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from intelliperf_swizzle import errors, hardware, proofs, records
from intelliperf_swizzle.edit import Edit, apply
from intelliperf_swizzle.options import Options, options_of
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Run as RunRecord
from intelliperf_swizzle.report import sentences
from intelliperf_swizzle.search import score as scoring
from intelliperf_swizzle.search.deliver import deliver
from intelliperf_swizzle.search.run import optimize_as_asked
from intelliperf_swizzle.search.setup import RunContext, prepare


def prepare_call(
    verb: str,
    command: Sequence[str],
    target: proofs.AnyTarget | None,
    given: Mapping[str, Any],
    progress: Progress | None,
) -> RunContext:
    """What a call asks for, as the command line would have it.

    Raises:
        UsageError: the verb has no such option, or the command is not an argument list.
    """
    if isinstance(command, str) or not command:
        raise errors.UsageError(
            f"`{command}` is not an argument list",
            hint=f'["{Path(sys.executable).name}", "app.py"]',
        )
    known = {option.name for option in options_of(verb)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise errors.UsageError(
            f"`{verb}` has no option `{unknown[0]}`", hint=f"one of: {', '.join(sorted(known))}"
        )
    texts = {
        name: os.fspath(value) if isinstance(value, os.PathLike) else value
        for name, value in given.items()
    }
    options = Options(**{**texts, "target": target if isinstance(target, str) else None})
    loaded = target if isinstance(target, hardware.Target) else None
    return prepare(options, command, progress or Silent(), target=loaded)


@dataclass(frozen=True)
class Run(RunRecord):
    """A finished run, for the kernel that saves most time.

    Attributes:
        edit: what carries the best swizzles of all kernels into the user's sources; None if
            there are none.
        others: the outcomes of the other kernels that were searched.
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
        return sentences.message(self)

    def __repr__(self) -> str:
        tried = f"{len(self.attempts)} attempts"
        return f"<Run of {self.kernel} on {self.target}: {sentences.verdict(self)}, {tried}>"


def score(
    swizzle: proofs.AnySwizzle,
    command: Sequence[str],
    *,
    target: proofs.AnyTarget | None = None,
    progress: Progress | None = None,
    **given: Any,
) -> records.Score:
    """Prove and measure one swizzle on an application's kernel.

    Args:
        swizzle: its text, a pattern or its name, or a parsed swizzle.
        command: the application, as an argument list.
        target: the GPU; by default the one present, else an MI300X, modelled.
        progress: receives each step.
        given: options of `intelliperf-swizzle score` by name, such as `kernel` or
            `project_directory`; and parameters of the pattern.

    Raises:
        SwizzleError: the application, the recording or a tool failed, or the input is wrong.
    """
    known = {option.name for option in options_of("score")}
    parameters = {name: value for name, value in given.items() if name not in known}
    name, text, readable = proofs.close_swizzle(swizzle, parameters)
    proofs.refuse_unread(name, parameters, readable, readable)
    options = {name: value for name, value in given.items() if name in known}
    setup = prepare_call("score", command, target, options, progress)
    return scoring.score(text, name, [setup], progress)[0][0]


def explain(
    command: Sequence[str],
    *,
    target: proofs.AnyTarget | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, str]:
    """What a language model would be sent of an application's kernel: section -> text.

    `instructions` come first, and documents are among the sections.

    Args as of `optimize`, with the options of `intelliperf-swizzle explain`; `formula` says which
    sections.
    """
    setup = prepare_call("explain", command, target, options, progress)
    proposal = scoring.explain(setup, progress)[-1]
    return {"instructions": proposal.instructions, **proposal.inputs}


def optimize(
    command: Sequence[str],
    *,
    target: proofs.AnyTarget | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Find swizzles for an application's kernels; its sources stay unchanged (`Run.apply`).

    Args:
        command: the application, as an argument list.
        target: the GPU; by default the one present, else an MI300X, modelled.
        progress: receives each step.
        options: those of `intelliperf-swizzle --help` by name, with their defaults: `kernel`,
            `proposer`, `candidates`, `seed`, `report_dir`, `resume`, …

    Raises:
        SwizzleError: the application, the recording or a tool failed, or the input is wrong.
    """
    setup = prepare_call("optimize", command, target, options, progress)
    outcome = optimize_as_asked(setup, progress or Silent())
    deliver(outcome, setup.options)
    if outcome.interrupted and outcome.interrupted.exit_code:
        raise outcome.interrupted
    record = {field.name: getattr(outcome.run, field.name) for field in fields(RunRecord)}
    return Run(**record, edit=outcome.combined, others=tuple(other.run for other in outcome.others))
