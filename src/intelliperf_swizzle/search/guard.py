# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The best swizzle at other sizes than the recorded one, and a guard where it loses or is none."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from intelliperf_swizzle import records
from intelliperf_swizzle.children import on_all_cores
from intelliperf_swizzle.mapping.sizes import recorded_condition
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.search import stages
from intelliperf_swizzle.search.elsewhere import compare_at
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.search.variations import Variations, uncompiled
from intelliperf_swizzle.stopping import ahead

MOST_LINES, FEWEST_LINES = 3, 1 << 23
"""Line accesses that are replayed at other sizes, as a multiple of the largest launch's, which may
be at least this many."""


class SizeGuard:
    """The stage `guarded`: what a swizzle must test to be right, and not to lose, at other sizes.

    Args:
        setup: of the run.
        subject: the kernel.
        progress: receives what is modelled.

    Attributes:
        refused: why texts could not be limited to what is known.
        variations: the launches that were checked besides the recorded ones.
    """

    def __init__(self, setup: RunContext, subject: Subject, progress: Progress):
        self._setup = setup
        self._subject = subject
        self._progress = progress
        self._found: dict[int, stages.Guarded | None] = {}
        self.refused: dict[str, None] = {}
        self.variations = Variations(setup, subject)
        begin = ahead if setup.device is not None else lambda work: work
        self._around = begin(self._look_around)  # on a GPU, while it tries candidates

    def __call__(self, best: stages.Evaluated) -> stages.Guarded | None:
        """The same permutation of every recorded launch, and one at every size, losing at none.

        It may lose if no condition distinguishes sizes; None if it may be no permutation.

        Cost: traces of `MOST_WORK` times the largest launch, and two replays of `MOST_LINES` times,
        once.
        """
        if best.attempt.number not in self._found:
            self._found[best.attempt.number] = self._guard(best)
        return self._found[best.attempt.number]

    def at_once(self, best: stages.Evaluated) -> stages.Edited | None:
        """The same where a signal leaves no time to look at other sizes: for the recorded ones."""
        passed = self._found.get(best.attempt.number)
        if passed is not None and passed.attempt.candidate == best.attempt.candidate:
            return best
        known = next(_proofs(best, True), None)  # with no proof for other sizes: that takes seconds
        fixed = uncompiled(t.trace for t in self._subject.traced)
        found = known and stages.under(known.condition, best, known, self._setup, fixed)
        return found if isinstance(found, stages.Guarded) else None

    def _look_around(self) -> bool:
        """Looks at all other launches; whether programs depend on each other, or may."""
        tied = self._subject.has_dependences or self.variations.tied
        if self._setup.device is not None and not (self.variations.tests or tied):
            _ = [ahead(partial(getattr, other, "before")) for other in self.variations.sizes]
        return tied

    def _guard(self, best: stages.Evaluated) -> stages.Guarded | None:
        tied = self._around()
        subject, setup, fixed = self._subject, self._setup, self.variations.fixed
        for proof in _proofs(best, tied, {} if tied else self.variations.tests):
            tested = stages.under(proof.condition, best, proof, setup, fixed)
            if not isinstance(tested, stages.Guarded):
                self.refused |= {f"not patched: {tested.reason}": None} if tested else {}
                continue
            others = self._model(tested)
            loses = any(other.loses for other in others) and proof.extent != "the recorded sizes"
            kept = _keeps(subject.traced[0].launch.tiles, others) if loses else None
            if loses and kept is None:  # as at the recorded size: no bound separates them
                kept = recorded_condition(best.proved.swizzle, subject.launches)
            guard = f"({proof.condition}) and {kept}" if proof.condition and kept else kept
            guarded = guard and stages.under(guard, best, proof, setup, fixed)
            passed = guarded if isinstance(guarded, stages.Guarded) else tested
            guard = guard if passed is guarded else proof.condition
            known = records.Sizes(others, guard) if others or guard else None
            return replace(passed, attempt=replace(passed.attempt, sizes=known))
        return None

    def _model(self, best: stages.Edited) -> tuple[records.OtherSize, ...]:
        """How a text does at other sizes, from the smallest grid to the largest."""
        left = max(FEWEST_LINES, MOST_LINES * self._subject.traced[0].trace.line_accesses)
        cases = []
        for case in self.variations.sizes:
            if case.traced.trace.line_accesses <= left:
                left -= case.traced.trace.line_accesses
                cases.append(case)
        self._progress.phase(f"modelling {best.attempt.candidate.name} at {len(cases)} other sizes")
        found = filter(None, on_all_cores(partial(compare_at, best.proved.swizzle), cases))
        return tuple(sorted(found, key=lambda other: math.prod(other.grid)))


def _proofs(
    best: stages.Evaluated, tied: bool, held: Mapping[str, str | None] = {}
) -> Iterator[records.Certificate]:
    """What is proved of a text, what says most first; the recorded values are the last resort.

    And the only one where programs depend on each other (`tied`: at another size): which ones do,
    and in which order they come, is not known of sizes that were not checked.
    """
    subject = best.proved.subject
    known = all(name in launch.constants for launch in subject.launches for name in held)
    here = tied or subject.has_dependences or not known
    if not here and (proof := best.proved.certify()).extent != "the recorded sizes":
        values = {n: [f"{n} == {x.constants[n]}" for x in subject.launches] for n in held}
        tests = [t or f"({' or '.join(dict.fromkeys(values[n]))})" for n, t in held.items()]
        if needed := " and ".join(filter(None, (proof.condition, *dict.fromkeys(tests)))):
            proof = records.Certificate("under a condition", needed)
        yield proof
    traced = subject.traced if here else ()
    read = {n for t in traced for n in t.launch.constants.keys() - {*t.trace.immaterial}}
    if recorded := recorded_condition(best.proved.swizzle, subject.launches, {*held, *read}):
        yield records.Certificate("the recorded sizes", recorded)


def _keeps(programs: int, others: Sequence[records.OtherSize]) -> str | None:
    """A condition that keeps the recorded size and none at which the swizzle loses.

    What lies between a size that loses and the next one that does not is left alone, too. None
    where a size of as many programs loses.
    """
    losing = [math.prod(size.grid) for size in others if size.loses]
    holding = [programs, *(math.prod(other.grid) for other in others if not other.loses)]
    below = max((n for n in losing if n < programs), default=0)
    above = min((n for n in losing if n > programs), default=0)
    if programs in losing:
        return None
    least = min(n for n in holding if n > below)
    most = max(n for n in holding if n < above) if above else None
    if below and least == most:
        return f"num_pids == {least}"
    parts = [f"num_pids >= {least}"] if below else []
    parts += [f"num_pids <= {most}"] if above else []
    return " and ".join(parts)
