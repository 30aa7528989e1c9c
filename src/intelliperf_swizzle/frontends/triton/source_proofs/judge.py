# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From what was seen of a launch to a verdict: is each of its tiles computed exactly once?

Accesses decide: which programs do the same work, and which elements are stored by several programs
and which by none. The first rule that holds gives the verdict.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.mapping import condition
from intelliperf_swizzle.records import Grid, RemapKind, RemapVerdict, SizesTried


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
        blocks: whether a program writes several elements at once; flags and logs are not so.
        as_long: whether a tensor of as many elements is loaded.
        lines: file and line of what writes to it.
    """

    name: str
    shape: tuple[int, ...]
    elements: int
    unwritten: int = 0
    shared: int = 0
    updated: int = 0
    programs: int = 0
    unwritten_range: tuple[tuple[int, int], ...] = ()
    clash: tuple[tuple[int, ...], int, int] | None = None
    blocks: bool = True
    as_long: bool = False
    lines: tuple[str, ...] = ()

    @property
    def torn(self) -> bool:
        """Whether several programs store the same element, and none another one."""
        return bool(self.shared and self.unwritten)

    @property
    def balanced(self) -> bool:
        """Whether about as many elements are stored twice as are left.

        Numbers that are not remapped would then store each once. Not so if it is a ring that
        programs take by a remainder.
        """
        ring = self.clash is not None and 1 < self.programs == self.clash[2] - self.clash[1]
        return not ring and self.shared <= 2 * self.unwritten <= 4 * self.shared

    @property
    def doubtful(self) -> bool:
        """Whether what is left of a torn tensor may be output; of flags, each serves several."""
        uneven = self.unwritten + self.shared < self.elements
        return self.torn and (self.blocks or (self.balanced and uneven))


@dataclass(frozen=True)
class Loads:
    """A tensor of which as many blocks are loaded as there are, and some of them by no program.

    Attributes:
        name: of the argument.
        blocks: how many there are.
        taken: how many of them are loaded.
    """

    name: str
    blocks: int
    taken: int


@dataclass(frozen=True)
class Observation:
    """One launch, executed without its arithmetic.

    Attributes:
        work: uint64[programs]; equal for programs that access the same addresses in the same order
            (equal by chance for one pair in 2**64).
        writes: bool[programs]; whether the program writes anything.
        outputs: the tensors written to; None if they have too many elements to be checked.
        lanes_outside: elements written outside every tensor.
        places_loaded: whether an address or a mask is computed from values that were loaded.
        loads: tensors of which blocks are left.
    """

    work: npt.NDArray[np.uint64]
    writes: npt.NDArray[np.bool_]
    outputs: tuple[Output, ...] | None
    lanes_outside: int = 0
    places_loaded: bool = False
    loads: tuple[Loads, ...] = ()


def judge(seen: Observation, kernel: str, grid: Grid, count: int = 1) -> RemapVerdict:
    """The verdict, with its evidence."""
    kind, reason = first_rule(seen)
    same = _same_work(seen)
    torn = any(output.torn for output in seen.outputs or ())
    evidence = [
        *(f"programs {a} and {b} access the same addresses in the same order" for a, b in same),
        *(f"`{x.name}`: {x.taken} of {x.blocks} blocks are loaded" for x in seen.loads),
        *(_describe_outputs(seen) if seen.writes.any() else ()),
    ]
    dropped = kind == "not a permutation" and bool(same) and torn and not seen.places_loaded
    return RemapVerdict(kernel, grid, kind, reason, tuple(evidence), count, dropped)


def first_rule(seen: Observation) -> tuple[RemapKind, str]:
    """The kind of the verdict, and its reason: the first rule that holds decides."""
    outputs, working = seen.outputs or (), int(seen.writes.sum())
    distinct = len(np.unique(seen.work[seen.writes]))
    all_work = working == len(seen.work) and not seen.lanes_outside
    clean = [o for o in outputs if not (o.unwritten or o.shared or o.updated)]
    whole = [output for output in clean if all_work and output.programs == working]
    torn = [output for output in outputs if output.torn and (output.doubtful or not whole)]
    certain = any(output.blocks and output.balanced for output in torn) or not whole
    partly = [output for output in outputs if output.unwritten and output.blocks and output.as_long]
    if not working:
        return "undecided", "no program writes anything"
    if distinct < working:
        return "not a permutation", f"{working} programs do the work of {distinct}"
    if torn:
        certain = certain and not seen.places_loaded
        reason = f"elements of {_names(torn)} are stored by several programs, and others by none"
        return "not a permutation" if certain else "undecided", reason
    if partly:
        missing = "are written by no program, and what is loaded is as long"
        return "undecided", f"elements of {_names(partly)} {missing}"
    if seen.loads:
        return "undecided", f"blocks of {_names(seen.loads)} are loaded twice, and others never"
    if whole:
        return "permutation", f"each element of {_names(whole)} is stored exactly once"
    if any(output.shared for output in outputs):
        return "undecided", "elements are stored by several programs"
    if any(output.unwritten for output in outputs) and not all_work:
        unknown = "it is not known whether they should be"
        return "undecided", f"elements are written by no program, and {unknown}"
    if 0 < len(outputs) == len(clean):
        return "permutation", "each element is stored exactly once"
    return "undecided", "no two programs do the same work; nothing more is known"


def _names(tensors: Sequence[Output | Loads]) -> str:
    return ", ".join(dict.fromkeys(f"`{tensor.name}`" for tensor in tensors))


def _same_work(seen: Observation) -> list[tuple[int, int]]:
    """The first two programs that do the same; nothing if none do."""
    working = np.flatnonzero(seen.writes)
    _, group, counts = np.unique(seen.work[working], return_inverse=True, return_counts=True)
    for first in np.flatnonzero(counts[group] > 1)[:1]:
        return [(int(working[first]), int(working[np.flatnonzero(group == group[first])[1]]))]
    return []


def _describe_outputs(seen: Observation) -> list[str]:
    """Programs that write nothing, and what is written of each tensor."""
    idle = int((~seen.writes).sum())
    lines = [f"{idle} of {len(seen.writes)} programs write nothing"] if idle else []
    if seen.outputs is None:
        return [*lines, "the tensors are too large to look at each element"]
    lines += [line for output in seen.outputs for line in _lines_of_output(output)]
    if seen.lanes_outside:
        lines.append(f"{seen.lanes_outside} elements are written outside every tensor")
    return lines


def _lines_of_output(output: Output) -> list[str]:
    whole = f"`{output.name}` ({' × '.join(map(str, output.shape)) or 'scalar'})"
    lines = []
    if output.unwritten:
        share = 100 * output.unwritten / output.elements
        place = ", ".join(f"{a}:{b + 1}" for a, b in output.unwritten_range)
        lines.append(
            f"{whole}: {output.unwritten} of {output.elements} elements ({share:.2f} %) are "
            f"written by no program, within [{place}]"
        )
    if output.shared:
        places = f" ({', '.join(output.lines)})" if output.lines else ""
        line = f"{whole}: {output.shared} elements are stored by several programs{places}"
        if output.clash:
            index, first, second = output.clash
            line += f", {list(index)} by programs {first} and {second}"
        lines.append(line)
    if not lines:
        verb = "updated" if output.updated else "stored by exactly one program"
        lines.append(f"{whole}: each of {output.elements} elements is {verb}")
    return lines


def summarise(verdicts: Sequence[RemapVerdict]) -> SizesTried:
    """Verdicts on one kernel at several sizes as one sentence about them."""
    grids = tuple(verdict.grid for verdict in verdicts)
    holds = [verdict.kind == "permutation" for verdict in verdicts]
    failed = [v for v in verdicts if v.kind != "permutation" and math.prod(v.grid) > 1]
    first = min(failed, key=lambda verdict: math.prod(verdict.grid), default=None)
    return SizesTried(
        grids=grids,
        condition=condition(grids, holds),
        witness=first.grid if first else None,
        reason=first.reason if first else "",
    )
