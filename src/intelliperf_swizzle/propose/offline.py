# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Search without a language model: every pattern of the catalogue, then a local search.

The patterns are tried at all their parameters. Then the best orders of the mixed-radix space
(`nest`) are bettered step by step: a few parents, random neighbours of each, the best survive.
"""

import itertools
import random
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from intelliperf_swizzle.formulas import Pattern, load_pattern, patterns
from intelliperf_swizzle.propose import CandidateBatch, Problem, ProposerReport
from intelliperf_swizzle.propose import nest as nests
from intelliperf_swizzle.records import Candidate

BATCH = 16
"""Candidates screened together, so that both cores of a small machine are busy."""

PARENTS = 6
"""Orders that are bettered at once; fewer get stuck on the H200 GEMMs, more waste the budget."""

FROM_AFAR = 0.2
"""Share of new orders that do not descend from the best ones, so that the search does not end in
the first valley: without them a GEMM's was exhausted after 1300 orders."""

MOST_COLUMNS = 3
"""Guesses of the tile columns of a flat grid at which patterns are tried; the search has more."""

ENOUGH = 0.002
"""Headroom (rate) below which the search stops: less than the screen can resolve."""


@dataclass
class OfflineProposer:
    """The catalogue, then a seeded local search. Without network, key or GPU.

    Attributes:
        patience: batches without a better order after which the search stops; None = by the budget.
    """

    name: str = "offline"
    patience: int | None = None
    _tried: set[str] = field(default_factory=set)
    _numbers: set[int] = field(default_factory=set)

    @property
    def effort(self) -> ProposerReport:
        """Nothing to say."""
        return ProposerReport()

    def propose(self, problem: Problem) -> Iterator[CandidateBatch]:
        """Patterns, then neighbours of the best nests, until the budget is spent."""
        self._tried, self._numbers = set(), set()
        yield from self._score(list(nests.heaviest_first(problem))[: problem.budget])
        offered = itertools.islice(pattern_candidates(problem), problem.budget)
        for candidates in iter(lambda: list(itertools.islice(offered, BATCH)), []):
            yield from self._offer(CandidateBatch(candidates))
        best = yield from self._search(problem)
        turned = [nests.upside_down(nest, problem.work) for _, nest in best]
        yield from self._score([nest for nest in turned if nest is not None])

    def _search(
        self, problem: Problem
    ) -> Generator[CandidateBatch, None, list[tuple[float, nests.Nest]]]:
        """The best nests of the local search, and their screened hit rates."""
        rng = random.Random(problem.seed)
        starts = _starting_nests(problem)
        if self._room(problem) < len(starts):
            return []
        parents = yield from self._score(starts)
        idle = 0
        patience = self.patience or 3 + problem.budget // (4 * BATCH)
        while (room := self._room(problem)) > 0 and idle < patience:
            best = parents[0][0]
            if problem.ceiling_l2_hit_rate - best < ENOUGH:
                break
            children = self._offspring([nest for _, nest in parents], starts, rng)[:room]
            if not children:
                break
            scored = yield from self._score(children)
            parents = _survivors([*parents, *scored])
            idle = 0 if parents[0][0] > best else idle + 1
        return parents

    def _room(self, problem: Problem) -> int:
        """Candidates that may still be tried."""
        return problem.budget - len(self._numbers)

    def _offspring(
        self, parents: Sequence[nests.Nest], starts: Sequence[nests.Nest], rng: random.Random
    ) -> list[nests.Nest]:
        """New nests: mostly a step or two from a parent, better parents more often; some from afar.

        Once all that is near has been tried, all of them come from afar.
        """
        children: list[nests.Nest] = []
        for draw in range(50 * BATCH):
            if len(children) == BATCH:
                break
            if rng.random() < FROM_AFAR or draw > 25 * BATCH:
                child = _wander(rng.choice(starts), rng, rng.randint(3, 12))
            else:
                parent = parents[min(int(rng.expovariate(0.7)), len(parents) - 1)]
                child = _wander(parent, rng, 1 + (rng.random() < 0.35))
            if child.name() not in self._tried:
                self._tried.add(child.name())
                children.append(child)
        return children

    def _score(
        self, nests: Sequence[nests.Nest]
    ) -> Generator[CandidateBatch, None, list[tuple[float, nests.Nest]]]:
        """The nests that are permutations with their screened hit rates, best first."""
        batch = CandidateBatch([Candidate(nest.text(), nest.name(), "search") for nest in nests])
        yield from self._offer(batch)
        rates = (attempt.screened_l2_hit_rate for attempt in batch.outcomes)
        scored = [(rate, nest) for rate, nest in zip(rates, nests, strict=True) if rate is not None]
        return sorted(scored, key=lambda item: (-item[0], item[1].name()))

    def _offer(self, batch: CandidateBatch) -> Iterator[CandidateBatch]:
        yield batch
        self._numbers.update(attempt.number for attempt in batch.outcomes)


def pattern_candidates(problem: Problem) -> Iterator[Candidate]:
    """Every pattern at every choice of its parameters: all first choices, all second ones, …."""
    columns = nests.column_expressions(problem.launches, problem.row_lengths)[:MOST_COLUMNS]
    sizes = [axis.expression for axis in columns]
    bindings = [[(pattern, bound) for bound in _bindings(pattern, sizes)] for pattern in patterns()]
    for choices in itertools.zip_longest(*bindings):
        for pattern, bound in filter(None, choices):
            name = " ".join([pattern.name, *(f"{key}={value}" for key, value in bound.items())])
            yield Candidate(pattern.bind(**bound), name, "pattern", rationale=pattern.summary)


def by_hand(problem: Problem) -> dict[str, Candidate]:
    """What people use without a search, as they call it -> the candidate."""
    columns = nests.column_expressions(problem.launches, problem.row_lengths)
    cols = columns[0].expression if columns else "grid_0"
    remap = load_pattern("aiter-remap-xcd")
    found = {"AITER's remap_xcd": Candidate(remap.bind(), remap.name, "pattern")}
    for name, title in (("grouped-rows", ""), ("xcd-contiguous-grouped", "remap_xcd, then ")):
        for group in (4, 8, 16):
            text = load_pattern(name).bind(cols=cols, group=group)
            candidate = Candidate(text, f"{name} cols={cols} group={group}", "pattern")
            found[f"{title}GROUP_M = {group}"] = candidate
    return found


def nearby(values: Mapping[str, int]) -> list[dict[str, int]]:
    """Parameters one step away: one of them a little or much smaller or larger."""
    return [
        {**values, name: moved}
        for name, value in values.items()
        for moved in dict.fromkeys(
            (value - 1, value + 1, value * 3 // 4, value * 3 // 2, value // 2, value * 2)
        )
        if moved > 0 and moved != value
    ]


def _bindings(pattern: Pattern, columns: Sequence[str]) -> Iterator[dict[str, int | str]]:
    """Choices of the parameters; those that belong to the launch take its columns."""
    choices: dict[str, Sequence[int | str]] = {
        name: values or columns for name, values in pattern.parameters.items()
    }
    for bound in itertools.product(*choices.values()):
        yield dict(zip(choices, bound, strict=True))


def _starting_nests(problem: Problem) -> list[nests.Nest]:
    return [
        nests.plain(axes, linear=problem.linear, chunk=chunk)
        for axes in nests.axis_choices(problem.launches, problem.row_lengths)
        for chunk in (None, 1)
    ]


def _wander(nest: nests.Nest, rng: random.Random, steps: int) -> nests.Nest:
    for _ in range(steps):
        nest = next(nests.neighbours(nest, rng))
    return nest


def _survivors(scored: Sequence[tuple[float, nests.Nest]]) -> list[tuple[float, nests.Nest]]:
    """The best few, no two of the same score (they are mostly the same order written twice)."""
    survivors: list[tuple[float, nests.Nest]] = []
    for score, nest in sorted(scored, key=lambda item: (-item[0], item[1].name())):
        if all(abs(score - other) > 1e-9 for other, _ in survivors):
            survivors.append((score, nest))
    return survivors[:PARENTS]
