# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The best swizzle at other sizes than the recorded one, and a guard where it loses or is none."""

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
from intelliperf_swizzle.frontends.resizing import is_factor_alone, is_stride, other_values
from intelliperf_swizzle.mapping.sizes import recorded_condition
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Launch, Trace
from intelliperf_swizzle.search import elsewhere, stages
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
MOST_LENGTHS = 4
"""That may be those of the rows of a stride."""
MOST_LINES, FEWEST_LINES = 3, 1 << 23
"""Line accesses that are replayed at other sizes, as a multiple of the largest launch's, which may
be at least this many."""


_Varied: TypeAlias = tuple[tuple[str, ...], Launch, Trace]
"""Names of arguments, a launch with other values of them, and its trace."""


class SizeGuard:
    """The stage `guarded`: what a swizzle must test to be right, and not to lose, at other sizes.

    Args:
        setup: of the run.
        subject: the kernel.
        progress: receives what is modelled.

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
        tests = {} if tied else {name: self._rows.get(name) for name in self._held}
        for proof in _proofs(best, tied, tests):
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
    def _others(self) -> list[elsewhere.WhatIf]:
        return elsewhere.other_sizes(self._setup, self._subject)

    @property
    def independence(self) -> records.Independence:
        """What is known of how programs depend on each other, and in which launches."""
        subject = self._subject
        varied = {name for names, *_ in self._varied for name in names}
        varied -= {*self._held, *self._fixed}
        others = (other.traced for other in self._others)
        free = (t.launch.numbers for t in others if not find_dependence(t.trace, t.launch))
        recorded = {launch.numbers for launch in subject.launches}
        sizes = tuple(n for n in dict.fromkeys((*free, *self._looked)) if n not in recorded)
        named, apart = tuple(sorted(varied)), self._find_apart()
        return replace(subject.independence, sizes=sizes, varied=named, apart=apart)

    def _find_apart(self) -> tuple[tuple[str, str], ...]:
        """The pairs of tensors without those that a small launch shows to be independent as one."""
        pairs, small = self._subject.apart, self._small.launch
        given = {n: v for n, v in small.arguments.items() if isinstance(v, records.TensorArgument)}
        two = [pair for pair in pairs if given.keys() >= {*pair}][:MOST_PAIRS]
        two = [(name, other) for name, other in two if given[name].storage != given[other].storage]
        made = [replace(small, arguments={**small.arguments, b: given[a]}) for a, b in two]
        traced = zip(two, made, self._look(made, VARIED_SECONDS), strict=True)
        known = {pair for pair, new, trace in traced if trace and not self._binds(new, trace)}
        return tuple(pair for pair in pairs if pair not in known)

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
        large = (t for t in every if t.launch.tiles >= elsewhere.ENOUGH_TILES)
        apart = (t for t in large if not find_dependence(t.trace, t.launch))
        return min(apart, key=lambda t: t.launch.tiles, default=first)

    @cached_property
    def _varied(self) -> list[_Varied]:
        """A small launch with other values of arguments that other sizes leave alone: of each by
        itself, of two that bind nothing, of all of these, and of what may be a length of rows, more
        than what binds and may be their distance."""
        first, small = self._subject.traced[0], self._small.launch
        others = [other.traced.launch.arguments for other in self._others]
        changed = {n for n, v in first.launch.arguments.items() if any(a[n] != v for a in others)}
        factors = {name for name in changed if is_factor_alone(small, name)}
        rows = {name: 2 * small.constants[name] for name in factors if is_stride(small, name)}
        others_vary = changed - (factors - {*rows})
        values = {
            name: other_values(small, name)
            for name in sorted(small.arguments.keys() - {*first.trace.immaterial} - others_vary)
            if others
        }
        alone = self._vary([{name: value} for name in values for value in values[name]])
        binding = {names[0] for names, made, trace in alone if self._binds(made, trace)}
        free = {name: found[-1] for name, found in values.items() if found and name not in binding}
        pairs = itertools.islice(itertools.combinations(free.items(), 2), MOST_PAIRS)
        together = [*[free] * (len(free) > 2), *[rows] * bool(rows)]
        strides = {small.constants.get(name, 0) for name in binding}
        longer = [
            {name: small.constants[name] + stride}
            for name, stride in itertools.product(free, strides)
            if 2 < 2 * small.constants[name] <= stride and len(values[name]) > 1
        ]
        return [*alone, *self._vary([*map(dict, pairs), *together, *longer])]

    def _vary(self, changes: Sequence[Mapping[str, int]]) -> list[_Varied]:
        """The small launch with other arguments, where somebody may make it."""
        small = self._small.launch
        memory = {n: records.Storage(2 * held.bytes) for n, held in small.storages.items()}
        made = [replace(small, arguments={**small.arguments, **change}, storages=memory, ttir=None)
                for change in changes]  # fmt: skip
        traces = zip(changes, made, self._look(made, VARIED_SECONDS), strict=True)
        return [((*change,), launch, trace) for change, launch, trace in traces if trace]

    def _binds(self, launch: Launch, trace: Trace, loops: bool = True) -> bool:
        """Whether its programs depend on each other, or may, or a loop carries more than it did, or
        deals in other tiles."""
        known = frozenset().union(*(t.seen | t.unseen for t in self._traces))
        exchange = trace.hands_over and not any(t.hands_over for t in self._traces)
        if find_dependence(trace, launch) or trace.unseen - known or exchange:
            return True
        language, renumber = self._setup.language, self._setup.options.renumber
        if not loops or launch.loop is None or not isinstance(language, TileLoops):
            return False
        (found,), _ = language.with_loops([launch], renumber)
        return found.loop is None or found.loop.counters != launch.loop.counters

    @property
    def _traces(self) -> list[Trace]:
        traced = *self._subject.traced, *(other.traced for other in self._others)
        return [t.trace for t in traced]

    @cached_property
    def _binding(self) -> list[tuple[str, Launch]]:
        """Arguments at another value of which programs bind each other, in which launch."""
        return self._bind(loops=True)

    def _bind(self, loops: bool) -> list[tuple[str, Launch]]:
        varied = (varied for varied in self._varied if self._binds(*varied[1:], loops))
        return [(name, launch) for names, launch, _ in varied for name in names]

    @property
    def _held(self) -> list[str]:
        """Arguments at whose other values programs depend on each other, or may."""
        return sorted({name for name, _ in self._binding} - {*self._fixed})

    @cached_property
    def _rows(self) -> dict[str, str]:
        """Of arguments at whose other values programs depend on each other, strides and lengths of
        rows: what holds where they do at none (`stride >= N`)."""
        found: dict[str, str] = {}
        sizes = self._small.launch.constants
        for stride in dict.fromkeys(name for name, _ in self._binding):
            shorter = [n for n in sizes if n != stride and 1 < sizes[n] <= sizes[stride]]
            shorter.sort(key=lambda name: (name in self._small.launch.constexprs, -sizes[name]))
            fitting = (name for name in shorter[:MOST_LENGTHS] if self._keeps_apart(stride, name))
            if (length := next(fitting, None)) is not None:
                found |= dict.fromkeys((length, stride), f"{stride} >= {length}")
        return found

    def _keeps_apart(self, stride: str, length: str) -> bool:
        """Whether no programs depend on each other wherever a stride is at least a length: neither
        in launches that were looked at nor at further values."""
        pair, size = {stride, length}, self._small.launch.constants[length]
        binding = [launch.constants for name, launch in self._binding if name in pair]
        recorded = [launch.constants for launch in self._subject.launches]
        if any(x[stride] >= x[length] for x in binding) or any(
            x[stride] < x[length] for x in recorded
        ):
            return False
        half = size // 2, size // 2 + 1
        values = [(size, size + 8), *((n, n) for n in (0, 1, *half, 2 * size)), (-1, 0)]
        made = self._vary([{length: least, stride: value} for least, value in values])
        return bool(made) and not any(self._binds(launch, trace) for _, launch, trace in made)

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
        return (
            not larger
            or any(trace.hands_over for trace in traces)
            or any(touched(t, *_PLAIN) & touched(t, records.Access.ATOMIC) for t in traces)
            or any(find_dependence(t.trace, t.launch) for t in others)
            or self._misses([*traces, *(t.trace for t in larger)])
            or any(self._is_bound(*at) for at in self._bind(loops=False) if at[0] not in self._rows)
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
        made = [new for new in made if new.tiles <= elsewhere.FEWEST_PROGRAMS]
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
        compare = partial(elsewhere.compare_at, best.proved.swizzle)
        found = filter(None, on_all_cores(compare, cases))
        return tuple(sorted(found, key=lambda other: math.prod(other.grid)))


def _proofs(
    best: stages.Evaluated, tied: bool, held: Mapping[str, str | None] = {}
) -> Iterator[records.Certificate]:
    """What is proved of a text, what says most first; the recorded values are the last resort.

    And the only one where programs depend on each other (`tied`: at another size): which ones do,
    and in which order they come, is not known of sizes that were not looked at.
    """
    proof, subject = best.proved.certify(), best.proved.subject
    known = all(name in launch.constants for launch in subject.launches for name in held)
    here = subject.has_dependences or not known
    if proof.extent != "the recorded sizes" and not tied and not here:
        values = {n: [f"{n} == {x.constants[n]}" for x in subject.launches] for n in held}
        tests = [t or f"({' or '.join(dict.fromkeys(values[n]))})" for n, t in held.items()]
        if needed := " and ".join(filter(None, (proof.condition, *dict.fromkeys(tests)))):
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
