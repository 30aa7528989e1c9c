# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Candidates tried on a GPU in processes of the user's application, whatever their language.

`processes` starts and watches them, `journal` is what they tell, `outcomes` what is made of their
times, and what a trial means for an edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from intelliperf_swizzle.records import Timing

FailureKind = Literal["does not build", "faulted", "hung", "not validated"]


@dataclass(frozen=True)
class Check:
    """One comparison of the original with a candidate, at one launch.

    Attributes:
        same: whether all bytes agree.
        difference: the first difference in words, None if there is none.
        loose: whether floats that atomics add up were compared within the tolerance.
    """

    same: bool
    difference: str | None
    loose: bool


@dataclass(frozen=True)
class Failure:
    """Why a candidate could not be compared.

    Attributes:
        kind: `faulted` and `hung` took the process with them.
        text: in words.
    """

    kind: FailureKind
    text: str


@dataclass(frozen=True)
class Trial:
    """A candidate over all tasks.

    Attributes:
        checks: by task; those that were made.
        failure: None if it ran everywhere.
        timing: over all tasks, None if no times were taken.
        note: why not, or why the application was ended before all was tried.
    """

    checks: Mapping[int, Check]
    failure: Failure | None
    timing: Timing | None
    note: str | None = None

    @property
    def difference(self) -> str | None:
        """The first difference in words, None if all bytes agree."""
        return next((check.difference for check in self.checks.values() if not check.same), None)


@dataclass(frozen=True)
class Known:
    """What a process need not try any more.

    Attributes:
        checked: (task, candidate) pairs that need not be compared again.
        failed: candidates that are not tried any more.
        raced: tasks whose times are known.
    """

    checked: frozenset[tuple[int, int]] = frozenset()
    failed: frozenset[int] = frozenset()
    raced: frozenset[int] = frozenset()
