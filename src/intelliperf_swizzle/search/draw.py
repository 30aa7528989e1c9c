# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The picture of a kernel for its report."""

from __future__ import annotations

from intelliperf_swizzle.picture import picture
from intelliperf_swizzle.propose.axes import axis_choices, row_lengths
from intelliperf_swizzle.records import Picture
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Screened
from intelliperf_swizzle.search.subject import Subject


def draw(setup: Setup, subject: Subject, best: Screened | None) -> Picture:
    """What there is to see of the kernel's largest launch, unmodified and with the best swizzle."""
    largest = subject.traced[0]
    choices = axis_choices([largest.launch], row_lengths(largest.trace))
    return picture(
        largest.launch,
        largest.trace,
        setup.target,
        occupancy=largest.occupancy,
        tile=best.proved.tiles()[0] if best else None,
        columns=next((choice[-1].extent for choice in choices if len(choice) == 2), None),
    )
