# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From what was seen of a launch to a verdict: is each of its tiles computed exactly once?

Accesses tell: which programs do the same work, which elements or parts of a tensor are stored by
several programs and which by none. The first rule that holds gives the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from intelliperf_swizzle.frontends.triton.source_proofs.observation import (
    Observation,
    Output,
    Parts,
)
from intelliperf_swizzle.mapping import condition
from intelliperf_swizzle.records import Grid, RemapKind, RemapVerdict, SizesTried


def find_suspects(seen: Observation) -> tuple[Parts, ...]:
    """Parts that are accessed twice while others are left, as the program's own number would not.

    Not among them are scratch, padding and halos: what lies at the same place for all programs or
    where a digit of a number says that is right elsewhere (`Parts.plain`), what is loaded by an
    index, and what many programs load or update evenly.
    """
    return tuple(parts for parts in seen.parts or () if _is_suspect(parts))


def is_balanced(parts: Parts) -> bool:
    """Whether there are as many parts too many as there are parts left.

    Then numbers that are not remapped would take each part once. Programs of a persistent loop may
    differ by one part, and so may those that are repeated and those that are left.
    """
    wrong, left = parts.repeats + parts.outside, parts.left
    if wrong == left:
        return wrong > 0
    if parts.most - parts.least != 1 or not wrong or left <= 0:
        return False
    return parts.least * max(wrong, left) <= parts.most * min(wrong, left)


def _is_suspect(parts: Parts) -> bool:
    if parts.left <= 0 or not parts.numbered | parts.gathered:
        return False
    if parts.plain:  # whole blocks of a tensor with one for each program are no scratch
        return parts.access == "stored" and not parts.single and is_balanced(parts)
    if parts.access == "stored":
        missed = parts.outside and parts.gaps and not parts.ordered
        return bool(is_balanced(parts) or missed or parts.repeats)
    if parts.gathered or not parts.repeats:
        return False
    uneven = not parts.even and not parts.ordered and parts.least == parts.most
    return is_balanced(parts) or uneven


def describe_outputs(seen: Observation) -> list[str]:
    """What is written of each tensor."""
    if seen.outputs is None:
        return ["the tensors are too large to look at each element"]
    lines = [line for output in seen.outputs for line in _lines_of_output(output)]
    if seen.lanes_outside:
        lines.append(f"{seen.lanes_outside} elements are written outside every tensor")
    return lines


def _lines_of_output(output: Output) -> list[str]:
    shape = " × ".join(map(str, output.shape)) or "scalar"
    whole = f"`{output.name}` ({shape})"
    lines = []
    if output.unwritten:
        share = 100 * output.unwritten / output.elements
        place = ", ".join(f"{a}:{b + 1}" for a, b in output.unwritten_range)
        lines.append(
            f"{whole}: {output.unwritten} of {output.elements} elements ({share:.2f} %) are "
            f"written by no program, within [{place}]"
        )
    if output.shared:
        line = f"{whole}: {output.shared} elements are stored by several programs"
        if output.clash:
            index, one, other = output.clash
            line += f", {list(index)} by {one} and {other}"
        lines.append(line)
    if not lines:
        verb = "updated" if output.updated else "stored by exactly one program"
        lines.append(f"{whole}: each of {output.elements} elements is {verb}")
    return lines


def describe_idle(seen: Observation) -> list[str]:
    """Says so where programs write nothing; nothing else."""
    idle = int((~seen.writes).sum())
    return [f"{idle} of {len(seen.writes)} programs write nothing"] if idle else []


def describe_collision(seen: Observation) -> list[str]:
    """Two programs that do the same."""
    working = np.flatnonzero(seen.writes)
    _, group, counts = np.unique(seen.work[working], return_inverse=True, return_counts=True)
    first = int(np.argmax(counts[group] > 1))
    second = first + 1 + int(np.argmax(group[first + 1 :] == group[first]))
    one, other = working[first], working[second]
    return [f"programs {one} and {other} access the same addresses in the same order"]


def describe_parts(parts: Parts) -> list[str]:
    """Which parts of a tensor are accessed more than once, how many never."""
    line = f"`{parts.name}`: {parts.taken} of {parts.room} parts are {parts.access} ({parts.line})"
    if parts.clash:
        line += f", one of them by programs {parts.clash[0]} and {parts.clash[1]}"
    if parts.outside:
        line += f", {parts.outside} outside it"
    return [f"{line}; {parts.left} are {parts.access} by no program"]


def summarise(verdicts: Sequence[RemapVerdict]) -> SizesTried:
    """Verdicts on one kernel at several sizes as one sentence about them."""
    grids = tuple(one.grid for one in verdicts)
    holds = [one.kind == "permutation" for one in verdicts]
    failed = [one for one in verdicts if one.kind != "permutation" and math.prod(one.grid) > 1]
    first = min(failed, key=lambda one: math.prod(one.grid), default=None)
    return SizesTried(
        grids=grids,
        condition=condition(grids, holds),
        witness=first.grid if first else None,
        reason=first.reason if first else "",
    )


def judge(observation: Observation, kernel: str, grid: Grid, count: int = 1) -> RemapVerdict:
    """The verdict, with its evidence."""
    facts = Facts(observation, grid)
    kind, reason, lines = first_rule(facts)
    dropped = kind == "not a permutation" and facts.drops_tiles
    evidence = (*lines, *facts.outputs_described)
    return RemapVerdict(kernel, grid, kind, reason, evidence, count, dropped)


@dataclass(frozen=True)
class Facts:
    """An observation and what follows from it.

    Attributes:
        seen: the observation.
        grid: of the launch.
    """

    seen: Observation
    grid: Grid

    @cached_property
    def working(self) -> int:
        """Programs that write anything."""
        return int(self.seen.writes.sum())

    @cached_property
    def distinct(self) -> int:
        """Programs that do work of their own."""
        return len(np.unique(self.seen.work[self.seen.writes]))

    @property
    def all_work(self) -> bool:
        """Each program writes, and nowhere outside the tensors."""
        return self.working == len(self.seen.work) and not self.seen.lanes_outside

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The tensors written to, as far as they were looked at."""
        return self.seen.outputs or ()

    @property
    def shared(self) -> tuple[Output, ...]:
        """Those of which several programs store the same element."""
        return tuple(output for output in self.outputs if output.shared)

    @property
    def has_gaps(self) -> bool:
        """Elements of a tensor written to are written by no program."""
        return any(output.unwritten for output in self.outputs)

    @property
    def scattered(self) -> bool:
        """Of one tensor, elements are stored by several programs and others by none."""
        return any(output.unwritten for output in self.shared)

    @property
    def clean(self) -> tuple[Output, ...]:
        """Tensors of which each element is stored by exactly one program."""
        return tuple(
            one for one in self.outputs if not (one.unwritten or one.shared or one.updated)
        )

    @property
    def clean_of_all(self) -> tuple[Output, ...]:
        """Those to which all programs contribute."""
        return tuple(one for one in self.clean if self.all_work and one.programs == self.working)

    @cached_property
    def partly(self) -> tuple[Output, ...]:
        """Tensors stored block by block of which elements are left, as long as one that is loaded.

        What is left of them may be output that is missing.
        """
        parts = self.seen.parts or ()
        blocks = {one.name for one in parts if one.access == "stored" and not one.single}
        loaded = {one.elements for one in parts if one.access == "loaded"}
        return tuple(
            one
            for one in self.outputs
            if one.unwritten and one.name in blocks and one.elements in loaded
        )

    @cached_property
    def suspects(self) -> tuple[Parts, ...]:
        """Tensors of which one part is accessed twice and another never."""
        return find_suspects(self.seen)

    @property
    def dropped(self) -> tuple[Parts, ...]:
        """Suspects of which that is certain: numbers that are not remapped would store each part.

        Their elements say so too, where these were looked at.
        """
        scattered = {one.name for one in self.shared if one.unwritten}
        return tuple(
            parts
            for parts in self.suspects
            if parts.access == "stored" and is_balanced(parts) and parts.name in scattered
            if not parts.gathered and not parts.plain
        )

    @property
    def drops_tiles(self) -> bool:
        """See `RemapVerdict`."""
        return self.distinct < self.working and self.scattered and not self.seen.places_loaded

    @cached_property
    def outputs_described(self) -> list[str]:
        """Programs that write nothing, and what is written of each tensor."""
        if not self.working:
            return []
        return [*describe_idle(self.seen), *describe_outputs(self.seen)]


def _name(tensors: tuple[Output, ...] | tuple[Parts, ...]) -> str:
    return ", ".join(dict.fromkeys(f"`{tensor.name}`" for tensor in tensors))


def first_rule(facts: Facts) -> tuple[RemapKind, str, list[str]]:
    """The kind of the verdict, its reason, and evidence that comes before that of the tensors.

    The first rule that holds decides.
    """
    if facts.working == 0:
        return "not told", "no program writes anything", []
    if facts.distinct < facts.working:
        reason = f"{facts.working} programs do the work of {facts.distinct}"
        return "not a permutation", reason, describe_collision(facts.seen)
    several = "are stored by several programs, and others by none"
    if facts.dropped:
        lines = [line for parts in facts.dropped for line in describe_parts(parts)]
        return "not a permutation", f"parts of {_name(facts.dropped)} {several}", lines
    if facts.scattered and not facts.clean_of_all and not facts.seen.places_loaded:
        return "not a permutation", f"elements {several}", []
    if facts.suspects:
        left = "are left, while others are taken twice or do not exist"
        lines = [line for parts in facts.suspects for line in describe_parts(parts)]
        return "not told", f"parts of {_name(facts.suspects)} {left}", lines
    if facts.partly:
        missing = "are written by no program, and what is loaded is as long"
        return "not told", f"elements of {_name(facts.partly)} {missing}", []
    if facts.seen.parts is None and facts.scattered:
        many = "and there are too many accesses to say why"
        return "not told", f"elements are stored by several programs, others by none, {many}", []
    if facts.clean_of_all:
        reason = f"each element of {_name(facts.clean_of_all)} is stored exactly once"
        return "permutation", reason, []
    if facts.shared:
        return "not told", "elements are stored by several programs", []
    if facts.has_gaps and not facts.all_work:
        unknown = "it is not known whether they should be"
        return "not told", f"elements are written by no program, and {unknown}", []
    if 0 < len(facts.outputs) == len(facts.clean):
        return "permutation", "each element is stored exactly once", []
    return "not told", "no two programs do the same, and no more is known", []
