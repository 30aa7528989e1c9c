# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Numba's decorators with types, which they lack, and one cache for what they compile.

Numba loads slowly, so import this late.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numba
import numpy as np
from numba.core import event
from numba.core.registry import cpu_target

from intelliperf_swizzle import progress
from intelliperf_swizzle.disk import cache_folder

Integer: TypeAlias = int | np.int64
"""In compiled code Python's and NumPy's are one."""

_Function = TypeVar("_Function", bound=Callable[..., Any])
_UNUSED_SECONDS = 30 * 86400.0


def _folder() -> str:
    """Where machine code is kept: a folder for these sources, whatever Python file they lie in.

    Numba itself looks at the time of the caller's file alone, so it would run old code of others.
    """
    here = Path(__file__).parent
    sources = (Path(__file__), *here.glob("cache/compiled/*.py"), *here.glob("trace/*.py"))
    text = b"".join(source.read_bytes() for source in sorted(sources))
    above = Path(numba.config.CACHE_DIR or cache_folder(os.environ) / "compiled")
    folder = above / hashlib.blake2b(text, digest_size=8).hexdigest()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        for other in above.iterdir():
            if time.time() - other.stat().st_mtime > _UNUSED_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
    return str(folder)


_FOLDER = _folder()
IS_NEW = not any(Path(_FOLDER).glob("*"))
"""Whether nothing of these sources was compiled on this machine yet."""


class _Compiling(event.Listener):  # type: ignore[misc]
    def on_start(self, event: object) -> None:
        for tell in tuple(progress.compiling):
            tell()

    def on_end(self, event: object) -> None:
        pass


event.register("numba:compile", _Compiling())
for context in (cpu_target.typing_context, cpu_target.target_context):
    context.refresh()  # else the first call does, and so each fork of a process that imports this


def jit(function: _Function, **options: bool) -> _Function:
    """Compile once per machine (cached on disk), without the interpreter lock."""
    theirs, numba.config.CACHE_DIR = numba.config.CACHE_DIR, _FOLDER
    try:
        compiled: _Function = numba.njit(cache=True, nogil=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = theirs
    return compiled


def loop(function: _Function) -> _Function:
    """The same for a loop that allocates nothing, returns no array and uses no array's methods.

    It borrows its arrays: they are not counted as references each time one is taken out of a tuple,
    which is an atomic instruction.
    """
    return jit(function, _nrt=False)


@jit
def table_size(entries: int) -> int:
    """Slots of a hash table that at least half of stay free: a power of two."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return size
