# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Numba's decorators with types, which they lack. Numba loads slowly, so import this late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numba
import numpy as np

Integer: TypeAlias = int | np.int64
"""In compiled code Python's and NumPy's are one."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def jit(function: _Function) -> _Function:
    """Compile once per machine (cached on disk), without the interpreter lock."""
    compiled: _Function = numba.njit(cache=True, nogil=True)(function)
    return compiled


def loop(function: _Function) -> _Function:
    """The same for a loop that allocates nothing, returns no array and uses no array's methods.

    It borrows its arrays: they are not counted as references each time one is taken out of a tuple,
    which is an atomic instruction.
    """
    compiled: _Function = numba.njit(cache=True, nogil=True, _nrt=False)(function)
    return compiled
