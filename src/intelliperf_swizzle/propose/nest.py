# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Mixed-radix orders: the space that the local search walks.

A nest splits each axis of the tiles into digits and lists all digits from slow to fast; counting
through them visits every tile once. The domain of a workgroup is the fastest digit of the launch
index, `pid % num_xcds`; `chunk` says where in the nest it is placed: each domain owns `chunk`
consecutive positions at a time (`None`: one contiguous share of the whole).

    rows x cols, digits (row 8) (col 64) (row 8), chunk None
    --> each domain walks bands of eight rows, column by column
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np

from intelliperf_swizzle.cache.amd_replay import is_uneven, work
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.propose import Problem
from intelliperf_swizzle.records import Float64Array, Launch, Trace

FACTORS = (2, 3, 4, 5, 8, 16, 32)
"""Sizes that a digit is split by; larger ones come from splitting again."""

_ATOM = re.compile(r"\w+(\([^()]*\))?")
"""An expression that needs no parentheses: a name, a number, a call."""


@dataclass(frozen=True)
class Digit:
    """A digit of one axis. The slowest of its axis takes what the others leave of the extent."""

    axis: int
    radix: int
    reverse: bool = False


@dataclass(frozen=True)
class Nest:
    """An order of the tiles.

    Attributes:
        axes: of the tiles, slow to fast.
        digits: slow to fast; the radices of an axis multiply to its extent.
        chunk: consecutive positions that a domain owns at a time; 1 = as dealt, None = its share.
        linear: whether the kernel reads one flat `pid` (else one `pid_k` per axis).
        down: an axis that is walked from its end; None = there is none.
    """

    axes: tuple[Axis, ...]
    digits: tuple[Digit, ...]
    chunk: int | None = None
    linear: bool = True
    down: int | None = None

    @property
    def programs(self) -> int:
        """Number of tiles."""
        return prod(axis.extent for axis in self.axes)

    def places(self, axis: int) -> list[int]:
        """Where the digits of an axis are, slow to fast."""
        return [place for place, digit in enumerate(self.digits) if digit.axis == axis]

    def name(self) -> str:
        """Short and unambiguous: `nest 0:8 1:64 0:8 chunk 32`, `nest 1:8 0:64 share down 0`."""
        digits = " ".join(f"{d.axis}:{d.radix}{'r' if d.reverse else ''}" for d in self.digits)
        where = "share" if self.chunk is None else f"chunk {self.chunk}"
        down = "" if self.down is None else f" down {self.down}"
        return f"nest {digits} {where}{down}"

    def text(self) -> str:
        """The order in the swizzle language."""
        return "\n".join([*_domain_lines(self.chunk), *_digit_lines(self), *_tile_lines(self)])


def plain(axes: tuple[Axis, ...], *, linear: bool, chunk: int | None) -> Nest:
    """The order in which the tiles are numbered, one digit an axis."""
    digits = tuple(Digit(number, axis.extent) for number, axis in enumerate(axes))
    return Nest(axes, digits, chunk, linear)


def neighbours(nest: Nest, rng: random.Random) -> Iterator[Nest]:
    """Nests one step away, for ever, at random: split, merge, swap, move, reverse, re-chunk."""
    steps = (_split, _split, _swap, _move, _merge, _reverse, _chunk, _chunk)
    while True:
        changed = rng.choice(steps)(nest, rng)
        if changed is not None and (whole := _join(changed)) != nest:
            yield whole


def _join(nest: Nest) -> Nest:
    """The same order with neighbouring digits of one axis as one digit."""
    digits: list[Digit] = []
    for digit in nest.digits:
        last = digits[-1] if digits else None
        if last and last.axis == digit.axis and not (last.reverse or digit.reverse):
            digits[-1] = replace(last, radix=last.radix * digit.radix)
        else:
            digits.append(digit)
    return replace(nest, digits=tuple(digits))


def _domain_lines(chunk: int | None) -> list[str]:
    """Statements that set `v`, the position in the nest."""
    if chunk == 1:
        return ["v = pid"]
    lines = ["xcd = pid % num_xcds", "slot = pid // num_xcds"]
    if chunk is None:
        share = "num_pids // num_xcds"
        return [*lines, f"v = xcd * ({share}) + min(xcd, num_pids % num_xcds) + slot"]
    step = f"{chunk} * num_xcds"
    moved = f"slot // {chunk} * ({step}) + xcd * {chunk} + slot % {chunk}"
    return [*lines, f"v = where(pid < num_pids // ({step}) * ({step}), {moved}, pid)"]


def _digit_lines(nest: Nest) -> list[str]:
    """Statements that take `v` apart, fastest digit first, then reverse what is to be reversed.

    A digit is `v % 512 // 8` and not `v // 8 % 64`: a causal attention whose loop ends by it takes
    2 to 3 % less time on an H100, with as many registers; GEMMs take the same.
    """
    lines = []
    slowest = {digit.axis: place for place, digit in reversed(list(enumerate(nest.digits)))}
    faster = 1
    for place in range(len(nest.digits) - 1, 0, -1):
        digit = nest.digits[place]
        radix = str(digit.radix)
        if slowest[digit.axis] == place:
            radix = _slowest_radix(nest, digit.axis)
        period = str(faster * int(radix)) if radix.isdigit() else _times(faster, radix)
        lines.append(f"d{place} = {_over(f'v % {_operand(period)}', faster)}")
        if radix.isdigit():
            faster *= int(radix)
        else:
            lines.append(f"v = v // {_operand(period)}")
            faster = 1
    lines.append(f"d0 = {_over('v', faster)}")
    for place, digit in enumerate(nest.digits):
        if digit.reverse and place:
            axis = nest.axes[digit.axis]
            whole = digit.radix == axis.extent
            last = f"{_operand(axis.expression)} - 1" if whole else str(digit.radix - 1)
            lines.append(f"d{place} = where(d{place - 1} % 2 == 1, {last} - d{place}, d{place})")
    return lines


def _times(factor: int, expression: str) -> str:
    return expression if factor == 1 else f"{factor} * {_operand(expression)}"


def _over(expression: str, divisor: int) -> str:
    return expression if divisor == 1 else f"{expression} // {divisor}"


def _slowest_radix(nest: Nest, axis: int) -> str:
    """What the slowest digit of an axis takes: the extent over its other radices, not nothing."""
    digits = [digit for digit in nest.digits if digit.axis == axis]
    if digits[0].reverse and len(digits) > 1:
        return str(digits[0].radix)
    others = prod(digit.radix for digit in digits[1:])
    expression = nest.axes[axis].expression
    return expression if others == 1 else f"max({_operand(expression)} // {others}, 1)"


def _tile_lines(nest: Nest) -> list[str]:
    """Statements that put the digits of each axis together and set the outputs."""
    coordinates = []
    for axis in range(len(nest.axes)):
        own = [(f"d{place}", str(nest.digits[place].radix)) for place in nest.places(axis)]
        from_end = f"{_operand(nest.axes[axis].expression)} - 1 - "
        value = _horner(own)
        coordinates.append(from_end + _operand(value) if axis == nest.down else value)
    if not nest.linear:
        names = [f"pid_{axis.expression.removeprefix('grid_')}" for axis in nest.axes]
        return [f"{name} = {value}" for name, value in zip(names, coordinates, strict=True)]
    lines = [f"a{axis} = {value}" for axis, value in enumerate(coordinates)]
    extents = [(f"a{number}", axis.expression) for number, axis in enumerate(nest.axes)]
    return [*lines, f"pid = {_horner(extents)}"]


def _horner(digits: list[tuple[str, str]]) -> str:
    """Digits with their radices, slow to fast, as one number: `(d0 * 8 + d2) * 4 + d3`."""
    value = digits[0][0]
    for name, radix in digits[1:]:
        value = f"{_operand(value)} * {_operand(radix)} + {name}"
    return value


def _operand(expression: str) -> str:
    return expression if _ATOM.fullmatch(expression) else f"({expression})"


def _split(nest: Nest, rng: random.Random) -> Nest | None:
    place = rng.randrange(len(nest.digits))
    digit = nest.digits[place]
    factors = [f for f in FACTORS if digit.radix % f == 0 and f < digit.radix]
    if not factors or len(nest.digits) >= 2 * len(nest.axes) + 4:
        return None
    factor = rng.choice(factors)
    slow, fast = Digit(digit.axis, digit.radix // factor), Digit(digit.axis, factor)
    if rng.random() < 0.5:
        slow, fast = replace(slow, radix=factor), replace(fast, radix=digit.radix // factor)
    rest = [*nest.digits[:place], slow, *nest.digits[place + 1 :]]
    rest.insert(rng.randrange(place + 1, len(rest) + 1), fast)
    return replace(nest, digits=tuple(rest))


def _merge(nest: Nest, rng: random.Random) -> Nest | None:
    split = [places for places in map(nest.places, range(len(nest.axes))) if len(places) > 1]
    if not split:
        return None
    places = rng.choice(split)
    first = rng.randrange(len(places) - 1)
    slow, fast = places[first], places[first + 1]
    keep, drop = (slow, fast) if rng.random() < 0.5 else (fast, slow)
    radix = nest.digits[slow].radix * nest.digits[fast].radix
    digits = [
        replace(digit, radix=radix, reverse=False) if place == keep else digit
        for place, digit in enumerate(nest.digits)
        if place != drop
    ]
    return replace(nest, digits=tuple(digits))


def _swap(nest: Nest, rng: random.Random) -> Nest | None:
    if len(nest.digits) < 2:
        return None
    place = rng.randrange(len(nest.digits) - 1)
    digits = list(nest.digits)
    if digits[place].axis == digits[place + 1].axis:
        return None
    digits[place], digits[place + 1] = digits[place + 1], digits[place]
    return replace(nest, digits=tuple(digits))


def _move(nest: Nest, rng: random.Random) -> Nest | None:
    digits = list(nest.digits)
    digit = digits.pop(rng.randrange(len(digits)))
    digits.insert(rng.randrange(len(digits) + 1), digit)
    return replace(nest, digits=tuple(digits))


def _reverse(nest: Nest, rng: random.Random) -> Nest | None:
    if len(nest.digits) < 2:
        return None
    place = rng.randrange(1, len(nest.digits))
    digits = list(nest.digits)
    digits[place] = replace(digits[place], reverse=not digits[place].reverse)
    return replace(nest, digits=tuple(digits))


def _chunk(nest: Nest, rng: random.Random) -> Nest | None:
    radices = [digit.radix for digit in nest.digits]
    suffixes = [prod(radices[place:]) for place in range(1, len(radices))]
    power = rng.choice([1 << k for k in range(nest.programs.bit_length())])
    return replace(nest, chunk=rng.choice([None, None, 1, *suffixes, *suffixes, power]))


STEEP = 1.1
"""Along an axis the heaviest tiles have at least this times the work of the lightest."""

STEADY = 0.5
"""Correlation of work and place along an axis: sequences of several lengths make it no ramp."""


def uneven_work(trace: Trace, tiles: int, target: Target) -> Float64Array | None:
    """What each of the first tiles of a trace takes on a CU; None if all take much the same."""
    taken = work(stream_of(trace), target)[:tiles]
    return taken if is_uneven(taken) else None


class Slope(NamedTuple):
    """The axis along which work grows or falls, and whether its last tiles have most."""

    axis: int
    grows: bool


def slopes(axes: tuple[Axis, ...], work: Float64Array) -> list[Slope]:
    """The axes of some tiles along which the work grows or falls, the steepest first.

    Args:
        axes: slow to fast.
        work: float64[tiles].
    """
    table = work.reshape([axis.extent for axis in axes])
    found: list[tuple[float, Slope]] = []
    for axis, extent in enumerate(table.shape):
        profile = table.mean(axis=tuple(other for other in range(len(axes)) if other != axis))
        if profile.max() <= STEEP * profile.min():
            continue
        steady = float(np.corrcoef(np.arange(extent), profile)[0, 1])
        if abs(steady) >= STEADY:
            found.append((abs(steady) * float(np.ptp(profile)), Slope(axis, steady > 0)))
    return [slope for _, slope in sorted(found, reverse=True)]


def heaviest_first(problem: Problem) -> Iterator[Nest]:
    """Nests that walk an axis from its heavy end.

    Either slowest of all, over all domains, or in each domain's share of the other axis: there one
    group of columns after the other, from all at once to one at a time.
    """
    if problem.work is None:
        return
    for axes in axis_choices(problem.launches, problem.row_lengths):
        for found in slopes(axes, problem.work):
            yield from _along(axes, found, problem.target.num_xcds, linear=problem.linear)


def _along(axes: tuple[Axis, ...], found: Slope, domains: int, *, linear: bool) -> Iterator[Nest]:
    heavy = Digit(found.axis, axes[found.axis].extent)
    down = found.axis if found.grows else None
    others = [Digit(axis, side.extent) for axis, side in enumerate(axes) if axis != found.axis]
    yield Nest(axes, (heavy, *others), 1, linear, down)
    if not others:
        return
    first, *rest = others
    groups = domains
    while groups > 1 and first.radix % groups == 0:
        slow, fast = replace(first, radix=groups), replace(first, radix=first.radix // groups)
        within = (fast,) if fast.radix > 1 else ()
        yield Nest(axes, (slow, heavy, *within, *rest), None, linear, down)
        groups *= 2


def upside_down(nest: Nest, work: Float64Array | None) -> Nest | None:
    """The same order from the heavy end of the steepest axis that it walks from the light one."""
    growing = [s.axis for s in slopes(nest.axes, work) if s.grows] if work is not None else []
    return replace(nest, down=growing[0]) if growing and nest.down is None else None


LARGEST_FACTOR = 4096
"""A grid split into more columns than this is as good as not split."""

COLUMN_NAMES = ("N", "COL", "WIDTH", "W")
"""How kernels call the size of their fast axis; decides only between equal extents."""

MOST_GUESSES = 6
"""Ways to split a flat grid that are tried; a kernel with more sizes than a GEMM has is rare."""


FIRST_ACCESSES = 8
"""Of each tile that are looked at for the length of a row: its operands' first ones."""


@dataclass(frozen=True)
class Axis:
    """One axis of the tiles: its extent as an expression of the swizzle language, and its value."""

    expression: str
    extent: int


def row_lengths(trace: Trace) -> frozenset[int]:
    """How many tiles lie in a row, as the launch itself says: none, one, or what may be meant.

    Tiles of one column begin at the same place of a tensor (of B in `A @ B`), and the next such
    tile lies one row further on. Cost: a sort of the tiles for each tensor.
    """
    counts = np.minimum(np.diff(trace.tile_offset), FIRST_ACCESSES)
    tile_of = np.repeat(np.arange(trace.tiles), counts)
    before = np.cumsum(counts) - counts
    bases = trace.access_base[np.arange(len(tile_of)) + (trace.tile_offset[:-1] - before)[tile_of]]
    segment_of = trace.segment_of(bases)
    lengths = set()
    for number in np.unique(segment_of).tolist():
        mine = np.flatnonzero(segment_of == number)
        tile, first = np.unique(tile_of[mine], return_index=True)
        base = bases[mine[first]]
        order = np.argsort(base, kind="stable")
        steps = np.diff(tile[order])[np.diff(base[order]) == 0]
        values, often = np.unique(steps, return_counts=True)
        if len(values) and often.max() > len(steps) / 2:
            lengths.add(int(values[often.argmax()]))
    return frozenset(lengths - {1})


def axis_choices(
    launches: Sequence[Launch], lengths: Collection[int] = ()
) -> list[tuple[Axis, ...]]:
    """Ways to see the tiles of the largest launch as a grid, likeliest first; axes slow to fast.

    The product of the extents is the number of programs. The last choice is always the flat grid.

    Args:
        launches: of one kernel.
        lengths: the `row_lengths` of the largest one, if it was traced.
    """
    launch = max(launches, key=lambda recorded: recorded.tiles)
    own = [Axis(f"grid_{axis}", size) for axis, size in enumerate(launch.numbers) if size > 1]
    if len(own) > 1:
        return [tuple(reversed(own))]
    return [*_guesses(launch, lengths), (Axis("num_pids", launch.tiles),)]


def column_expressions(launches: Sequence[Launch], lengths: Collection[int] = ()) -> list[Axis]:
    """What patterns may take for the number of tile columns, likeliest first."""
    columns = {choice[-1].expression: choice[-1] for choice in axis_choices(launches, lengths)}
    columns.pop("num_pids", None)
    if any(x.loop and x.loop.read_from for x in launches):  # sizes that no argument holds
        columns |= {str(length): Axis(str(length), length) for length in sorted(lengths)}
    return list(columns.values())


def _guesses(launch: Launch, lengths: Collection[int]) -> list[tuple[Axis, ...]]:
    programs, quotients = launch.tiles, _quotients(launch)
    splits = [split for column in quotients for split in _whole(programs, column)]
    values = {axis.extent for axis in quotients}
    explained = [split for split in splits if split[0].extent in values]
    splits = [split for split in splits if split[1].extent in lengths] or explained or splits
    grouped = [
        split
        for group, (_, across) in itertools.product(_groups(launch), splits)
        for split in _whole(programs, across, group)
    ]
    if not splits:  # a persistent kernel: its programs are no whole number of rows of tiles
        splits = [split for group in _groups(launch) for split in _whole(programs, group)]
    return [*grouped[:2], *splits[:MOST_GUESSES]]


def _whole(programs: int, *faster: Axis) -> Iterator[tuple[Axis, ...]]:
    """These axes under one that takes the rest of the programs, if that is a whole number."""
    extent = prod(axis.extent for axis in faster)
    if programs % extent == 0:
        product = " * ".join(axis.expression for axis in reversed(faster))
        yield Axis(f"num_pids // {_operand(product)}", programs // extent), *faster


def _quotients(launch: Launch) -> list[Axis]:
    """`cdiv(size, block)` for the kernel's sizes and blocks, one for each value, likeliest first.

    Names that belong together (`N`, `BLOCK_N`) come before others, and those of columns first.
    """
    constants = {name: value for name, value in launch.constants.items() if value > 1}
    blocks = {name: value for name, value in constants.items() if name in launch.constexprs}
    sizes = {name: value for name, value in constants.items() if name not in launch.constexprs}
    pairs = sorted(
        itertools.product(sizes, blocks),
        key=lambda pair: (
            not pair[1].upper().endswith(pair[0].upper()),
            not pair[0].upper().startswith(COLUMN_NAMES),
        ),
    )
    axes = [
        Axis(f"cdiv({size}, {block})", -(-sizes[size] // blocks[block])) for size, block in pairs
    ]
    axes += [Axis(size, length) for size, length in sizes.items()]
    distinct: dict[int, Axis] = {}
    for axis in axes:
        if 1 < axis.extent < min(launch.tiles, LARGEST_FACTOR):
            distinct.setdefault(axis.extent, axis)
    return list(distinct.values())


def _groups(launch: Launch) -> list[Axis]:
    """Constexprs by which a kernel groups its own tile order (`GROUP_SIZE_M`)."""
    return [
        Axis(name, value)
        for name, value in launch.constants.items()
        if name in launch.constexprs and "GROUP" in name.upper() and 1 < value <= 64
    ]
