# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether edited kernels are the original ones with the numbers that were proved, by Triton's IR.

In a child process of `validate`. Of each launch both kernels are compiled as it specialises them;
where the original reads the number of its program, or of its tile, the edited one may read another
integer, and what that is in every program of the launch is compared with the proved mapping.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from intelliperf_swizzle.errors import ValidationError
from intelliperf_swizzle.frontends.triton.ir import last_line
from intelliperf_swizzle.frontends.triton.ir.parse import MARK, Kernel
from intelliperf_swizzle.frontends.triton.ir.render import RULE
from intelliperf_swizzle.frontends.triton.ir.same import Renumbered, Renumbering, compare
from intelliperf_swizzle.frontends.triton.walk.blocks import Array
from intelliperf_swizzle.frontends.triton.walk.scalars import NotComputableError, Scalars
from intelliperf_swizzle.records import Int64Array, Launch, TileLoop


@dataclass(frozen=True)
class EditedLaunch:
    """A launch to compare.

    Attributes:
        launch: as it was recorded.
        edits: function key -> its text with the swizzle in it.
        tile: int64[tiles]; the proved mapping, program or number of a loop -> tile.
        recorded: whether it was; one that is made up need not compile.
    """

    launch: Launch
    edits: Mapping[str, str]
    tile: Int64Array
    recorded: bool = True


def find_differences(launches: Sequence[EditedLaunch], folder: Path) -> Iterator[str | None]:
    """For each launch the first difference as text, None if there is none.

    Raises:
        ValidationError: an original cannot be compiled from its source.
    """
    from intelliperf_swizzle.frontends.triton.ir.compile import ttir_of  # it needs Triton

    parse, compare_all = cache(Kernel.parse), cache(_compare)  # many launches specialise alike
    for launch in launches:
        try:
            inline = RULE in launch.edits
            text = ttir_of(launch.launch, raw=True, inline=inline, marks=_marks(launch.launch.loop))
        except Exception as error:
            if not launch.recorded:
                yield None
                continue
            fact = f"`{launch.launch.kernel}` cannot be compiled from its source"
            raise ValidationError(f"{fact}: {last_line(error)}") from error
        try:
            edited = parse(ttir_of(launch.launch, edits=launch.edits, raw=True))
        except Exception as error:
            yield f"the swizzled kernel does not compile: {last_line(error)}"
            continue
        yield _difference(launch, edited, *compare_all(parse(text), edited))


def _marks(loop: TileLoop | None) -> dict[int, list[str]]:
    """Which values of the IR are the numbers of tiles; see `ttir_of`."""
    marks: dict[int, list[str]] = {}
    for place, counter in enumerate(loop.counters if loop else ()):
        assert loop
        values = f"{place}, {counter.name}, {loop.count}, {loop.base}"
        marks.setdefault(counter.line, []).append(values)
    return marks


def _compare(original: Kernel, edited: Kernel) -> tuple[Renumbering | str, list[list[str]]]:
    """How two kernels differ, and the operands of the prints with the original's numbers."""
    prints = sorted(
        ([*op.operands] for op in original.ops() if op.name == "tt.print" and MARK in op.text),
        key=lambda values: original.constant(values[0]) or 0,
    )
    numbers = [values[1] for values in prints]
    others = [value for values in prints for value in values[2:]]
    return compare(original, edited, numbers, others), prints


def _difference(
    swizzled: EditedLaunch, edited: Kernel, found: Renumbering | str, prints: list[list[str]]
) -> str | None:
    loop = swizzled.launch.loop
    if len(prints) != len(loop.counters if loop else ()):
        return "the number of a tile is not read once in each turn of the loop"
    if isinstance(found, str):
        return f"`{swizzled.launch.kernel}` differs in more than its numbers: {found}"
    try:
        differences = (
            _wrong_tile(swizzled, loop, edited, number, found, prints[number.number])
            if loop
            else _wrong_program(swizzled, edited, number)
            for number in found.stands
        )
        return next(filter(None, differences), None)
    except NotComputableError as reason:
        return f"the number that `{swizzled.launch.kernel}` is given is unknown: {reason}"


def _wrong_program(swizzled: EditedLaunch, edited: Kernel, number: Renumbered) -> str | None:
    """Where the edited kernel computes other program ids along an axis than were proved."""
    grid, programs = swizzled.launch.grid, np.arange(swizzled.launch.programs, dtype=np.int64)
    own = number.function is edited.entry
    computed = Scalars(swizzled.launch, edited).value(number.value, programs, entry=own)
    tile, axis = swizzled.tile, number.number
    proved = (tile % grid[0], tile // grid[0] % grid[1], tile // (grid[0] * grid[1]))[axis]
    sentence = f"program {{}} the program id {{}} along axis {axis}"
    return _first_wrong(computed, proved, sentence, "programs")


def _wrong_tile(
    swizzled: EditedLaunch,
    loop: TileLoop,
    edited: Kernel,
    number: Renumbered,
    found: Renumbering,
    printed: Sequence[str],
) -> str | None:
    """Where the edited kernel computes other numbers of tiles than were proved."""
    tile, tiles = swizzled.tile[: loop.tiles], np.arange(loop.tiles)
    starts = np.array([*loop.starts, loop.tiles] if loop.read_from else [0, loop.tiles])
    run = np.searchsorted(starts, tiles, side="right") - 1
    given: Sequence[Array] = (tiles, (starts[1:] - starts[:-1])[run], starts[run])
    pairs = zip(printed[1:], given, strict=True)
    known = {found.partners[value]: own for value, own in pairs if value in found.partners}
    programs = loop.program.astype(np.int64)
    computed = Scalars(swizzled.launch, edited).value(number.value, programs, known)
    return _first_wrong(computed, tile, "number {} the tile {}", "tiles")


def _first_wrong(computed: Array, proved: Array, sentence: str, what: str) -> str | None:
    """Where computed numbers are not those of the proof, as text."""
    wrong = np.flatnonzero(computed != proved)
    if not len(wrong):
        return None
    at = int(wrong[0])
    given = f"the emitted code gives {sentence.format(at, computed[at])}, the proof {proved[at]}"
    return f"{given} ({len(wrong)} {what} differ)"
