# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Random texts of the language, and what plain Python makes of them."""

from __future__ import annotations

import itertools
import random

import numpy as np

from intelliperf_swizzle.errors import LanguageError
from intelliperf_swizzle.language import Swizzle, evaluate, parse
from intelliperf_swizzle.records import Grid, Int64Array

CONSTANTS = {"M": 37, "BLOCK": 4}
NUM_XCDS, CUS_PER_XCD = 6, 38
GRIDS: tuple[Grid, ...] = ((1, 1, 1), (29, 1, 1), (7, 5, 1), (4, 3, 3))

_INPUTS = ("pid", "pid_0", "pid_1", "num_pids", "grid_0", "num_xcds", "cus_per_xcd", "M", "BLOCK")


class Writer:
    """Writes a text; most of what it writes is legal, so that little has to be thrown away."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.names = list(_INPUTS)

    def text(self) -> str:
        lines = []
        for index in range(self.source.randint(1, 4)):
            if self.source.random() < 0.15:
                name = self.source.choice(("a", "b"))
                lines.append(f"{name} = {self.number(2)}")
                self.names.append(name)
                lines.append(f"for _ in range({self.source.randint(1, 3)}):")
                lines.append(f"    {name} = max({name} + {self.number(2)}, 0) % 1000")
            else:
                name = self.source.choice(("a", "b", f"c{index}", "num_xcds"))
                lines.append(f"{name} = {self.number(3)}")
                self.names.append(name)
        outputs = self.source.choice((("pid",), ("pid_0",), ("pid_1", "pid_0")))
        lines += [f"{output} = {self.number(3)}" for output in outputs]
        return "\n".join(lines) + "\n"

    def number(self, depth: int) -> str:
        if depth == 0 or self.source.random() < 0.15:
            literal = self.source.choice(("0", "1", "2", "3", "8", "0x55", "17"))
            return self.source.choice((literal, *self.source.sample(self.names, 3)))
        first, second = self.number(depth - 1), self.number(depth - 1)
        form = self.source.choice(
            (
                "{0} + {1}",
                "({0} + {1})",
                "{0} - {1}",
                "({0} - {1})",
                "({0}) * ({1})",
                "max({0}, 0) // max({1}, 1)",
                "max({0}, 0) % max(1, {1})",
                "({0}) & ({1})",
                "{0} | ({1})",
                "({0}) ^ ({1})",
                "(({0}) & 255) << (({1}) & 7)",
                "({0} & 0x7fffffff) >> (({1}) & 15)",
                "min({0}, {1}, 40)",
                "cdiv(max({0}, 0), max({1}, 1))",
                "where({2}, {0}, {1})",
                "({0} if {2} else {1})",
                "({0} < {1}) + 1",
                "-({0})",
            )
        )
        return form.format(first, second, self.truth(depth - 1))

    def truth(self, depth: int) -> str:
        if depth <= 0:
            return self.source.choice(("pid_0 > 2", "M == 37", "pid & 1", "1", "0 <= pid < 9"))
        first, second = self.number(depth - 1), self.number(depth - 1)
        compare = self.source.choice(("==", "!=", "<", "<=", ">", ">="))
        return self.source.choice(
            (
                f"{first} {compare} {second}",
                f"{first}",
                f"not ({self.truth(depth - 1)})",
                f"({self.truth(depth - 1)}) and ({self.truth(depth - 1)})",
                f"({self.truth(depth - 1)}) or ({self.truth(depth - 1)})",
            )
        )


def legal_programs(seed: int, count: int) -> list[tuple[Swizzle, Grid, Int64Array]]:
    """Swizzles that the language accepts on a grid, with the tiles that `evaluate` gives."""
    source = random.Random(seed)
    found: list[tuple[Swizzle, Grid, Int64Array]] = []
    while len(found) < count:
        swizzle = parse(Writer(source).text())
        grid = source.choice(GRIDS)
        try:
            tile = evaluate(swizzle, grid, CONSTANTS, num_xcds=NUM_XCDS, cus_per_xcd=CUS_PER_XCD)
        except LanguageError:
            continue
        found.append((swizzle, grid, tile))
    return found


def plain_python(swizzle: Swizzle, grid: Grid) -> Int64Array:
    """The tiles as Python itself computes them, one program after the other."""
    code = compile(swizzle.text, "swizzle", "exec")
    tiles = []
    for z, y, x in itertools.product(range(grid[2]), range(grid[1]), range(grid[0])):
        names = {
            "min": min,
            "max": max,
            "cdiv": lambda a, b: -(-a // b),
            "where": lambda c, a, b: a if c else b,
            "range": range,
            "pid": x + grid[0] * (y + grid[1] * z),
            "num_pids": grid[0] * grid[1] * grid[2],
            "num_xcds": NUM_XCDS,
            "cus_per_xcd": CUS_PER_XCD,
            **CONSTANTS,
            **{f"pid_{axis}": value for axis, value in enumerate((x, y, z))},
            **{f"grid_{axis}": value for axis, value in enumerate(grid)},
        }
        exec(code, names)
        if swizzle.outputs == ("pid",):
            tiles.append(int(names["pid"]))
            continue
        along = [int(names[f"pid_{axis}"]) for axis in range(3)]
        inside = all(0 <= value < extent for value, extent in zip(along, grid, strict=True))
        tile = along[0] + grid[0] * (along[1] + grid[1] * along[2])
        tiles.append(tile if inside else -1)
    return np.array(tiles, np.int64)


def axes_of(grid: Grid) -> int:
    """How many axes a launch of this grid uses."""
    return 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1
