# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The best swizzle at other sizes than the recorded one, and a guard where it loses or is none."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import TypeAlias

from intelliperf_swizzle import records
from intelliperf_swizzle.children import on_all_cores
from intelliperf_swizzle.dependence import find_dependence, touched
from intelliperf_swizzle.frontends.ports import Resizer, TileLoops
from intelliperf_swizzle.frontends.resizing import is_factor_alone, other_values
from intelliperf_swizzle.mapping.sizes import recorded_condition
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Launch, Trace
from intelliperf_swizzle.search import stages
from intelliperf_swizzle.search.elsewhere import FEWEST_PROGRAMS, WhatIf, compare_at, other_sizes
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject, TracedLaunch
from intelliperf_swizzle.stopping import ahead

_PLAIN = (records.Access.READ, records.Access.WRITE)
FURTHER = 8
"""Times as many blocks along a size where no other launch does all that a kernel may do."""
VARIED_SECONDS = 30.0
"""For launches with other arguments: a loop may not end with them."""
MOST_PAIRS = 28
"""Of arguments that are varied together: of eight, all."""
ENOUGH_TILES = 64
"""Of a launch at which other arguments than sizes are varied."""
MOST_LINES, FEWEST_LINES = 3, 1 << 23
"""Line accesses that are replayed at other sizes, as a multiple of the largest launch's, which may
be so many at least."""


_Varied: TypeAlias = tuple[tuple[str, ...], Launch, Trace]
"""Names of arguments, a launch with other values of them, and its trace."""


class SizeGuard:
    """The stage `guarded`: what a swizzle must test to be right, and not to lose, at other sizes.

    Args:
        setup: of the run.
        subject: the kernel.
        progress: told of what is modelled.

    Attributes:
        refused: why texts could not be limited to what is known.
    """

    def __init__(self, setup: Setup, subject: Subject, progress: Progress):
        self._setup = setup
        self._subject = subject
        self._progress = progress
        self._found: dict[int, stages.Guarded | None] = {}
        self.refused: dict[str, None] = {}
        self._looked: dict[records.Grid, None] = {}
        begin = ahead if setup.device is not None else lambda work: work
        self._around = begin(self._look_around)  # on a GPU, while it tries candidates

    def __call__(self, best: stages.Evaluated) -> stages.Guarded | None:
        """The same permutation of every recorded launch, and one at every size, losing at none.

        It may lose if no condition tells sizes apart; None if it may be no permutation.

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
        known = next(_proofs(best, True), records.Certificate())
        fixed = _uncompiled(t.trace for t in self._subject.traced)
        if known.condition is None:
            return None
        found = stages.under(known.condition, best, known, self._setup, fixed)
        return found if isinstance(found, stages.Guarded) else None

    def _look_around(self) -> bool:
        """Looks at all other launches; whether programs depend on each other, or may."""
        tied = self._subject.has_dependences or self._tied
        if self._setup.device is not None and not (self._held or tied):
            _ = [ahead(partial(getattr, other, "before")) for other in self._others]
        return tied

    def _guard(self, best: stages.Evaluated) -> stages.Guarded | None:
        subject = self._subject
        tied = self._around()
        for proof in _proofs(best, tied, () if tied else self._held):
            tested = stages.under(proof.condition, best, proof, self._setup, self._fixed)
            if not isinstance(tested, stages.Guarded):
                self.refused |= {f"not patched: {tested.reason}": None} if tested else {}
                continue
            others = self._model(tested)
            loses = any(other.loses for other in others) and proof.extent != "the recorded sizes"
            kept = _kept(subject.traced[0].launch.tiles, others) if loses else None
            if loses and kept is None:  # as at the recorded size, so that no bound tells them apart
                kept = recorded_condition(best.proved.swizzle, subject.launches)
            guard = f"({proof.condition}) and {kept}" if proof.condition and kept else kept
            guarded = guard and stages.under(guard, best, proof, self._setup, self._fixed)
            passed = guarded if isinstance(guarded, stages.Guarded) else tested
            guard = guard if passed is guarded else proof.condition
            known = records.Sizes(others, guard) if others or guard else None
            return replace(passed, attempt=replace(passed.attempt, sizes=known))
        return None

    @cached_property
    def _others(self) -> list[WhatIf]:
        return other_sizes(self._setup, self._subject)

    @property
    def independence(self) -> records.Independence:
        """What is known of how programs depend on each other, and in which launches."""
        subject = self._subject
        varied = {name for names, *_ in self._varied for name in names}
        varied -= {*self._held, *self._fixed}
        others = (other.traced for other in self._others)
        apart = (t.launch.numbers for t in others if not find_dependence(t.trace, t.launch))
        recorded = {launch.numbers for launch in subject.launches}
        sizes = tuple(n for n in dict.fromkeys((*apart, *self._looked)) if n not in recorded)
        return replace(subject.independence, sizes=sizes, varied=tuple(sorted(varied)))

    def _look(self, made: Sequence[Launch], seconds: float = 600) -> list[Trace | None]:
        """Traces of launches that are made up; None of what nobody would launch."""
        language = self._setup.language
        if not made or not isinstance(language, Resizer):
            return [None] * len(made)
        return [*language.trace_each(made, timeout_seconds=seconds)]

    @cached_property
    def _small(self) -> TracedLaunch:
        """The smallest launch of enough tiles that are independent; else a recorded one."""
        first = self._subject.traced[0]  # as large as its memory is, whatever that follows from
        every = (first, *(other.traced for other in self._others))
        large = (t for t in every if t.launch.tiles >= ENOUGH_TILES)
        apart = (t for t in large if not find_dependence(t.trace, t.launch))
        return min(apart, key=lambda t: t.launch.tiles, default=first)

    @cached_property
    def _varied(self) -> list[_Varied]:
        """A small launch with other values of arguments that other sizes leave alone: of each by
        itself, of two that bind nothing, and of all of these."""
        first, small = self._subject.traced[0], self._small.launch
        others = [other.traced.launch.arguments for other in self._others]
        changed = {n for n, v in first.launch.arguments.items() if any(a[n] != v for a in others)}
        values = {
            name: other_values(small, name)
            for name in sorted(small.arguments.keys() - {*first.trace.immaterial})
            if others and (name not in changed or is_factor_alone(small, name))
        }
        alone = self._vary([{name: value} for name in values for value in values[name]])
        binding = {names[0] for names, made, trace in alone if self._binds(made, trace)}
        free = {name: found[-1] for name, found in values.items() if found and name not in binding}
        pairs = itertools.islice(itertools.combinations(free.items(), 2), MOST_PAIRS)
        return [*alone, *self._vary([*map(dict, pairs), *[free] * (len(free) > 2)])]

    def _vary(self, changes: Sequence[Mapping[str, int]]) -> list[_Varied]:
        """The small launch with other arguments, where somebody may make it."""
        small = self._small.launch
        memory = {n: records.Storage(2 * held.bytes) for n, held in small.storages.items()}
        made = [replace(small, arguments={**small.arguments, **change}, storages=memory, ttir=None)
                for change in changes]  # fmt: skip
        traces = zip(changes, made, self._look(made, VARIED_SECONDS), strict=True)
        return [((*change,), launch, trace) for change, launch, trace in traces if trace]

    def _meet(self, launch: Launch, trace: Trace) -> bool:
        """Whether its programs depend on each other, or may."""
        known = frozenset().union(*(t.seen | t.unseen for t in self._traces))
        exchange = trace.hands_over and not any(t.hands_over for t in self._traces)
        return bool(find_dependence(trace, launch) or trace.unseen - known or exchange)

    def _binds(self, launch: Launch, trace: Trace) -> bool:
        """The same, or whether a loop carries more than it did, or deals in other tiles."""
        if self._meet(launch, trace):
            return True
        language, renumber = self._setup.language, self._setup.options.renumber
        if launch.loop is None or not isinstance(language, TileLoops):
            return False
        (found,), _ = language.with_loops([launch], renumber)
        return found.loop is None or found.loop.counters != launch.loop.counters

    @property
    def _traces(self) -> list[Trace]:
        traced = *self._subject.traced, *(other.traced for other in self._others)
        return [t.trace for t in traced]

    @cached_property
    def _binding(self) -> list[_Varied]:
        """Arguments at other values of which programs bind each other, in which launch."""
        return [varied for varied in self._varied if self._binds(*varied[1:])]

    @property
    def _held(self) -> list[str]:
        """Arguments at whose other values programs depend on each other, or may."""
        return sorted({name for names, *_ in self._binding for name in names} - {*self._fixed})

    @cached_property
    def _fixed(self) -> list[str]:
        """Arguments of which nobody has looked at what the compiler leaves out by them."""
        return _uncompiled([*self._traces, *(trace for *_, trace in self._varied)])

    @cached_property
    def _tied(self) -> bool:
        """Whether programs depend on each other, or may, at a size that is not recorded.

        They may where contents decide accesses, or nothing explains the grid: then no larger launch
        can be looked at.
        """
        traces = [t.trace for t in self._subject.traced]
        tiles = self._subject.traced[0].launch.tiles
        others = [other.traced for other in self._others]
        larger = [t for t in others if t.launch.tiles > tiles]
        met = (varied for varied in self._binding if self._meet(*varied[1:]))
        return (
            not larger
            or any(trace.hands_over for trace in traces)
            or any(touched(t, *_PLAIN) & touched(t, records.Access.ATOMIC) for t in traces)
            or any(find_dependence(t.trace, t.launch) for t in others)
            or self._misses([*traces, *(t.trace for t in larger)])
            or any(self._is_bound(name, launch) for names, launch, _ in met for name in names)
        )

    def _is_bound(self, name: str, launch: Launch) -> bool:
        """Whether an argument may say how many programs are apart: it is no flag, no stride, and no
        extent of a tile; of a constexpr, whether it is too small there and not too large."""
        strides = (view.strides for _, view in launch.tensors())
        recorded, value = self._subject.traced[0].launch.constants[name], launch.constants[name]
        less = value < recorded if name in launch.constexprs else value > 1
        return less and recorded > 1 and recorded not in chain(*strides)

    def _misses(self, traces: Sequence[Trace]) -> bool:
        """Whether something that may bring programs together is done at no size: not in these, nor
        at larger ones, nor by twice the programs in twice the memory, if all do as much."""
        first, language = self._subject.traced[0], self._setup.language
        launch = first.launch
        if not _unseen(traces) or launch.loop or not isinstance(language, Resizer):
            return _unseen(traces)
        made = language.resize(launch, lambda count: [FURTHER * count])
        made = [new for new in made if new.tiles <= FEWEST_PROGRAMS]
        larger = [(new, trace) for new, trace in zip(made, self._look(made), strict=True) if trace]
        seen = [*traces, *(trace for _, trace in larger)]
        if any(find_dependence(trace, new) for new, trace in larger):
            return True
        self._looked |= dict.fromkeys(new.numbers for new, _ in larger)
        axes = [*range(3)] if _unseen(seen) and "addresses" not in launch.options else []
        for traced in {id(t): t for t in (self._small, first)}.values():
            apart = self._doubled(traced, axes)  # of the small one, which axes are worth a look
            axes = [*apart]
            self._looked |= dict.fromkeys(grown.numbers for grown, _ in apart.values())
        return _unseen([*seen, *(trace for _, trace in apart.values())])

    def _doubled(self, base: TracedLaunch, axes: Sequence[int]) -> dict[int, tuple[Launch, Trace]]:
        """By axis of the grid, twice the programs in twice the memory, if they are independent and
        all do as much."""
        launch, lines = base.launch, 2 * base.trace.line_accesses
        memory = {n: records.Storage(2 * held.bytes) for n, held in launch.storages.items()}
        grids = ([size << (at == axis) for at, size in enumerate(launch.grid)] for axis in axes)
        made = [replace(launch, grid=(x, y, z), storages=memory, count=1) for x, y, z in grids]
        traced = zip(axes, made, self._look(made), strict=True)
        return {
            axis: (grown, trace) for axis, grown, trace in traced
            if trace and trace.line_accesses == lines and not find_dependence(trace, grown)
        }  # fmt: skip

    def _model(self, best: stages.Edited) -> tuple[records.OtherSize, ...]:
        """How a text does at other sizes, from the smallest grid to the largest."""
        left = max(FEWEST_LINES, MOST_LINES * self._subject.traced[0].trace.line_accesses)
        cases = []
        for case in self._others:
            if case.traced.trace.line_accesses <= left:
                left -= case.traced.trace.line_accesses
                cases.append(case)
        self._progress.phase(f"modelling {best.attempt.candidate.name} at {len(cases)} other sizes")
        found = filter(None, on_all_cores(partial(compare_at, best.proved.swizzle), cases))
        return tuple(sorted(found, key=lambda other: math.prod(other.grid)))


def _proofs(
    best: stages.Evaluated, tied: bool, held: Sequence[str] = ()
) -> Iterator[records.Certificate]:
    """What is proved of a text, what says most first; the recorded values are the last resort.

    And the only one where programs depend on each other (`tied`: at another size): which ones do,
    and in which order they come, is not known of sizes that were not looked at.
    """
    proof, subject = best.proved.certify(), best.proved.subject
    known = all(name in launch.constants for launch in subject.launches for name in held)
    here = subject.has_dependences or not known
    if proof.extent != "the recorded sizes" and not tied and not here:
        values = ([f"{name} == {x.constants[name]}" for x in subject.launches] for name in held)
        tests = [f"({' or '.join(dict.fromkeys(value))})" for value in values]
        if needed := " and ".join(filter(None, (proof.condition, *tests))):
            proof = records.Certificate("under a condition", needed)
        yield proof
    traced = subject.traced if tied or here else ()
    read = {n for t in traced for n in t.launch.constants.keys() - {*t.trace.immaterial}}
    if recorded := recorded_condition(best.proved.swizzle, subject.launches, {*held, *read}):
        yield records.Certificate("the recorded sizes", recorded)


def _uncompiled(traces: Iterable[Trace]) -> list[str]:
    """The arguments that decide about accesses which are in none of some compiled kernels."""
    first, *others = (trace.uncompiled for trace in traces)
    left = first.keys() & set(first).intersection(*others)
    return sorted({name for place in left for name in first[place]})


def _unseen(traces: Sequence[Trace]) -> bool:
    seen = frozenset().union(*(trace.seen for trace in traces))
    return any(trace.unseen - seen for trace in traces)


def _kept(programs: int, others: Sequence[records.OtherSize]) -> str | None:
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
