# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where a swizzle that was proved on the recorded launches is a permutation at other sizes, too."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from operator import mul

from intelliperf_swizzle.frontends.ports import Resizer
from intelliperf_swizzle.language import Swizzle, parse
from intelliperf_swizzle.mapping.sweep import sweep_grids
from intelliperf_swizzle.records import Launch, Witness
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Proved, prove_on

MOST_PROGRAMS = 1 << 20
"""Of a launch that a swizzle is proved on besides those that were recorded."""
COUNTS = (1, 2, 3, 5, 16)
"""Blocks along a second size that is changed, or multiples of a grid."""
MOST_FLAT = 256
"""Lengths of a grid of one axis that a condition is tried on before it is tried on all."""


def conditional(text: str, outputs: Sequence[str], condition: str) -> str:
    """A swizzle that renumbers where a condition holds, and elsewhere nothing."""
    own = "own"
    while f"{own}_" in text:
        own += "_"
    kept = [f"{own}_{name} = {name}" for name in outputs]
    chosen = [f"{name} = where({condition}, {name}, {own}_{name})" for name in outputs]
    return "\n".join((*kept, text.strip(), *chosen))


def condition_for_all_sizes(proved: Proved, setup: Setup) -> str | None:
    """What must hold for a swizzle to be a permutation; None where it is one at every size.

    Looked at are launches of other problem sizes, as the language makes them, if the text reads
    arguments of the kernel; else every grid of the sweep. If it fails on one of them: that extents
    are multiples of numbers with which it does not fail, or else that they are the recorded ones.
    """
    swizzle, launch = proved.swizzle, proved.subject.traced[0].launch
    reads = sorted(swizzle.names & launch.constants.keys())
    sized = _other_sizes(launch, setup) if reads else []
    if sized and _holds(swizzle, sized, setup):
        return None
    if not sized and proved.widened(1).condition is None:
        return None
    divisible = None if reads or launch.loop else _divisible(proved, setup)
    return divisible or _recorded(proved, reads)


def _other_sizes(launch: Launch, setup: Setup) -> list[Launch]:
    """The launch with one size changed, then with another one besides."""

    def counts(count: int) -> list[int]:
        return sorted({*COUNTS, count // 2, count // 4 + 1, count - 1, count + 1} - {0})

    language = setup.language
    if launch.loop or not isinstance(language, Resizer):
        return []
    made = language.resize(launch, counts)
    further = [two for one in made for two in language.resize(one, lambda _: COUNTS)]
    return [one for one in (*made, *further) if one.programs <= MOST_PROGRAMS]


def _holds(swizzle: Swizzle, launches: Sequence[Launch], setup: Setup) -> bool:
    return not isinstance(prove_on(swizzle, launches, setup.target), Witness)


def _divisible(proved: Proved, setup: Setup) -> str | None:
    """That each extent is a multiple of the smallest number with which the swizzle holds."""
    launch = proved.subject.traced[0].launch
    recorded = [one.launch.numbers for one in proved.subject.traced]
    flat = launch.numbers[1:] == (1, 1)
    axes = ["num_pids"] if flat else ["grid_0", "grid_1", "grid_2"]
    sweep = sweep_grids(launch.numbers)

    def condition(moduli: Sequence[int]) -> str:
        parts = zip(axes, moduli, strict=False)
        return " and ".join(f"{axis} % {number} == 0" for axis, number in parts if number > 1)

    def holds(moduli: Sequence[int], stride: int) -> bool:
        where = condition(moduli)
        text = proved.candidate.text
        if where:
            text = conditional(text, proved.swizzle.outputs, where)
        depths = COUNTS if launch.numbers[2] > 1 else (1,)
        widths = (1,) if flat else COUNTS
        times = itertools.product(COUNTS, widths, depths)
        multiples = [tuple(map(mul, moduli, one)) for one in times]
        grids = [*(one for one in multiples if math.prod(one) <= MOST_PROGRAMS), *sweep[::stride]]
        return _holds(parse(text), [replace(launch, grid=one) for one in grids], setup)

    quick = max(1, len(sweep) // MOST_FLAT)
    moduli = [math.gcd(*extents) for extents in zip(*recorded, strict=True)]
    if not holds(moduli, quick):
        return None
    for axis, extent in enumerate(moduli):
        for number in (one for one in range(1, extent) if extent % one == 0):
            fewer = [*moduli[:axis], number, *moduli[axis + 1 :]]
            if holds(fewer, quick):
                moduli = fewer
                break
    return condition(moduli) if holds(moduli, 1) else None


def _recorded(proved: Proved, reads: Sequence[str]) -> str:
    """That a launch has the size of a recorded one: its grid, and what the text reads."""

    def size(launch: Launch) -> str:
        known = {"num_pids": launch.tiles}
        if launch.numbers[1:] != (1, 1):
            known = {f"grid_{axis}": extent for axis, extent in enumerate(launch.numbers)}
        known |= {name: launch.constants[name] for name in reads}
        return " and ".join(f"{name} == {value}" for name, value in known.items())

    sizes = list(dict.fromkeys(size(one.launch) for one in proved.subject.traced))
    return sizes[0] if len(sizes) == 1 else " or ".join(f"({one})" for one in sizes)
