# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What could be done about a kernel's misses: the swizzle, another argument, longer rows.

All are compared by the model on the kernel's largest launch. What is not the swizzle is advice: it
changes what the application passes to the kernel, not the kernel.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, get_args

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.children import on_all_cores
from intelliperf_swizzle.frontends.ports import Resizer
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.rank import MODEL_RATE_ERROR, TIME_TOLERANCE, least_gain
from intelliperf_swizzle.records import Alternative, AlternativeKind, Alternatives
from intelliperf_swizzle.search.elsewhere import WhatIf
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.stages import Edited
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.stopping import ahead

GROUPS = (4, 8, 16)
"""Values that a parameter which renumbers tiles is tried with."""

LEAST_CAUSE = 0.01
"""Part of all requests that must miss for a reason which the order of tiles has to do with."""

LEAST_HEADROOM = 0.01
"""Of hit rate, below which a kernel counts as at its ceiling."""

PROBES = (1, 128)
"""Programs that are traced, one after the other, to see what an argument does."""


def case_of(setup: RunContext, subject: Subject) -> tuple[WhatIf, bool]:
    """The largest launch by itself, and whether it is the only one."""
    largest = subject.traced[0]
    alone = len(subject.traced) == largest.launch.count == 1
    return WhatIf(setup, largest, _model_alone(subject.baseline) if alone else None), alone


class Begun(NamedTuple):
    """What waits for the alternatives that need no swizzle: arguments, and longer rows."""

    parameters: Callable[[], Sequence[Alternative]]
    paddings: Callable[[], Sequence[Alternative]]


def begin_alternatives(setup: RunContext, subject: Subject) -> Begun | None:
    """Looks at them while candidates are on a GPU; None if the processor will be busy anyway."""
    if setup.device is None or not subject.is_traced:
        return None
    case, _ = case_of(setup, subject)
    return Begun(
        ahead(lambda: [*find_parameters(case, subject)]),
        ahead(lambda: [*find_paddings(case, subject, None)]),
    )


def find_parameters(case: WhatIf, subject: Subject) -> Iterator[Alternative]:
    """Other values of constexprs that change which program computes which tile, and no more.

    The tiles are the same, with the same accesses and arithmetic, in another order.
    """
    requests, language = subject.baseline.l2_requests or 0, case.setup.language
    causes = subject.baseline.causes or ()
    misses = sum(cause.other_domain + cause.capacity + cause.conflict for cause in causes)
    if misses < LEAST_CAUSE * requests or not isinstance(language, Resizer):
        return
    launch, trace = case.traced.launch, case.traced.trace
    tiles = _work(trace)
    numbers = [name for name in launch.constexprs if type(launch.arguments.get(name)) is int]
    names = [number for number in numbers if number not in trace.immaterial]
    for name in _renumbering(language, launch, names):
        values = [value for value in GROUPS if value != launch.constants[name]]
        traces = language.trace_each([_with_arguments(launch, {name: value}) for value in values])
        made = ((value, trace) for value, trace in zip(values, traces, strict=True) if trace)
        same = {value: trace for value, trace in made if _renumbers(tiles, _work(trace))}
        for value, measured in zip(same, on_all_cores(case.replay, same.values()), strict=True):
            yield _alternative("parameter", measured, arguments={name: value})


def _alternative(
    kind: AlternativeKind,
    measured: records.Measurement,
    padding: records.Padding | None = None,
    arguments: Mapping[str, int] | None = None,
) -> Alternative:
    time_ms = measured.modelled_time_ms or 0.0
    return Alternative(kind, measured.l2_hit_rate, time_ms, padding, arguments)


def _renumbering(language: Resizer, launch: records.Launch, names: Sequence[str]) -> Sequence[str]:
    """The parameters with which one program, and many, still make accesses of the same shapes."""
    for programs in PROBES if names else ():
        few = _few_programs(launch, programs)
        changed = [_with_arguments(few, {n: 4 + 4 * (few.constants[n] != 8)}) for n in names]
        same, *others = language.trace_each([few, *changed])
        names = [name for name, other in zip(names, others, strict=True) if _alike(same, other)]
    return names


def _few_programs(launch: records.Launch, programs: int) -> records.Launch:
    """The launch with its first programs only, along each axis as many as there may be.

    Of programs that take tiles in a loop, the first tile of each.
    """
    if launch.loop:
        launch = replace(launch, loop=replace(launch.loop, most_turns=1))
        programs = launch.programs if programs > 1 else 1
    left, grid = programs, []
    for extent in launch.grid:
        grid.append(max(1, min(extent, left)))
        left //= grid[-1]
    x, y, z = grid
    return replace(launch, grid=(x, y, z))


def _with_arguments(launch: records.Launch, values: Mapping[str, int]) -> records.Launch:
    return replace(launch, arguments={**launch.arguments, **values}, ttir=None)


def find_paddings(case: WhatIf, subject: Subject, best: Edited | None) -> Iterator[Alternative]:
    """Rows a line longer, and two, of matrices whose lines crowd channels; also with the swizzle.

    An argument is the length of rows if, with a larger value, programs make as many accesses, to
    as many lines, and no lines differ but those of matrices with rows of that length.
    """
    launch, trace, language = case.traced.launch, case.traced.trace, case.setup.language
    least = LEAST_CAUSE * (subject.baseline.l2_requests or 0)
    crowded = {cause.names[0] for cause in subject.baseline.causes or () if cause.conflict >= least}
    rows = {
        name: max(tensor.strides)
        for name, tensor in launch.arguments.items()
        if isinstance(tensor, records.TensorArgument)
        and sorted(tensor.strides)[:-1] == [1]
        and max(tensor.strides) * tensor.item_bytes % records.LINE_BYTES == tensor.offset_bytes == 0
    }
    lengths = {rows[name] for name in crowded & rows.keys()}
    names = [name for name, value in launch.constants.items() if value in lengths]
    if not names or not isinstance(language, Resizer):
        return
    few = _few_programs(launch, PROBES[-1])
    same, *others = language.trace_each(
        [few, *(_with_longer_rows(few, [name], [*rows], 1)[0] for name in names)]
    )
    moved = {
        name: tensors
        for name, other in zip(names, others, strict=True)
        if (tensors := _changes(same, other)) & crowded
        and all(rows.get(of) == launch.constants[name] for of in tensors)
    }
    for together in dict.fromkeys([*((name,) for name in moved), tuple(moved)] if moved else ()):
        all_moved = sorted(set().union(*(moved[name] for name in together)))
        for lines in (1, 2):
            longer, padding = _with_longer_rows(launch, together, all_moved, lines)
            [traced] = language.trace_each([longer])
            if traced and np.array_equal(traced.tile_offset, trace.tile_offset):
                yield _alternative("padding", case.replay(traced), padding)
                if best:
                    yield _alternative("both", case.replay(traced, best.proved.tiles()[0]), padding)


def _changes(before: records.Trace | None, after: records.Trace | None) -> set[str]:
    """Names of the tensors of which other lines are touched; none if more than that differs."""
    if before is None or after is None or not np.array_equal(before.tile_offset, after.tile_offset):
        return set()
    lines = [_lines_by_segment(trace) for trace in (before, after)]
    if any(len(np.unique(was)) != len(np.unique(now)) for was, now in zip(*lines, strict=True)):
        return set()
    return {
        name
        for segment, was, now in zip(before.segments, *lines, strict=True)
        for name in segment.names
        if not np.array_equal(was, now)
    }


def _lines_by_segment(trace: records.Trace) -> list[records.Int64Array]:
    """The lines that are touched, in order, counted from the beginning of their segment."""
    _, _, line = trace.touches(np.arange(len(trace.access_base)))
    of = trace.segment_of(line)
    return [line[of == at] - segment.first_line for at, segment in enumerate(trace.segments)]


def _with_longer_rows(
    launch: records.Launch, names: Sequence[str], tensors: Sequence[str], lines: int
) -> tuple[records.Launch, records.Padding]:
    """The launch with room for rows that many lines longer in tensors, and matching arguments."""
    matrices = [
        view for of in tensors if isinstance(view := launch.arguments[of], records.TensorArgument)
    ]
    elements = lines * records.LINE_BYTES // min(matrix.item_bytes for matrix in matrices)
    arguments = {name: launch.constants[name] + elements for name in names}
    storages, total = {**launch.storages}, 0
    for view in matrices:
        more = (view.shape[view.strides.index(max(view.strides))] - 1) * elements * view.item_bytes
        storages[view.storage] = records.Storage(storages[view.storage].bytes + more)
        total += more
    changed = replace(_with_arguments(launch, arguments), storages=storages)
    return changed, records.Padding(tuple(tensors), elements, arguments, total)


def _alike(trace: records.Trace | None, other: records.Trace | None) -> bool:
    """Whether programs make accesses of the same shapes, wherever they are."""
    parts = ("tile_offset", "shape_line", "shape_sectors", "access_shape")
    return None not in (trace, other) and all(
        np.array_equal(getattr(trace, part), getattr(other, part)) for part in parts
    )


def _renumbers(before: records.Int64Array, after: records.Int64Array) -> bool:
    """Whether the `_work` of all tiles is the same, in another order."""
    first, second = (tiles[np.lexsort(tiles.T)] for tiles in (before, after))
    return np.array_equal(first, second) and not np.array_equal(before, after)


def _work(trace: records.Trace) -> records.Int64Array:
    """What each tile touches and computes, in their order: int64[tiles, 1 or 4]."""
    arithmetic = trace.tile_arithmetic
    return np.column_stack([_footprints(trace), *([] if arithmetic is None else [arithmetic])])


def _footprints(trace: records.Trace) -> records.Int64Array:
    """A number for what each tile touches, in its order: int64[tiles], wrapping."""
    shapes = [
        hash((int(kind), trace.shape_line[a:b].tobytes(), trace.shape_sectors[a:b].tobytes()))
        for kind, (a, b) in zip(trace.shape_kind, pairwise(trace.shape_offset), strict=True)
    ]
    with np.errstate(over="ignore"):
        first = np.repeat(trace.tile_offset[:-1], np.diff(trace.tile_offset))
        place = np.arange(len(trace.access_base)) - first
        access = trace.access_base.astype(np.int64) * 0x9E3779B97F4A7C1
        access += np.array(shapes, np.int64)[trace.access_shape]
        mixed = (access ^ access >> 29) * (2 * place + 1)
        mixed = np.concatenate((np.zeros(1, np.int64), np.cumsum(mixed ^ mixed >> 31)))
        return np.diff(mixed[trace.tile_offset])


def compare_alternatives(
    setup: RunContext,
    subject: Subject,
    best: Edited | None,
    progress: Progress,
    begun: Begun | None,
) -> Alternatives | None:
    """The alternatives of a kernel; None if its launches are too short for any to matter.

    Args:
        setup: of the run.
        subject: the kernel.
        best: the best swizzle, if there is one.
        progress: receives what is compared.
        begun: those that were begun before.

    Cost: an interpretation of a few programs for each argument that may be a parameter, and of the
    whole launch and a replay for each value of one.
    """
    if not subject.is_traced:
        return None
    case, alone = case_of(setup, subject)
    before = case.before
    time, least = before.modelled_time_ms or 0.0, least_gain(before)
    if time < setup.target.launch_us / 1e3:
        return None
    if subject.baseline.bound_by_arithmetic or subject.baseline.only_compulsory:
        return Alternatives(before.l2_hit_rate, time, (), _no_alternative(subject, before))
    progress.phase(f"comparing alternatives for {subject.kernel} (model)")
    arguments = tuple(begun.parameters() if begun else find_parameters(case, subject))
    found = [*arguments]
    if best:
        known = _model_alone(best.attempt.measurement) or best.attempt.predicted if alone else None
        found.append(_alternative("swizzle", known or case.replay(tile=best.proved.tiles()[0])))
    if not (setup.device and best):  # a gain that a GPU has measured needs no modelled one beside
        found += begun.paddings() if begun else find_paddings(case, subject, best)
    by_rate = not (setup.device or subject.tells_time(setup.target))
    longest = time * (1 + TIME_TOLERANCE if by_rate else 1 - least)
    lowest = before.l2_hit_rate + MODEL_RATE_ERROR if by_rate else -1.0
    gaining = [alt for alt in found if alt.time_ms < longest and alt.l2_hit_rate > lowest]
    alternatives = tuple(_rank(gaining, least, by_rate)) if gaining else ()
    reason = None if alternatives else _no_alternative(subject, before)
    return Alternatives(before.l2_hit_rate, time, alternatives, reason, arguments)


def _model_alone(measured: records.Measurement | None) -> records.Measurement | None:
    return measured if measured and measured.profiler == "model" else None


def _rank(found: Sequence[Alternative], least: float, by_rate: bool) -> list[Alternative]:
    """The cheapest that the model cannot separate from the best, then the best of each other kind.

    By time; `by_rate`: by hit rate, if nothing is claimed of time.
    """

    def price(alt: Alternative) -> tuple[int, int]:
        return get_args(AlternativeKind).index(alt.kind), alt.padding.bytes if alt.padding else 0

    by_time = sorted(found, key=lambda alternative: alternative.time_ms)
    equals = [alt for alt in by_time if alt.time_ms <= by_time[0].time_ms * (1 + least)]
    if by_rate:
        most = max(alternative.l2_hit_rate for alternative in found)
        equals = [alt for alt in by_time if alt.l2_hit_rate >= most - MODEL_RATE_ERROR]
    first = min(equals, key=price)
    others = {alt.kind: alt for alt in reversed(by_time) if alt.kind != first.kind}
    return [first, *sorted(others.values(), key=lambda other: other.time_ms)]


def _no_alternative(subject: Subject, before: records.Measurement) -> str:
    """Why nothing helps."""
    if subject.baseline.only_compulsory:
        return "nearly all misses are compulsory, as every line is fetched once"
    if subject.baseline.bound_by_arithmetic:
        return "the kernel is bound by arithmetic"
    if subject.ceiling.l2_hit_rate - before.l2_hit_rate < LEAST_HEADROOM:
        return "the L2 hit rate is at its ceiling"
    return "nothing that was tried gains more than the model can resolve"
