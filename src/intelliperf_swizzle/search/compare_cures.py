# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What could be done about a kernel's misses: the swizzle, padded rows, a parameter, other tiles.

All are compared by the model on the kernel's largest launch. What is not the swizzle is advice: it
changes what the application passes to the kernel, not the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Cure, CureKind, Cures, Measurement
from intelliperf_swizzle.search.changed_launch import LEAST_GAIN, Case, cure_of
from intelliperf_swizzle.search.padding import confirm, find_paddings
from intelliperf_swizzle.search.parameters import find_parameters
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Evaluated
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.search.tile_sizes import find_tile_sizes

BOUND = "the kernel is bound by arithmetic"
LEAST_MS = 0.005
"""Modelled memory time below which nothing is looked for: a launch alone takes that long."""


def compare_cures(
    setup: Setup, subject: Subject, best: Evaluated | None, progress: Progress
) -> Cures | None:
    """The cures of a kernel; None where its launches are too short for any to matter.

    Args:
        setup: of the run.
        subject: the kernel.
        best: the best swizzle, if there is one.
        progress: told of what is looked at.

    Cost: a replay for each cure, an interpretation of a few programs for each argument that may be
    a stride or a parameter, and of the whole launch for what is recommended and for each value of
    a parameter and each tile size; these are compiled, too.
    """
    largest = subject.traced[0]
    alone = len(subject.traced) == largest.launch.count == 1
    case = Case(setup, largest, _modelled(subject.baseline) if alone else None)
    before = case.before
    time = before.modelled_memory_time_ms or 0.0
    if time < LEAST_MS:
        return None
    if setup.device is None and subject.baseline.bound_by_arithmetic:
        return Cures(before.l2_hit_rate, time, (), BOUND)
    progress.phase(f"comparing cures for {subject.kernel} (model)")
    found = []
    if best:
        known = _modelled(best.attempt.measurement) if alone else None
        found.append(cure_of("swizzle", known or case.replay(tile=best.proved.tiles()[0])))
    found += find_parameters(case, subject)
    found += find_tile_sizes(case, min((one.memory_time_ms for one in found), default=time))
    found += find_paddings(case, subject, best)
    gaining = [one for one in found if one.memory_time_ms < time * (1 - LEAST_GAIN)]
    while gaining:
        first, *others = _ranked(gaining)
        confirmed = confirm(case, first, best)
        if confirmed:
            return Cures(before.l2_hit_rate, time, (confirmed, *others))
        gaining = [one for one in gaining if one is not first]
    return Cures(before.l2_hit_rate, time, (), _no_cure(subject, before))


def _modelled(measured: Measurement | None) -> Measurement | None:
    return measured if measured and measured.profiler == "model" else None


def _ranked(cures: Sequence[Cure]) -> list[Cure]:
    """First the cheapest within 1 % of the best time, then the best of each other kind."""
    if not cures:
        return []
    kinds: tuple[CureKind, ...] = get_args(CureKind)

    def price(one: Cure) -> tuple[int, int, float]:
        more = one.padding.bytes if one.padding else 0
        return kinds.index(one.kind), more, one.memory_time_ms

    by_time = sorted(cures, key=lambda one: one.memory_time_ms)
    enough = by_time[0].memory_time_ms * (1 + LEAST_GAIN)
    first = min((one for one in cures if one.memory_time_ms <= enough), key=price)
    others = {one.kind: one for one in reversed(by_time) if one.kind != first.kind}
    return [first, *sorted(others.values(), key=lambda one: one.memory_time_ms)]


def _no_cure(subject: Subject, before: Measurement) -> str:
    """Why nothing helps."""
    causes = subject.baseline.causes or ()
    misses = sum(one.misses for one in causes)
    if misses and sum(one.compulsory for one in causes) >= 0.95 * misses:
        return "nearly all misses are compulsory: every line is fetched once"
    if subject.ceiling.l2_hit_rate - before.l2_hit_rate < LEAST_GAIN:
        return "the L2 hit rate is at its ceiling"
    whole = subject.baseline
    if (whole.arithmetic_time_ms or 0) > (whole.modelled_memory_time_ms or 0):
        return BOUND
    return "nothing that was tried gains 1 % of the modelled memory time"
