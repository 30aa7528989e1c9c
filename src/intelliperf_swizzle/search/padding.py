# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Longer rows of tensors, as a cure for crowded channels of an L2."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.search import builds
from intelliperf_swizzle.search.stages import Edited
from intelliperf_swizzle.search.subject import Subject


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
        stream = stream_of(traced)
        cures.append(builds.cure_of("padding", case.replay(stream), padding))
        if best:
            both = case.replay(stream, best.proved.tiles()[0])
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
