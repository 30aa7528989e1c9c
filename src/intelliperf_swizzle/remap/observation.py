# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What was seen of a launch: who does the same, who holds which scalars, who stores what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records import Int64Array

UNDEFINED = np.iinfo(np.int64).min
"""Value of a scalar that a program has not assigned."""


@dataclass(frozen=True)
class Site:
    """An assignment of the kernel's source: the name, its file, and the 1-based line."""

    name: str
    file: str
    line: int


@dataclass(frozen=True)
class Output:
    """A tensor that the launch writes to, element by element.

    Attributes:
        name: of the argument.
        shape: of the tensor.
        elements: how many it has.
        unwritten: elements that no program stores or updates.
        shared: elements that several programs store.
        updated: elements that are updated with atomics.
        programs: how many programs are the first to store one of its elements.
        unwritten_range: for each axis, the least and the greatest index of an unwritten element.
        clash: an element that two programs store, with these programs; None where there is none.
    """

    name: str
    shape: tuple[int, ...]
    elements: int
    unwritten: int
    shared: int
    updated: int
    programs: int
    unwritten_range: tuple[tuple[int, int], ...]
    clash: tuple[tuple[int, ...], int, int] | None


@dataclass(frozen=True)
class Observation:
    """One launch, run in batches with its scalars watched.

    Attributes:
        sites: the assignments.
        work: uint64[programs]; equal for programs that access the same addresses in the same order
            (equal by chance for one pair in 2**64).
        writes: bool[programs]; whether the program writes anything.
        frontier: numbers of the sites whose values addresses and masks are computed from.
        program: int64[rows]; a row is a program at a write, with the scalars it then holds.
        values: int64[rows, sites]; `UNDEFINED` where a scalar has no value yet.
        wrote: bool[rows]; whether anything was written while the program held these scalars.
        sizes: integers that are the same in all programs; extents of the tile grid are among them.
        outputs: the tensors written to; None where they have too many elements to be looked at.
        lanes_outside: elements written outside every tensor.
        places_loaded: whether an address or a mask is computed from values that were loaded.
    """

    sites: tuple[Site, ...]
    work: npt.NDArray[np.uint64]
    writes: npt.NDArray[np.bool_]
    frontier: tuple[int, ...]
    program: Int64Array
    values: Int64Array
    wrote: npt.NDArray[np.bool_]
    sizes: frozenset[int]
    outputs: tuple[Output, ...] | None
    lanes_outside: int
    places_loaded: bool = False
