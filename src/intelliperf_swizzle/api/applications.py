# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs that run an application and look for a swizzle, or at one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from intelliperf_swizzle.api.finished import Run
from intelliperf_swizzle.api.given import (
    AnySwizzle,
    AnyTarget,
    close_swizzle,
    prepare_call,
    refuse_unread,
)
from intelliperf_swizzle.options import options_of
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose.llm.prompt import first_questions
from intelliperf_swizzle.records import Attempt, Candidate, Ceiling, Measurement
from intelliperf_swizzle.records import Run as RunRecord
from intelliperf_swizzle.report.files import writable
from intelliperf_swizzle.search import run
from intelliperf_swizzle.search.conclude import deliver
from intelliperf_swizzle.search.problem import choose_proposers


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
    refuse_unread(name, parameters, readable)
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
