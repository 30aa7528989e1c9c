# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A recorded launch at other sizes, or with another value of an argument.

The grid is explained by sizes and blocks among the arguments (`cdiv(M, BLOCK_M) * cdiv(N,
BLOCK_N)`). Then one size is changed, and with it the grid, the tensors, and their strides.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from intelliperf_swizzle.records import (
    Argument,
    DescriptorArgument,
    Grid,
    Launch,
    Storage,
    TensorArgument,
)

_DIVISION = re.compile(r"cdiv\(\s*(\w+)\s*,\s*(\w+)\s*\)")
"""What a kernel's text says of its tiles, `cdiv(M, BLOCK_M)`."""
_NO_CODE = re.compile(r'#.*|"{3}[\s\S]*?"{3}|/\*[\s\S]*?\*/|(?<=[;{}])(?:\s*//.*)+|\bassume\(.*')
"""Comments, docstrings, and what is assumed of arguments: it says nothing of what they are for."""
_MOST_WAYS = 32  # in which an extent of a grid may follow from sizes
_MOST_PADDING = 16  # elements by which a tensor may be longer than a size


@dataclass(frozen=True)
class _Factor:
    """`cdiv(size, block)` blocks along one axis of a problem."""

    size: int
    block: int

    @property
    def count(self) -> int:
        return -(-self.size // self.block)

    def resized(self, count: int) -> int:
        """The size with that many blocks, whose last one is as full as before."""
        return self.block * (count - self.count) + self.size


_Axis: TypeAlias = tuple[_Factor, ...]  # whose counts multiply to an extent of a grid


def scale_launch(
    launch: Launch, counts: Callable[[int], Iterable[int]], blocks: Sequence[int] = ()
) -> tuple[Launch, ...]:
    """The launch at other sizes, from the smallest grid to the largest.

    Of a loop over tiles, their number is explained as a grid would be, and the programs stay
    as many. Nothing where that is not explained, or it cannot be made anew from its own sizes.

    Args:
        launch: as recorded.
        counts: how many blocks to have along a size that has that many.
        blocks: that sizes may be divided by, besides what arguments say; the likeliest first.
    """
    if loop := launch.loop:  # as if each tile had a program
        alike = scale_launch(replace(launch, grid=launch.numbers, loop=None), counts, blocks)
        unknown = ((new, np.zeros(new.programs, np.int32)) for new in alike)  # who takes which
        return tuple(
            replace(scaled, grid=launch.grid, loop=replace(loop, program=taken, turn=taken))
            for scaled, taken in unknown if scaled.programs > launch.programs
        )  # fmt: skip
    explained = _explain(launch, blocks) or ()
    sizes = dict.fromkeys(factor for axis in explained for factor in axis if factor.count > 1)
    pointers = any(storage.address is not None for storage in launch.storages.values())
    if not sizes or pointers:
        return ()
    made = [
        _scale(launch, explained, factor.size, size)
        for factor in sizes
        for count in counts(factor.count)
        if (size := factor.resized(count)) > 0
    ]
    again = (_scale(launch, explained, factor.size, factor.size) for factor in sizes)
    if any(other.arguments != launch.arguments for other in again):
        return ()
    made += _shrunk_alone(launch, explained, counts)
    distinct = {(scaled.grid, repr(scaled.arguments)): scaled for scaled in reversed(made)}
    return tuple(sorted(distinct.values(), key=lambda scaled: (scaled.programs, scaled.grid)))


def _shrunk_alone(
    launch: Launch, explained: Sequence[_Axis], counts: Callable[[int], Iterable[int]]
) -> list[Launch]:
    """The launch with one of several equal sizes made a part of itself: M alone, where M = N.

    The tensors stay unchanged; such a launch takes a part of them. If nothing says along which
    axis of the grid a size lies, there is a launch for each axis.
    """
    blocks = dict(_DIVISION.findall(_code(launch)))
    made = []
    for factor in dict.fromkeys(factor for axis in explained for factor in axis):
        constants = {n: v for n, v in launch.constants.items() if n not in launch.constexprs}
        equal = [name for name, value in constants.items() if value == factor.size]
        sizes = [name for name in equal if not is_stride(launch, name)]
        sizes = sizes or [name for name in equal if not _is_only_stride(launch, name)]
        for name in sizes if len(equal) > 1 else ():
            if launch.constants.get(blocks.get(name, ""), factor.block) != factor.block:
                continue
            fewer = [n for n in counts(factor.count) if n < factor.count and factor.count % n == 0]
            for axis, count in itertools.product(range(3), fewer):
                if factor in explained[axis]:
                    grid = [*launch.grid]
                    grid[axis] = grid[axis] // factor.count * count
                    arguments = {**launch.arguments, name: factor.resized(count)}
                    x, y, z = grid
                    made.append(replace(launch, grid=(x, y, z), arguments=arguments, count=1))
    return made


def _explain(launch: Launch, known: Sequence[int]) -> tuple[_Axis, ...] | None:
    """Sizes and blocks whose counts multiply to the grid, by axis; None if there are none.

    The first ones with whose sizes some tensor grows as the grid does; else, and if all tensors
    are flat, the very first.
    """
    shapes = [view.shape for _, view in launch.tensors() if len(view.shape) > 1]

    def grows(axes: tuple[_Axis, ...]) -> bool:
        sizes = [factor.size for axis in axes for factor in axis]
        return all(any(shape.count(n) >= sizes.count(n) for shape in shapes) for n in sizes)

    by_axis = (itertools.islice(_explain_extent(launch, n, known), _MOST_WAYS) for n in launch.grid)
    ways = [*itertools.product(*by_axis)]
    first = ways[0] if ways else None
    return next(filter(grows, ways), first) if shapes else first


def _explain_extent(launch: Launch, extent: int, known: Sequence[int]) -> Iterator[_Axis]:
    """What may explain an extent of the grid, the likeliest first.

    Several divisions of the kernel's own text come first: one of the other sizes, K, may be equal
    to the extent. Blocks that are constexpr, and extents of a tensor (heads), come before other
    blocks; arguments before constexprs, these before extents of tensors.
    """
    constants = launch.constants
    divided = [
        _Factor(constants[size], constants[block])
        for size, block in dict.fromkeys(_DIVISION.findall(_code(launch)))
        if size in constants and constants.get(block, 0) > 0
    ]
    named = {value for name, value in constants.items() if name in launch.constexprs}
    named |= {factor.block for factor in divided}
    passed = sorted({value for value in constants.values() if value > 1})
    passing = (name for name in constants if name not in launch.constexprs)
    plain = [constants[name] for name in passing if not _is_only_stride(launch, name)]
    sizes = [*plain, *(constants[name] for name in launch.constexprs if name in constants)]
    dims = [dim for _, view in launch.tensors() for dim in view.shape]
    blocks = [*known, *(value for value in passed if value in named)]

    def likely(factor: _Factor) -> int:
        return known.index(factor.block) if factor.block in known else len(known)

    def ways() -> Iterator[Iterable[_Axis]]:
        yield from (itertools.combinations(divided, number) for number in (0, 2, 3))
        for by in (blocks, [*blocks, *passed]):
            for candidates in (plain, sizes, [*sizes, *dims]):
                yield [(_Factor(extent, 1),)] * (extent in candidates)
                factors = sorted(_factors(candidates, by, extent), key=likely)
                for number in (1, 2, 3):
                    yield itertools.combinations_with_replacement(factors, number)

    for way in itertools.chain.from_iterable(ways()):
        if math.prod(factor.count for factor in way) == extent:
            yield way


def _factors(sizes: list[int], blocks: list[int], extent: int) -> list[_Factor]:
    """Ways in which a size and a block may give a divisor of the extent, each once."""
    every = dict.fromkeys(itertools.starmap(_Factor, itertools.product(sizes, (*blocks, 1))))
    return [factor for factor in every if factor.count > 1 and extent % factor.count == 0]


def _scale(launch: Launch, explained: Sequence[_Axis], size: int, other: int) -> Launch:
    """The launch with another size wherever that size stands."""

    def extent_of(axis: _Axis) -> int:
        resized = (replace(f, size=other) if f.size == size else f for f in axis)
        return math.prod(factor.count for factor in resized)

    x, y, z = (extent_of(axis) for axis in explained)
    grid: Grid = (x, y, z)
    numbers = {launch.programs: math.prod(grid), **dict(zip(launch.grid, grid, strict=True))}
    numbers = {old: new for old, new in numbers.items() if old > 1} | {size: other}
    fixed = set(launch.constants.values()) - set(numbers)
    views = {view: _scaled_view(view, numbers, fixed) for _, view in launch.tensors()}
    strides: dict[int, int] = {}
    for old, new in views.items():
        pairs = zip((*old.strides, old.elements), (*new.strides, new.elements), strict=True)
        strides = {stride: changed for stride, changed in pairs if stride > 1} | strides
    only = {name for name in launch.constants if _is_only_stride(launch, name)}
    sized = {name for name, value in launch.constants.items() if value == size}
    free = sized - set(launch.constexprs) or {n for n in sized if not _is_extent(launch, n)}
    blocks = {factor.block for axis in explained for factor in axis}
    bound = [name for name in launch.constexprs if name not in free]
    kept = {name for name in bound if name in sized or launch.constants.get(name) in blocks}
    arguments = {  # a stride may be the number of programs by chance
        name: _renew(argument, numbers | strides if name in only else strides | numbers, views)
        for name, argument in launch.arguments.items()
    } | {name: launch.arguments[name] for name in kept}
    compiled_in = {*launch.constexprs, *(n for n, old in launch.constants.items() if old == 1)}
    alike = all(arguments[name] == launch.arguments[name] for name in compiled_in)
    return replace(
        launch, grid=grid, arguments=arguments, storages=_storages(launch, views), count=1,
        ttir=launch.ttir if alike else None,
    )  # fmt: skip


def _scaled_view(
    view: TensorArgument, numbers: Mapping[int, int], fixed: set[int]
) -> TensorArgument:
    """A tensor with extents that are a size, a multiple of it, or one with a few elements more,
    changed; dense as before."""

    def scaled(extent: int) -> int:
        if extent in numbers:
            return numbers[extent]
        for old, new in reversed(list(numbers.items())):
            if extent not in fixed and extent % old == 0:
                return extent // old * new
        padded = (old for old in numbers if 64 <= old < extent <= old + _MOST_PADDING)
        old = next(padded, extent) if extent not in fixed else extent
        return extent - old + numbers.get(old, old)

    shape = tuple(scaled(extent) for extent in view.shape)
    order = sorted(range(len(shape)), key=lambda axis: (view.strides[axis], -axis))
    strides, dense, dense_before = list(view.strides), 1, 1
    for axis in order:
        if view.strides[axis] == dense_before:
            strides[axis] = dense
        dense, dense_before = dense * shape[axis], dense_before * view.shape[axis]
    return replace(view, shape=shape, strides=tuple(strides))


def _renew(
    argument: Argument, numbers: Mapping[int, int], views: Mapping[TensorArgument, TensorArgument]
) -> Argument:
    if isinstance(argument, TensorArgument):
        return views[argument]
    if isinstance(argument, DescriptorArgument):
        base = views[argument.base]
        return replace(argument, base=base, shape=base.shape, strides=base.strides)
    if isinstance(argument, tuple):
        return tuple(_renew(item, numbers, views) for item in argument)
    if isinstance(argument, int) and not isinstance(argument, bool):
        return numbers.get(argument, argument)
    return argument


def _storages(launch: Launch, views: Mapping[TensorArgument, TensorArgument]) -> dict[int, Storage]:
    """Storages that hold the tensors; what was recorded in them is left behind."""
    needed = dict.fromkeys(launch.storages, 1)
    for view in views.values():
        needed[view.storage] = max(needed[view.storage], view.end)
    return {number: Storage(size) for number, size in needed.items()}


def other_values(launch: Launch, name: str) -> list[int]:
    """Other values of an argument than its own, at which a kernel may be launched as well.

    Not of a factor that is the extent of a tile or 1, a stride of a tensor; and no 0 by which
    something is divided or which a loop is stepped by.
    """
    value, text = launch.constants.get(name), _code(launch)
    extent = _is_extent(launch, name)
    if value is None or ((extent or value == 1) and _is_factor(launch, name)):
        return []
    if extent or launch.arguments[name] is bool(value):
        return [2 * value if extent else 1 - value]
    if name in launch.constexprs:
        return [2 * value, 1] if value > 1 else [2, 1 - value]
    used = re.search(rf"([/%]|\+=|\b(\w+) = \2 \+|cdiv\([^,()]*,|range\(.*,.*,)\s*{name}\b", text)
    return [other for other in (2 * value, *([] if used else [0]), 2) if other != value]


def is_factor_alone(launch: Launch, name: str) -> bool:
    """Whether a kernel only multiplies by an argument: then it is a stride, or no size either and
    has the value of one by chance."""
    compared, text = r"([<>!=]=|[<>/%])", _code(launch)
    sized = rf"{compared}\s*{name}\b|\b{name}\s*{compared}|(cdiv|range)\([^)]*\b{name}\b"
    return not re.search(sized, text) and _is_factor(launch, name)


def _code(launch: Launch) -> str:
    return _NO_CODE.sub("", launch.source.entry.text)


def _is_extent(launch: Launch, name: str) -> bool:
    """Whether an argument is an extent of a tile."""
    return bool(re.search(rf"arange\(0, {name}\b", _code(launch)))


def _is_factor(launch: Launch, name: str) -> bool:
    return bool(re.search(rf"\*\s*{name}\b|\b{name}\s*\*", _code(launch)))


def _is_only_stride(launch: Launch, name: str) -> bool:
    return is_stride(launch, name) and is_factor_alone(launch, name)


def is_stride(launch: Launch, name: str) -> bool:
    """Whether an argument is a stride of a tensor that the kernel multiplies something by."""
    strides = (view.strides for _, view in launch.tensors())
    return _is_factor(launch, name) and any(launch.constants.get(name) in own for own in strides)
