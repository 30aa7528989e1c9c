# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A finished run, as the Python API gives it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from intelliperf_swizzle.edit import Edit, apply
from intelliperf_swizzle.records import Run as RunRecord
from intelliperf_swizzle.report import words
from intelliperf_swizzle.report.html import fragment


@dataclass(frozen=True)
class Run(RunRecord):
    """A finished run, for the kernel that saves most time; in a notebook it shows itself.

    Attributes:
        edit: what carries the best swizzles of all kernels into the user's sources; None where
            there are none.
        others: what came of the other kernels that were searched.
    """

    edit: Edit | None = None
    others: tuple[RunRecord, ...] = ()

    def apply(self) -> tuple[Path, ...]:
        """Write the best swizzles into the user's sources; returns the backups of what was there.

        Raises:
            SpliceError: a file has changed since.
        """
        return apply(self.edit) if self.edit else ()

    def __str__(self) -> str:
        return words.message(self)

    def __repr__(self) -> str:
        tried = f"{len(self.attempts)} attempts"
        return f"<Run of {self.kernel} on {self.target}: {words.verdict(self)}, {tried}>"

    def _repr_html_(self) -> str:
        return fragment(self)
