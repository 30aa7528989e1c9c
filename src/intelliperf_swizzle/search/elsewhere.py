# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether a swizzle holds elsewhere: in other launches of the application, for other numbers of
tiles, at another size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from intelliperf_swizzle import mapping, profile, rank, records, stopping
from intelliperf_swizzle.cache import replay
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.profile.modelled import add_swizzle_time
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.subject import Subject, owners_of, with_rest


@dataclass(frozen=True)
class WhatIf:
    """A launch on the model, by itself.

    Attributes:
        setup: of the run.
        traced: the launch.
        known: what the model says of it unmodified, if that is known.
    """

    setup: RunContext
    traced: profile.TracedLaunch
    known: records.Measurement | None = None

    @cached_property
    def before(self) -> records.Measurement:
        """The unmodified launch."""
        return self.known or self.replay()

    def replay(
        self, trace: records.Trace | None = None, tile: records.Int64Array | None = None
    ) -> records.Measurement:
        """The launch unmodified, or traced with other arguments, or in another order."""
        stopping.check()
        trace = trace or self.traced.trace
        order = np.arange(trace.tiles) if tile is None else tile
        return replay([(trace, order, 1, self.traced.occupancy)], self.setup.target)


FEW_COUNTS = (*range(1, 33), *range(33, mapping.LONGEST + 1, 271))
"""Numbers of tiles that memory may hold (longer runs are cut) and that all proposed is tried on."""


def prove_on(
    swizzle: Swizzle, launches: Sequence[records.Launch], target: Target
) -> tuple[records.Proof, ...] | records.Witness:
    """A proof for each launch, or the witness of the first launch on which it fails."""
    proofs = []
    for launch in launches:
        owners, constants = owners_of(launch), launch.constants
        verdict = mapping.prove(swizzle, launch.numbers, constants, owners=owners, **target.inputs)
        if isinstance(verdict, records.Witness):
            return verdict
        proofs.append(verdict)
    return tuple(proofs)


def _check_other_counts(
    swizzle: Swizzle, launches: Sequence[records.Launch], target: Target
) -> records.Verdict | None:
    """The refusal of a swizzle that is not a permutation of some count which memory may hold."""
    read = [launch for launch in launches if launch.loop and launch.loop.read_from]
    constants = {frozenset((n, x.constants.get(n)) for n in swizzle.names): x for x in read}
    for launch in constants.values():
        fact = "the number of tiles is read from memory, and"
        if "program" in swizzle.names:
            return records.Verdict("not a permutation", f"{fact} `program` depends on it")
        assert launch.loop is not None
        for count in FEW_COUNTS:
            turns = np.arange(count, dtype=np.int32) % launch.programs
            loop = replace(launch.loop, program=turns, turn=turns, starts=(0,))
            if isinstance(prove_on(swizzle, [replace(launch, loop=loop)], target), records.Witness):
                return records.Verdict("not a permutation", f"{fact} it fails for {count}")
    return None


def refuse_elsewhere(swizzle: Swizzle, subject: Subject, target: Target) -> records.Verdict | None:
    """The refusal of a swizzle that a launch which is not traced forbids, or another number of
    tiles.

    One permutation at a time, for all launches on which the swizzle is the same.
    """
    if refusal := _check_other_counts(swizzle, subject.launches, target):
        return refusal
    for launches in subject.alike(swizzle.names):
        proofs = prove_on(swizzle, launches[:1], target)
        if isinstance(proofs, records.Witness):
            return refuse(proofs)
        for launch in launches:
            if reason := subject.unsafe_order(launch, proofs[0].tile):
                where = f"launch {launch.ordinal + 1}, on the grid {launch.grid}"
                return records.Verdict("unsafe order", f"{where}: {reason}")
    return None


def refuse(witness: records.Witness) -> records.Verdict:
    """The verdict on what a witness speaks against."""
    return records.Verdict("not a permutation", "; ".join(mapping.describe(witness)), witness)


def compare_at(swizzle: Swizzle, case: WhatIf) -> records.OtherSize | None:
    """A mapping at one size, beside the unmodified kernel; None if it renumbers nothing."""
    proofs = prove_on(swizzle, [case.traced.launch], case.setup.target)
    grid = case.traced.launch.numbers
    if isinstance(proofs, records.Witness):
        return records.OtherSize(grid, case.before.l2_hit_rate, None, None, loses=True)
    if np.array_equal(proofs[0].tile, np.arange(len(proofs[0].tile))):
        return None
    replayed = case.replay(tile=with_rest(proofs[0].tile, case.traced.trace))
    after = add_swizzle_time(replayed, swizzle, [case.traced], case.setup.target)
    ratio = (after.modelled_time_ms or 0.0) / (case.before.modelled_time_ms or 1.0)
    loses = rank.judge(after, case.before).kind in ("slower", "worse")
    return records.OtherSize(grid, case.before.l2_hit_rate, after.l2_hit_rate, ratio, loses=loses)
