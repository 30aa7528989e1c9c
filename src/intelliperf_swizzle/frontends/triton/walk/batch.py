# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The programs that are executed together: which of them are where, and what they compute."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.frontends.triton.walk.blocks import Array, Block
from intelliperf_swizzle.records import Grid, Int64Array

MOST_NUMBERS = 1 << 25
"""Numbers in one array (256 MB of addresses); a batch that needs more is cut into pieces."""

Active: TypeAlias = npt.NDArray[np.bool_]
"""Whether each program of a batch takes part in what is executed."""


class NotKnownError(Exception):
    """A value that is not known decides what a program does; the message says which and why."""


class TooWideError(Exception):
    """The batch is cut into pieces."""


class EnoughError(Exception):
    """What comes after this is not wanted of any program of the batch."""


class Programs:
    """The programs of a batch.

    Attributes:
        numbers: linear indices, int64[n].
        coordinates: their program ids, an int32[n] for each axis.
        active: those that take part in what is executed now.
        arithmetic: int64[n, 3]; what each has computed, see `walker.arithmetic_of`.
    """

    def __init__(self, grid: Grid, numbers: Int64Array) -> None:
        x, y, _ = grid
        self.grid = grid
        self.numbers = numbers
        self.coordinates = tuple(
            axis.astype(np.int32) for axis in (numbers % x, numbers // x % y, numbers // (x * y))
        )
        self.arithmetic = np.zeros((len(numbers), 3), np.int64)
        self._tally = np.zeros(3, np.int64)
        self._active: Active = np.ones(len(numbers), np.bool_)

    @property
    def active(self) -> Active:
        """Whether each program takes part."""
        return self._active

    @active.setter
    def active(self, active: Active) -> None:
        self.settle()
        self._active = active

    def count(self, counts: Array) -> None:
        """Each active program computes so much."""
        self._tally += counts

    def settle(self) -> None:
        """Enter what was counted."""
        if self._tally.any():
            self.arithmetic[self._active] += self._tally
            self._tally[:] = 0

    def truth(self, block: Block) -> Active:
        """bool[n]: where a scalar is true."""
        return np.broadcast_to(block.data.reshape(-1), self.active.shape)

    def full(self, block: Block) -> Array:
        """All lanes of all programs (or of one, if they are the same)."""
        array = block.data
        self.check_size(len(array) * int(np.prod(block.shape)))
        return np.broadcast_to(array, (len(array), *block.shape))

    def check_size(self, numbers: int) -> None:
        """Raises TooWideError if an array of so many numbers is too large."""
        if numbers > MOST_NUMBERS and len(self.numbers) > 1:
            raise TooWideError
