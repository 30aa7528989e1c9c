# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Launches at other sizes and other values of arguments: do programs stay independent there?"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.dependence import find_dependence, touched
from intelliperf_swizzle.frontends.ports import Resizer, TileLoops
from intelliperf_swizzle.frontends.resizing import is_factor_alone, is_stride, other_values
from intelliperf_swizzle.language.syntax import GRID
from intelliperf_swizzle.records import Launch, Trace
from intelliperf_swizzle.search.elsewhere import WhatIf
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.subject import Subject, TracedLaunch

MOST_WORK = 2
"""Programs that are traced at other sizes together, as a multiple of the largest launch's,"""
FEWEST_PROGRAMS = 1 << 14
"""… which may be at least this many."""
FRACTIONS = (16, 8, 4, 2)
"""Parts of the blocks along a size; one block more than each leaves no multiple of the XCDs."""
_PLAIN = (records.Access.READ, records.Access.WRITE)
_PROGRAMS = "num_programs"
FURTHER = 8
"""Times as many blocks along a size if no other launch does all that a kernel may do."""
VARIED_SECONDS = 30.0
"""For launches with other arguments: a loop may not end with them."""
MOST_PAIRS = 28
"""Of arguments that are varied together: of eight, all."""
MOST_RELATIONS = 4
"""Of an argument to others, and to numbers of programs, that are tried."""
ENOUGH_TILES = 64
"""Of a launch at which other arguments than sizes are varied."""


_Looked: TypeAlias = tuple[Launch, Trace]
_Varied: TypeAlias = tuple[tuple[str, ...], Launch, Trace | None]
"""Names of arguments, a launch with other values of them, and its trace if it has the same loop."""


@dataclass(frozen=True)
class _Relation:
    """That a stride is at least a length: of rows, or of an axis of programs. Of the step of a
    loop, that it is the number of programs, or both are at least that of the tiles.

    Attributes:
        stride: an argument.
        length: another one, or a number of programs as swizzles call it.
    """

    stride: str
    length: str

    @property
    def text(self) -> str:
        """As a condition of a swizzle."""
        test = "min({}, num_pids) == {}" if self.length == _PROGRAMS else "{} >= {}"
        return test.format(self.stride, self.length)

    def holds(self, launch: Launch) -> bool:
        """Whether it does in a launch."""
        length, stride = (_numbers_of(launch)[name] for name in (self.length, self.stride))
        return min(stride, launch.tiles) == length if self.length == _PROGRAMS else stride >= length

    def further_values(self, launch: Launch) -> list[Mapping[str, int]]:
        """Both at values for which it mostly holds; programs in the memory of a launch."""
        size, tiles = _numbers_of(launch)[self.length], launch.tiles
        least, most = (-1, 2 * size) if self.length in launch.constants else (1, size)
        most = max(2 * size, tiles) if self.length == _PROGRAMS else most
        alike = {0, 1, size // 2, size // 2 + 1, 2 * size}
        pairs = [*((n, n) for n in alike), (size, size + 8), (tiles, tiles + 8), (-1, 0)]
        return [{self.length: n, self.stride: stride} for n, stride in pairs if least <= n <= most]


def _relations(launch: Launch, stride: str) -> list[_Relation]:
    """Those that a stride may have to what is not larger, the likeliest first."""
    numbers, names = _numbers_of(launch), launch.constants
    lengths = (n for n in numbers if n not in names or not is_factor_alone(launch, n))
    shorter = [n for n in lengths if n != stride and 1 < numbers[n] <= numbers[stride]]
    shorter.sort(key=lambda name: (name not in names, name in launch.constexprs, -numbers[name]))
    return [_Relation(stride, name) for name in shorter]


def _numbers_of(launch: Launch) -> dict[str, int]:
    """The integer arguments of a launch and its numbers of programs, as swizzles call them."""
    along = [(_PROGRAMS, launch.programs)] if launch.loop else zip(GRID, launch.grid, strict=True)
    return {**dict(along), **launch.constants}


def _changed(launch: Launch, change: Mapping[str, int]) -> Launch:
    """A launch with other arguments, and with other numbers of programs."""
    axes = (_PROGRAMS, *GRID[1:]) if launch.loop else GRID
    x, y, z = (change.get(name, n) for name, n in zip(axes, launch.grid, strict=True))
    given = {name: change.get(name, value) for name, value in launch.arguments.items()}
    return replace(launch, grid=(x, y, z), arguments=given, ttir=None)


class Variations:
    """A kernel's launches at other sizes and at other values of the arguments that are no sizes.

    Args:
        setup: of the run.
        subject: the kernel.
    """

    def __init__(self, setup: RunContext, subject: Subject):
        self._setup = setup
        self._subject = subject
        self._looked: dict[records.Grid, None] = {}

    @cached_property
    def sizes(self) -> list[WhatIf]:
        """The largest launch at other sizes, as far as an application may launch these."""
        launches, first = _other_launches(self._setup, self._subject), self._subject.traced[0]
        return [
            WhatIf(self._setup, TracedLaunch(launch, trace, first.occupancy))
            for launch, trace in filter(None, self._look(launches))
            if _idle(trace) <= _idle(first.trace)
        ]

    @property
    def independence(self) -> records.Independence:
        """What is known of how programs depend on each other, and in which launches."""
        subject = self._subject
        varied = {name for names, *_ in self._varied for name in names}
        varied -= {*self.tests, *self.fixed}
        others = (other.traced for other in self.sizes)
        free = (t.launch.numbers for t in others if not find_dependence(t.trace, t.launch))
        recorded = {launch.numbers for launch in subject.launches}
        sizes = tuple(n for n in dict.fromkeys((*free, *self._looked)) if n not in recorded)
        named, apart = tuple(sorted(varied)), self._find_apart()
        return replace(subject.independence, sizes=sizes, varied=named, apart=apart)

    def _find_apart(self) -> tuple[tuple[str, str], ...]:
        """The pairs of tensors without those that a small launch shows to be independent as one."""
        pairs, small = self._subject.apart, self._small.launch
        given = {n: v for n, v in small.arguments.items() if isinstance(v, records.TensorArgument)}
        two = [pair for pair in pairs if {*pair} <= given.keys()][:MOST_PAIRS]
        two = [(name, other) for name, other in two if given[name].storage != given[other].storage]
        made = [replace(small, arguments={**small.arguments, b: given[a]}) for a, b in two]
        looked = zip(two, self._look(made, VARIED_SECONDS), strict=True)
        known = {pair for pair, at in looked if at and not self._binds(*at)}
        return tuple(pair for pair in pairs if pair not in known)

    def _look(self, made: Sequence[Launch], seconds: float = 600) -> list[_Looked | None]:
        """Synthetic launches with their traces; None if no application would launch them."""
        language = self._setup.language
        if not made or not isinstance(language, Resizer):
            return [None] * len(made)
        traces = language.trace_each(made, timeout_seconds=seconds)
        return [(new, trace) if trace else None for new, trace in zip(made, traces, strict=True)]

    @cached_property
    def _small(self) -> TracedLaunch:
        """The smallest launch of enough tiles that are independent; else a recorded one."""
        first = self._subject.traced[0]  # as large as its memory is, whatever that follows from
        every = (first, *(other.traced for other in self.sizes))
        large = (t for t in every if t.launch.tiles >= ENOUGH_TILES)
        apart = (t for t in large if not find_dependence(t.trace, t.launch))
        return min(apart, key=lambda t: t.launch.tiles, default=first)

    @cached_property
    def _varied(self) -> list[_Varied]:
        """A small launch with other values of arguments that other sizes leave alone: of each by
        itself, of two that bind nothing, of all of these, and of what may be a length of rows, more
        than what binds and may be their distance."""
        first, small = self._subject.traced[0], self._small.launch
        others = [other.traced.launch.arguments for other in self.sizes]
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
        """The small launch with other arguments, if an application may make it."""
        small = _in_twice_the_memory(self._small.launch)
        made = [_changed(small, change) for change in changes]
        looped = self._with_loops(made)
        looked = zip(changes, made, looped, self._look(looped, VARIED_SECONDS), strict=True)
        return [
            ((*change,), *(at if bool(new.loop) == bool(small.loop) else (old, None)))
            for change, old, new, at in looked
            if at
        ]

    def _with_loops(self, made: Sequence[Launch]) -> Sequence[Launch]:
        """Launches with the tiles that they have in the loop of the small one, if they have it."""
        loop, language = self._small.launch.loop, self._setup.language
        if loop is None or not isinstance(language, TileLoops):
            return made
        looped, _ = language.with_loops(made, self._setup.options.renumber, alike=False)
        kept = (
            new.loop if new.loop and new.loop.counters == loop.counters else None for new in looped
        )
        return [replace(new, loop=own) for new, own in zip(looped, kept, strict=True)]

    def _binds(self, launch: Launch, trace: Trace | None, loops: bool = True) -> bool:
        """Whether its programs depend on each other, or may, or a loop carries more than it did, or
        deals in other tiles."""
        if trace is None:
            return loops
        known = frozenset().union(*(t.seen | t.unseen for t in self._traces))
        exchange = trace.hands_over and not any(t.hands_over for t in self._traces)
        return bool(find_dependence(trace, launch) or trace.unseen - known or exchange)

    @property
    def _traces(self) -> list[Trace]:
        return [t.trace for t in (*self._subject.traced, *(other.traced for other in self.sizes))]

    @cached_property
    def _binding(self) -> list[tuple[str, Launch]]:
        """Arguments at another value of which programs bind each other, in which launch."""
        return self._bind(loops=True)

    def _bind(self, loops: bool) -> list[tuple[str, Launch]]:
        varied = (varied for varied in self._varied if self._binds(*varied[1:], loops))
        return [(name, launch) for names, launch, _ in varied for name in names]

    @property
    def tests(self) -> dict[str, str | None]:
        """Arguments at whose other values programs depend on each other, or may; and what holds of
        them where they do not (`stride >= N`), None if only the recorded values are known."""
        held = {*self._rows, *(name for name, _ in self._binding)} - {*self.fixed}
        return {name: self._rows.get(name) for name in sorted(held)}

    @cached_property
    def _rows(self) -> dict[str, str]:
        """Of arguments at whose other values programs depend on each other, and of those that they
        must reach: what holds where programs do at none (`stride >= N`)."""
        found: dict[str, str] = {}
        for stride in dict.fromkeys(name for name, _ in self._binding):
            known = filter(self._is_known, _relations(self._small.launch, stride))
            fitting = filter(self._keeps_apart, itertools.islice(known, MOST_RELATIONS))
            if (relation := next(fitting, None)) is not None:
                names = {stride, relation.length} & self._small.launch.constants.keys()
                found |= dict.fromkeys(names, relation.text)
        return found

    def _is_known(self, relation: _Relation) -> bool:
        """Whether it holds in all launches that are recorded, some with more programs along an axis
        than the small one, and in none that binds programs."""
        pair, length = {relation.stride, relation.length}, relation.length
        binding = (launch for name, launch in self._binding if name in pair)
        others = (*self._subject.launches, *(other.traced.launch for other in self.sizes))
        most = max(_numbers_of(launch)[length] for launch in others)
        return (
            all(map(relation.holds, self._subject.launches))
            and not any(map(relation.holds, binding))
            and (length not in GRID or most > _numbers_of(self._small.launch)[length])
        )

    def _keeps_apart(self, relation: _Relation) -> bool:
        """Whether no programs depend on each other at further values for which it holds."""
        made = self._vary(relation.further_values(self._small.launch))
        looked = [(launch, trace) for _, launch, trace in made if relation.holds(launch)]
        return bool(looked) and not any(self._binds(*at) for at in looked)

    @cached_property
    def fixed(self) -> list[str]:
        """Arguments by which the compiler leaves out code that was not checked."""
        return uncompiled([*self._traces, *(trace for *_, trace in self._varied if trace)])

    @cached_property
    def tied(self) -> bool:
        """Whether programs depend on each other, or may, at a size that is not recorded.

        They may where contents decide accesses, or nothing explains the grid: then no larger launch
        can be looked at.
        """
        traces = [t.trace for t in self._subject.traced]
        others = [other.traced for other in self.sizes]
        larger = [t for t in others if t.launch.tiles > self._subject.traced[0].launch.tiles]
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
        recorded, value = self._subject.traced[0].launch.constants[name], launch.constants[name]
        less = value < recorded if name in launch.constexprs else value > 1
        strides = {stride for _, view in launch.tensors() for stride in view.strides}
        return less and recorded > 1 and recorded not in strides

    def _misses(self, traces: Sequence[Trace]) -> bool:
        """Whether something that may bring programs together is done at no size: not in these, nor
        at larger ones, nor by twice the programs in twice the memory, if all do as much."""
        first, language = self._subject.traced[0], self._setup.language
        launch = first.launch
        if not _unseen(traces) or launch.loop or not isinstance(language, Resizer):
            return _unseen(traces)
        made = language.resize(launch, lambda count: [FURTHER * count])
        larger = [*filter(None, self._look([new for new in made if new.tiles <= FEWEST_PROGRAMS]))]
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

    def _doubled(self, base: TracedLaunch, axes: Sequence[int]) -> dict[int, _Looked]:
        """By axis of the grid, twice the programs in twice the memory, if they are independent and
        all do as much."""
        launch, lines = _in_twice_the_memory(base.launch), 2 * base.trace.line_accesses
        grids = ([size << (at == axis) for at, size in enumerate(launch.grid)] for axis in axes)
        made = [replace(launch, grid=(x, y, z), count=1) for x, y, z in grids]
        return {
            axis: at for axis, at in zip(axes, self._look(made), strict=True)
            if at and at[1].line_accesses == lines and not find_dependence(at[1], at[0])
        }  # fmt: skip


def uncompiled(traces: Iterable[Trace]) -> list[str]:
    """The arguments that decide about accesses which are in none of some compiled kernels."""
    first, *others = (trace.uncompiled for trace in traces)
    left = first.keys() & set(first).intersection(*others)
    return sorted({name for place in left for name in first[place]})


def _unseen(traces: Sequence[Trace]) -> bool:
    seen = frozenset().union(*(trace.seen for trace in traces))
    return any(trace.unseen - seen for trace in traces)


def _other_launches(setup: RunContext, subject: Subject) -> list[Launch]:
    """The largest launch at other sizes, as many as may be looked at: the cheapest of enough tiles,
    the next grids above and below its own, at which rows of tiles begin in other places, and then
    the cheapest of all."""
    language, largest = setup.language, subject.traced[0]
    tensors = {name for name, _ in largest.launch.tensors()}
    if not isinstance(language, Resizer) or not tensors <= set(largest.trace.immaterial):
        return []  # how many tiles there are, or what they touch, depends on more than the sizes
    known = {launch.numbers for launch in subject.launches}
    made = [new for new in language.resize(largest.launch, _counts) if new.numbers not in known]
    below = [new for new in made if new.tiles < largest.launch.tiles]
    near = [*[new for new in made if new.tiles > largest.launch.tiles][:1], *below[-1:]]
    chosen = [new for new in below if new.tiles >= ENOUGH_TILES][:1]
    left = max(FEWEST_PROGRAMS, MOST_WORK * largest.launch.tiles) - sum(x.tiles for x in chosen)
    for launch in (*near, *(new for new in made if new not in near)):
        if launch.tiles <= left and launch not in chosen:
            left -= launch.tiles
            chosen.append(launch)
    if largest.launch.loop is None or not isinstance(language, TileLoops):
        return chosen
    looped, _ = language.with_loops([largest.launch, *chosen], setup.options.renumber)
    return [launch for launch in looped[1:] if launch.loop]


def _in_twice_the_memory(launch: Launch) -> Launch:
    memory = {name: records.Storage(2 * held.bytes) for name, held in launch.storages.items()}
    return replace(launch, storages=memory)


def _counts(count: int) -> list[int]:
    """Blocks along a size that has `count` of them."""
    fewer = [count // part + more for part in FRACTIONS for more in (0, 1)]
    return sorted({n for n in (*fewer, count - 1, count + 1, 2 * count) if n > 0})


def _idle(trace: Trace) -> int:
    """Tiles that touch nothing."""
    return int((np.diff(trace.tile_offset) == 0).sum())
