# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The nouns of a diagnosis."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One part of the machine.

    Attributes:
        part: what was looked for.
        found: what is there, None where it is not.
        gap: what is missing or wrong, None where nothing is.
        command: the one command that mends the gap, None where none does.
        needed: whether what was asked for cannot work with the gap.
    """

    part: str
    found: str | None = None
    gap: str | None = None
    command: str | None = None
    needed: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """What was found, and what a run would use.

    Attributes:
        findings: part by part.
        target: the GPU that a run would be for.
        device: the GPU that would measure, None where all is modelled.
        profiler: what hit rates would come from.
        proposer: who would offer candidates.
    """

    findings: tuple[Finding, ...]
    target: str
    device: str | None
    profiler: str
    proposer: str

    @property
    def works(self) -> bool:
        """Whether what was asked for can work."""
        return not any(one.gap and one.needed for one in self.findings)
