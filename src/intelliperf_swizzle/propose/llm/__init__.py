# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A language model as proposer: it is shown kernel and GPU, and answers with a swizzle's text.

And which proposers are asked for, as that depends on whether a model is configured.
"""

import os
from dataclasses import replace

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.formulas import Formula, load_formula
from intelliperf_swizzle.options import FORMULAS, PROPOSERS, Options
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.propose.llm.proposer import LanguageModelProposer
from intelliperf_swizzle.propose.llm.transport import KEY_VARIABLE, Endpoint, Model, find_endpoint
from intelliperf_swizzle.propose.offline import OfflineProposer


def choose_proposers(options: Options, progress: Progress) -> tuple[Proposer, ...]:
    """The proposers that are asked for; `auto` is `both` if a language model is configured.

    Raises:
        UsageError: there is no such proposer, or it needs a language model and none is configured.
    """
    endpoint = find_endpoint(options.model, options.provider, options.internal, os.environ)
    kind = proposer_kind(options, endpoint)
    if kind == "offline" or endpoint is None:
        if options.proposer == "auto":
            progress.note("no language model is configured: searching offline")
        return (OfflineProposer(),)
    progress.note(f"kernels and results are sent to {endpoint.describe()}")
    formula = _within_budget(load_formula(options.formula), options)
    model = LanguageModelProposer(
        formula,
        Model(endpoint, formula.temperature, formula.budgets.answer_tokens, options.seed),
        progress,
        options.samples,
        tunes=options.proposer != "llm",
        fallback=OfflineProposer() if options.proposer == "llm" else None,
    )
    return (model,) if kind == "llm" else (OfflineProposer(), model)


def proposer_kind(options: Options, endpoint: Endpoint | None) -> str:
    """`offline`, `llm` or `both`.

    Raises:
        UsageError: there is no such proposer, or it needs a language model and none is configured.
    """
    if options.proposer not in PROPOSERS:
        raise UsageError(
            f"there is no proposer `{options.proposer}`", hint=f"one of: {', '.join(PROPOSERS)}"
        )
    if options.proposer != "offline" and endpoint is not None:
        return "both" if options.proposer == "auto" else options.proposer
    needs_model = f"proposer `{options.proposer}`" if options.proposer in ("llm", "both") else None
    if options.formula in FORMULAS[1:]:
        needs_model = f"formula `{options.formula}`"
    if needs_model:
        raise UsageError(
            f"{needs_model} needs a language model",
            hint=f"set {KEY_VARIABLE}, or name an endpoint: -r http://localhost:8000/v1",
        )
    return "offline"


def _within_budget(formula: Formula, options: Options) -> Formula:
    """The formula with the budgets that the options set."""
    asked = {
        "tokens": options.max_tokens,
        "seconds": options.max_seconds,
        "call_seconds": options.call_seconds,
        "answer_tokens": options.answer_tokens,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return replace(formula, budgets=replace(formula.budgets, **given))
