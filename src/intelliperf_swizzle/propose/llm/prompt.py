# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Assembles the prompts: pure functions from records to `Question`s."""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle.context import HardwareContext, render
from intelliperf_swizzle.formula import Formula
from intelliperf_swizzle.propose.llm.feedback import ideas, remembered, stuck
from intelliperf_swizzle.propose.llm.prompts import words
from intelliperf_swizzle.propose.llm.signature import ANALYSIS, ANALYSIS_TOKENS, Question, outputs
from intelliperf_swizzle.records import Attempt

CHARACTERS_PER_TOKEN = 4
"""Of English and code, roughly; for estimates only, what is paid for is counted by the endpoint."""


def analysis(formula: Formula, context: HardwareContext) -> Question:
    """The first call: an analysis of the kernel's use of memory, in words."""
    told = _told(formula, context)
    words_ = _words(formula, "analysis", context)
    return Question(words_, told, ANALYSIS, answer_tokens=ANALYSIS_TOKENS)


def proposal(
    formula: Formula,
    context: HardwareContext,
    memory_analysis: str | None,
    attempts: Sequence[Attempt],
    best: Attempt | None,
    left: int | None = None,
) -> Question:
    """A call for a new swizzle.

    Args:
        formula: what is told and asked.
        context: of the kernel.
        memory_analysis: the answer to `analysis`, if it was asked.
        attempts: all of the run, by number.
        best: the best attempt so far, of whatever origin: the one to beat.
        left: iterations that are left after this one; None = it is not said.
    """
    inputs = _told(formula, context)
    if memory_analysis:
        inputs["memory_analysis"] = memory_analysis
    if attempts or best:
        budget = formula.budgets.history_tokens * CHARACTERS_PER_TOKEN
        inputs["history"] = remembered(attempts, best, formula.rank, formula.counters, budget)
    own = [one for one in attempts if one.candidate.origin == "llm"]
    remain = "" if left is None else f" {left} further iteration{'s' * (left != 1)} may follow."
    inputs["request"] = _request(formula, own) + remain
    return Question(
        instructions=f"{_words(formula, 'task', context)}\n\n{words(formula, 'language')}",
        inputs=inputs,
        outputs=outputs(critiques=bool(own)),
    )


def first_questions(formula: Formula, context: HardwareContext) -> list[Question]:
    """The calls that a run begins with; the second one will have the first one's answer, too."""
    asked = [analysis(formula, context)] if formula.memory_analysis else []
    return [*asked, proposal(formula, context, None, [], None)]


def estimated_tokens(question: Question) -> int:
    """How many tokens a question has, roughly."""
    return len(question.text) // CHARACTERS_PER_TOKEN


def _words(formula: Formula, name: str, context: HardwareContext) -> str:
    return words(formula, name).replace("{language}", _language(context)[0])


def _language(context: HardwareContext) -> tuple[str, str]:
    """What the kernel is written in, and what a code fence calls it."""
    if context.launch.source.entry.file.endswith(".py"):
        return "Triton", "python"
    return "CUDA C++" if context.target.backend == "cuda" else "HIP C++", "cpp"


def _told(formula: Formula, context: HardwareContext) -> dict[str, str]:
    told = {name: render(context, name, formula.counters) for name in formula.context}
    if "source" in told:
        told["source"] = _fenced(told["source"], _language(context)[1])
    if formula.documents:
        texts = [path.read_text(encoding="utf-8") for path in formula.documents]
        told["documents"] = "\n\n".join(texts)
    return told


def _fenced(source: str, language: str) -> str:
    """Source in a code fence that nothing in it can close."""
    fence = "```"
    while fence in source:
        fence += "`"
    return f"{fence}{language}\n{source}\n{fence}"


def _request(formula: Formula, attempts: Sequence[Attempt]) -> str:
    if not stuck(attempts, formula.rank):
        return "Propose a swizzle."
    tried = "\n".join(f"- {idea}" for idea in ideas(attempts, formula.rank))
    return f"{words(formula, 'another_family')}\n\nTried so far:\n{tried}"
