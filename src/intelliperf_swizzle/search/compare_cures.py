# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What could be done about a kernel's misses: the swizzle, padded rows, a parameter.

All are compared by the model on the kernel's largest launch. What is not the swizzle is advice: it
changes what the application passes to the kernel, not the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.children import cores
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.rank import MODEL_RATE_ERROR, TIME_TOLERANCE, least_gain
from intelliperf_swizzle.search import builds
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Edited
from intelliperf_swizzle.search.subject import Subject

GROUPS = (4, 8, 16)
"""Values that a parameter which renumbers tiles is tried with."""


def find_parameters(case: builds.Case, subject: Subject) -> Iterator[records.Cure]:
    """Other values of constexprs that change which program computes which tile, and no more.

    The tiles are the same.
    """
    requests = subject.baseline.l2_requests or 0
    causes = subject.baseline.causes or ()
    if sum(one.other_domain + one.capacity + one.conflict for one in causes) < (
        builds.LEAST_CAUSE * requests
    ):
        return
    launch = case.launch
    names = [
        name
        for name in launch.constexprs
        if name in launch.constants and name not in case.traced.trace.immaterial
    ]
    tiles = np.sort(_footprints(case.traced.trace))
    for name in _renumbering(case, names):
        values = [value for value in GROUPS if value != launch.constants[name]]
        traces = case.trace([builds.with_arguments(launch, {name: value}) for value in values])
        same = [
            ({name: value}, one)
            for value, one in zip(values, traces, strict=True)
            if one is not None and np.array_equal(np.sort(_footprints(one)), tiles)
        ]
        with ThreadPoolExecutor(cores()) as pool:
            measured = pool.map(lambda one: case.replay(one[1]), same)
        for one, (arguments, _) in zip(measured, same, strict=True):
            yield replace(builds.cure_of("parameter", one), arguments=arguments)


def _renumbering(case: builds.Case, names: Sequence[str]) -> list[str]:
    """The parameters with which one program, and many, still make accesses of the same shapes."""
    for programs in (1, builds.PROBE_PROGRAMS):
        few = builds.few_programs(case.launch, programs)
        changed = [builds.with_arguments(few, {name: _another(few, name)}) for name in names]
        same, *others = case.trace([few, *changed]) if names else [None]
        names = [name for name, one in zip(names, others, strict=True) if _alike(same, one)]
    return list(names)


def _another(launch: records.Launch, name: str) -> int:
    return 4 if launch.constants[name] == 8 else 8


def _alike(one: records.Trace | None, other: records.Trace | None) -> bool:
    """Whether programs make accesses of the same shapes, wherever they are."""
    return (
        one is not None
        and other is not None
        and np.array_equal(one.tile_offset, other.tile_offset)
        and np.array_equal(one.shape_line, other.shape_line)
        and np.array_equal(one.shape_sectors, other.shape_sectors)
        and np.array_equal(one.access_shape, other.access_shape)
    )


def _footprints(trace: records.Trace) -> records.Int64Array:
    """A number for what each tile touches, in its order: int64[tiles], wrapping."""
    with np.errstate(over="ignore"):
        place = np.arange(len(trace.access_base)) - np.repeat(
            trace.tile_offset[:-1], np.diff(trace.tile_offset)
        )
        shapes = np.array(
            [
                hash(
                    (int(kind), trace.shape_line[a:b].tobytes(), trace.shape_sectors[a:b].tobytes())
                )
                for kind, a, b in zip(
                    trace.shape_kind, trace.shape_offset[:-1], trace.shape_offset[1:], strict=True
                )
            ],
            np.int64,
        )
        access = trace.access_base.astype(np.int64) * 0x9E3779B97F4A7C1
        access += shapes[trace.access_shape]
        mixed = (access ^ access >> 29) * (2 * place + 1)
        mixed = np.concatenate((np.zeros(1, np.int64), np.cumsum(mixed ^ mixed >> 31)))
        return np.diff(mixed[trace.tile_offset])


def case_of(setup: Setup, subject: Subject) -> tuple[builds.Case, bool]:
    """The largest launch by itself, and whether it is the only one."""
    largest = subject.traced[0]
    alone = len(subject.traced) == largest.launch.count == 1
    return builds.Case(setup, largest, _modelled(subject.baseline) if alone else None), alone


def compare_cures(
    setup: Setup,
    subject: Subject,
    best: Edited | None,
    progress: Progress,
    parameters: Callable[[], Sequence[records.Cure]] | None = None,
) -> records.Cures | None:
    """The cures of a kernel; None if its launches are too short for any to matter.

    Args:
        setup: of the run.
        subject: the kernel.
        best: the best swizzle, if there is one.
        progress: told of what is looked at.
        parameters: what waits for `find_parameters`, if that was begun before.

    Cost: a replay for each cure, an interpretation of a few programs for each argument that may be
    a stride or a parameter, and of the whole launch for each padding and each value of a parameter.
    """
    case, alone = case_of(setup, subject)
    before = case.before
    time, least = before.modelled_time_ms or 0.0, least_gain(before)
    if time < setup.target.launch_us / 1e3:
        return None
    if subject.baseline.bound_by_arithmetic or subject.baseline.only_compulsory:
        return records.Cures(before.l2_hit_rate, time, (), _no_cure(subject, before))
    progress.phase(f"comparing cures for {subject.kernel} (model)")
    found = []
    if best:
        known = _modelled(best.attempt.measurement) or best.attempt.predicted if alone else None
        found.append(builds.cure_of("swizzle", known or case.replay(tile=best.proved.tiles()[0])))
    arguments = tuple(parameters() if parameters else find_parameters(case, subject))
    found += arguments
    # beside a gain that a GPU has measured, no modelled one is needed
    found += () if setup.device and best else find_paddings(case, subject, best)
    by_rate = not (setup.device or subject.tells_time(setup.target))
    longest = time * (1 + TIME_TOLERANCE if by_rate else 1 - least)
    gain = MODEL_RATE_ERROR if by_rate else -1.0
    gaining = [one for one in found if one.time_ms < longest]
    gaining = [one for one in gaining if one.l2_hit_rate - before.l2_hit_rate > gain]
    cures = tuple(_ranked(gaining, least, by_rate)) if gaining else ()
    reason = None if cures else _no_cure(subject, before)
    return records.Cures(before.l2_hit_rate, time, cures, reason, arguments)


def _modelled(measured: records.Measurement | None) -> records.Measurement | None:
    return measured if measured and measured.profiler == "model" else None


def _ranked(cures: Sequence[records.Cure], least: float, by_rate: bool) -> list[records.Cure]:
    """The cheapest that the model cannot tell from the best, then the best of each other kind.

    By time; `by_rate`: by hit rate, where nothing is claimed of time.
    """

    def price(one: records.Cure) -> tuple[int, int, float]:
        more = one.padding.bytes if one.padding else 0
        return get_args(records.CureKind).index(one.kind), more, one.time_ms

    by_time = sorted(cures, key=lambda one: one.time_ms)
    equals = [one for one in cures if one.time_ms <= by_time[0].time_ms * (1 + least)]
    if by_rate:
        most = max(one.l2_hit_rate for one in cures)
        equals = [one for one in cures if one.l2_hit_rate >= most - MODEL_RATE_ERROR]
    first = min(equals, key=price)
    others = {one.kind: one for one in reversed(by_time) if one.kind != first.kind}
    return [first, *sorted(others.values(), key=lambda one: one.time_ms)]


def _no_cure(subject: Subject, before: records.Measurement) -> str:
    """Why nothing helps."""
    if subject.baseline.only_compulsory:
        return "nearly all misses are compulsory: every line is fetched once"
    if subject.baseline.bound_by_arithmetic:
        return "the kernel is bound by arithmetic"
    if subject.ceiling.l2_hit_rate - before.l2_hit_rate < builds.LEAST_GAIN:
        return "the L2 hit rate is at its ceiling"
    return "nothing that was tried gains more than the model can tell"


@dataclass(frozen=True)
class _Layout:
    """A tensor whose rows begin at whole lines.

    Attributes:
        name: the argument.
        tensor: as it was recorded.
        segment: its number in the trace.
        element_bytes: of one element.
        row: elements from one row to the next.
    """

    name: str
    tensor: records.TensorArgument
    segment: int
    element_bytes: int
    row: int

    def padded(self, elements: int) -> records.TensorArgument:
        """The tensor with rows so much longer, and what holds whole rows longer in proportion."""
        tensor = self.tensor
        return replace(tensor, strides=records.longer_rows(tensor.shape, tensor.strides, elements))

    def bytes(self, tensor: records.TensorArgument) -> int:
        """From the first element to the last."""
        return self.element_bytes * (
            1 + sum(
                (size - 1) * stride
                for size, stride in zip(tensor.shape, tensor.strides, strict=True)
            )
        )  # fmt: skip


def _layouts(launch: records.Launch, trace: records.Trace) -> list[_Layout]:
    """The tensors of a launch that can be padded by whole lines."""
    found: list[_Layout] = []
    for name, tensor in launch.arguments.items():
        if not isinstance(tensor, records.TensorArgument):
            continue
        bits = re.search(r"\d+", tensor.dtype)
        bytes_ = max(1, int(bits[0]) // 8) if bits else 1
        rows = [
            stride
            for stride, size in zip(tensor.strides, tensor.shape, strict=True)
            if stride > 1 and size > 1
        ]
        segment = next((k for k, one in enumerate(trace.segments) if one.names == (name,)), None)
        if not rows or segment is None or tensor.offset_bytes:
            continue
        row = min(rows)
        whole = all(stride % row == 0 for stride in rows)
        if whole and 1 in tensor.strides and row * bytes_ % records.LINE_BYTES == 0:
            found.append(_Layout(name, tensor, segment, bytes_, row))
    return found


def find_paddings(case: builds.Case, subject: Subject, best: Edited | None) -> list[records.Cure]:
    """Padded rows of the tensors whose lines crowd channels, alone and with the swizzle."""
    launch, trace = case.launch, case.traced.trace
    requests = subject.baseline.l2_requests or 0
    layouts = {one.name: one for one in _layouts(launch, trace)}
    wanted = [
        one.names[0]
        for one in subject.baseline.causes or ()
        if one.conflict >= builds.LEAST_CAUSE * requests
        and len(one.names) == 1
        and one.names[0] in layouts
    ]
    if not wanted:
        return []
    roles = _stride_arguments(case, list(layouts.values()), wanted)
    sets = dict.fromkeys(
        tuple(sorted(closed))
        for names in [*([name] for name in wanted), wanted]
        if (closed := _moved_together(names, layouts, roles)) is not None
    )
    tried = [
        padding for names in sets for padding in _paddings([layouts[name] for name in names], roles)
    ]
    longer = [
        builds.with_arguments(
            launch, one.arguments, _longer([layouts[n] for n in one.tensors], launch, one.elements)
        )
        for one in tried
    ]
    cures = []
    for padding, traced in zip(tried, case.trace(longer) if longer else (), strict=True):
        if traced is None or not np.array_equal(traced.tile_offset, trace.tile_offset):
            continue
        cures.append(builds.cure_of("padding", case.replay(traced), padding))
        if best:
            both = case.replay(traced, best.proved.tiles()[0])
            cures.append(builds.cure_of("both", both, padding))
    return cures


def _stride_arguments(
    case: builds.Case, layouts: Sequence[_Layout], wanted: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Which arguments are strides: argument -> tensor -> which of its strides.

    Each argument whose value is that of a wanted tensor's stride is traced with another value. It
    is a stride if it moves the lines of tensors as that stride does, and changes nothing else.
    """
    launch = case.launch
    values = {
        stride
        for one in layouts
        if one.name in wanted
        for stride in one.tensor.strides
        if stride >= one.row
    }
    names = [
        name
        for name, value in launch.constants.items()
        if value in values and name not in case.traced.trace.immaterial
    ]
    few = builds.few_programs(launch)
    more = records.LINE_BYTES  # elements: whole lines whatever their size
    probes = [
        builds.with_arguments(
            few, {name: launch.constants[name] + more}, _longer(layouts, launch, more)
        )
        for name in names
    ]
    unchanged, *others = case.trace([few, *probes])
    if unchanged is None:
        return {}
    roles = {}
    for name, probe in zip(names, others, strict=True):
        role = probe and _role(launch.constants[name], more, layouts, unchanged, probe)
        if role:
            roles[name] = role
    return roles


def _role(
    value: int, more: int, layouts: Sequence[_Layout], before: records.Trace, after: records.Trace
) -> dict[str, int] | None:
    """Which stride of which tensors an argument is; None if it is anything else."""
    if not np.array_equal(before.tile_offset, after.tile_offset):
        return None
    old, new = _TouchedLines.of(before), _TouchedLines.of(after)
    if len(old.line) != len(new.line) or not np.array_equal(old.segment, new.segment):
        return None
    by_segment = {one.segment: one for one in layouts}
    role: dict[str, int] = {}
    for number in np.unique(old.segment).tolist():
        mine = old.segment == number
        was, now = old.line[mine], new.line[mine]
        if np.array_equal(was, now):
            continue
        layout = by_segment.get(number)
        axes = [
            axis
            for axis, stride in enumerate(layout.tensor.strides)
            if stride == value and layout.tensor.shape[axis] > 1
            and np.array_equal(now, _with_stride(layout, axis, more, was))
        ] if layout else []  # fmt: skip
        if not layout or not axes:
            return None
        role[layout.name] = axes[0]
    return role


@dataclass(frozen=True)
class _TouchedLines:
    """All lines that a launch touches, counted from the beginning of their segment."""

    segment: records.Int64Array
    line: records.Int64Array

    @classmethod
    def of(cls, trace: records.Trace) -> _TouchedLines:
        _, _, line = trace.touches(np.arange(len(trace.access_base)))
        segment = trace.segment_of(line)
        first = np.array([one.first_line for one in trace.segments], np.int64)
        return cls(segment, line - first[segment])


def _with_stride(
    layout: _Layout, axis: int, more: int, lines: records.Int64Array
) -> records.Int64Array:
    """Where lines of a tensor lie if one of its strides is so many elements longer."""
    per_line = records.LINE_BYTES // layout.element_bytes
    stride = layout.tensor.strides[axis] // per_line
    larger = [one // per_line for one in layout.tensor.strides if one // per_line > stride]
    index = lines % min(larger) // stride if larger else lines // stride
    return lines + index * (more // per_line)


def _moved_together(
    names: Sequence[str], layouts: Mapping[str, _Layout], roles: Mapping[str, Mapping[str, int]]
) -> set[str] | None:
    """These tensors and those that are padded with them; None if no argument can pad them."""
    together = set(names)
    while True:
        arguments = _arguments(together, layouts, roles)
        if arguments is None:
            return None
        more = together | {name for argument in arguments for name in roles[argument]}
        if more == together:
            return together
        together = more


def _arguments(
    names: set[str], layouts: Mapping[str, _Layout], roles: Mapping[str, Mapping[str, int]]
) -> dict[str, tuple[str, int]] | None:
    """The arguments that are strides of these tensors, each with one of them; None if one lacks."""
    found: dict[str, tuple[str, int]] = {}
    for name in names:
        tensor = layouts[name].tensor
        for axis, (stride, size) in enumerate(zip(tensor.strides, tensor.shape, strict=True)):
            if stride < layouts[name].row or size == 1:
                continue
            argument = next((one for one, role in roles.items() if role.get(name) == axis), None)
            if argument is None:
                return None
            found[argument] = (name, axis)
    return found


def _paddings(
    layouts: Sequence[_Layout], roles: Mapping[str, Mapping[str, int]]
) -> Iterator[records.Padding]:
    """Rows a line longer, and two lines."""
    by_name = {one.name: one for one in layouts}
    arguments = _arguments(set(by_name), by_name, roles)
    per_line = {records.LINE_BYTES // one.element_bytes for one in layouts}
    if arguments is None or len(per_line) > 1:
        return
    [elements] = per_line
    for lines in (1, 2):
        tensors = {one.name: one.padded(lines * elements) for one in layouts}
        yield records.Padding(
            tensors=tuple(by_name),
            elements=lines * elements,
            arguments={name: tensors[of].strides[axis] for name, (of, axis) in arguments.items()},
            bytes=sum(one.bytes(tensors[one.name]) - one.bytes(one.tensor) for one in layouts),
        )


def _longer(
    layouts: Sequence[_Layout], launch: records.Launch, elements: int
) -> Callable[[records.Launch], records.Launch]:
    """Gives a launch room for rows so much longer; what these tensors hold is then not known."""
    storages = dict(launch.storages)
    for one in layouts:
        bytes_ = one.tensor.offset_bytes + one.bytes(one.padded(elements))
        storages[one.tensor.storage] = records.Storage(
            max(bytes_, storages[one.tensor.storage].bytes)
        )
    return lambda changed: replace(changed, storages=storages)
