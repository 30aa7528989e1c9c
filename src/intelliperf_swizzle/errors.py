# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One family of errors, a class per mistake; each says fact and value, and hints at the remedy.

The library raises these and never prints or exits; `cli` turns them into one line and an exit code.
"""

import difflib
from collections.abc import Iterable
from functools import partial
from typing import Any


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The name among `known` that is nearest to one that is not, as a question; may be empty."""
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean `{near[0]}`? " if near else ""


class SwizzleError(Exception):
    """Something the user can understand went wrong.

    Args:
        fact: what is wrong, with the value, as one lower-case sentence without a full stop.
        hint: what would fix it, or None.
        details: further lines for the user (a witness, the last lines of an application).

    Attributes:
        kernels: rows of the table of kernels, if not one of those that were recorded can be traced.
    """

    exit_code = 1
    kernels: tuple[Any, ...] = ()

    def __init__(self, fact: str, *, hint: str | None = None, details: tuple[str, ...] = ()):
        super().__init__(fact)
        self.fact = fact
        self.hint = hint
        self.details = details

    def __str__(self) -> str:
        lines = [self.fact, *(f"  {line}" for line in self.details)]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (partial(type(self), hint=self.hint, details=self.details), (self.fact,))


class UsageError(SwizzleError):
    """The command line or a configuration file asks for something that does not exist."""

    exit_code = 2


class LanguageError(UsageError):
    """A text is not a swizzle: syntax, an unknown name, or a value that the language forbids."""


class RecordError(UsageError):
    """The input is not a record: a value is missing or does not belong; the fact says where."""


class NotAPermutationError(SwizzleError):
    """A swizzle drops or repeats tiles on a grid; the details carry the witness."""


class CaptureError(SwizzleError):
    """The application recorded no launch of the kernel."""


class TraceError(SwizzleError):
    """A recorded launch cannot be interpreted."""


class SpliceError(SwizzleError):
    """A kernel's source cannot carry a swizzle; the details name file and line."""


class BuildError(SwizzleError):
    """An edited kernel does not compile for the target."""


class ValidationError(SwizzleError):
    """A validation could not be carried out (not: it failed)."""


class ProfileError(SwizzleError):
    """A profiler is missing, has no permission or gave no usable counters."""


class HistoryError(UsageError):
    """A history file cannot be used: it is damaged, of another run, in use, or no history."""


class ModelError(SwizzleError):
    """A language model cannot be reached, refuses the key or does not answer in time."""


class SlowModelError(ModelError):
    """A language model is there and does not answer in time; a shorter question may be answered."""
