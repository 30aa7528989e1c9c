# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What was seen of a launch: who does the same, who stores what, which parts are accessed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


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
        clash: an element that two programs store, with these programs; None if there is none.
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
class Parts:
    """What one line of the source does to one tensor, part by part.

    A part is the block that a program accesses at once; a program may access several, in a loop.

    Attributes:
        name: of the argument.
        line: file and line.
        access: `loaded`, `stored` or `updated` (with atomics).
        elements: of the tensor.
        taken: different parts of the tensor that the line accesses.
        repeats: how often a part is accessed that another program has too.
        outside: how often a part is accessed outside the tensor, or stored with all lanes masked.
        room: how many parts of this size the tensor has.
        left: parts that no line accesses.
        gaps: parts among them that lie between two that are accessed.
        least, most: parts of one program.
        even: each part is accessed by equally many programs.
        gathered: where the parts lie is computed from loaded values.
        numbered: it is computed from the numbers of the programs.
        ordered: programs with greater numbers access no earlier parts.
        plain: they lie side by side in the order of a digit (`number // a % b`) of the programs'
            own numbers, or of numbers by which each of them stores a part of its own elsewhere.
        single: a part is one element.
        clash: two programs that access the same part; None if there are none.
    """

    name: str
    line: str
    access: str
    elements: int
    taken: int
    repeats: int
    outside: int
    room: int
    left: int
    gaps: int
    least: int
    most: int
    even: bool
    gathered: bool
    numbered: bool
    ordered: bool
    plain: bool
    single: bool
    clash: tuple[int, int] | None


@dataclass(frozen=True)
class Observation:
    """One launch, executed without its arithmetic.

    Attributes:
        work: uint64[programs]; equal for programs that access the same addresses in the same order
            (equal by chance for one pair in 2**64).
        writes: bool[programs]; whether the program writes anything.
        outputs: the tensors written to; None if they have too many elements to be looked at.
        lanes_outside: elements written outside every tensor.
        places_loaded: whether an address or a mask is computed from values that were loaded.
        parts: what each line does to a tensor; None if there are too many to be kept.
    """

    work: npt.NDArray[np.uint64]
    writes: npt.NDArray[np.bool_]
    outputs: tuple[Output, ...] | None
    lanes_outside: int
    places_loaded: bool = False
    parts: tuple[Parts, ...] | None = ()
