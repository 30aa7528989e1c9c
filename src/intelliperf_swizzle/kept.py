# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What one run has worked out and a later one may use again: traces, builds, rates.

Each entry is a folder, named by a digest of all that decides it; this package's own code and the
packages that it computes with are part of every name. The least recently used go first.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import util
from pathlib import Path
from typing import TypeVar, cast

from intelliperf_swizzle.disk import cache_folder

LIMIT_BYTES = 2 << 30
"""Of all entries together; no entry may be larger than a quarter of it."""
_PARTIAL = "partial-"
_PARTIAL_SECONDS = 86400.0
"""After this, an entry that is still being written was left behind."""
_PACKAGES = ("numba", "numpy", "torch", "triton")
_VARIABLES = ("AMDGCN", "LLVM", "MLIR", "NUMBA", "PTXAS", "TRITON")
"""Beginnings of the names of variables that change what these packages do."""

Value = TypeVar("Value")


class Kept:
    """Entries in a folder.

    Args:
        folder: of the entries; None = nothing is kept, and nothing found.
        limit_bytes: of all entries together.
    """

    def __init__(self, folder: Path | None, limit_bytes: int = LIMIT_BYTES):
        self.folder = folder
        self.limit_bytes = limit_bytes

    def find(self, name: str) -> Iterator[Path]:
        """The entries whose names begin so; another process may remove one at any time."""
        for entry in self.folder.glob(f"{name}*") if self.folder else ():
            with suppress(OSError):
                os.utime(entry)
                yield entry

    def keep(self, name: str, write: Callable[[Path], None]) -> None:
        """Makes an entry, in place of one of the same name; not if it cannot be written.

        Args:
            name: of the entry.
            write: is given an empty folder to write it to.
        """
        if self.folder is None:
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=self.folder))
            try:
                write(partial)
                if _bytes(partial) <= self.limit_bytes // 4:
                    shutil.rmtree(self.folder / name, ignore_errors=True)
                    partial.rename(self.folder / name)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
            self._trim(self.folder)

    def call(
        self,
        kind: str,
        decided_by: object,
        make: Callable[[], Value],
        *,
        is_final: Callable[[Value], bool] = lambda _: True,
    ) -> Value:
        """What `make` returns, from its entry if there is one.

        Args:
            kind: of result; begins the entry's name.
            decided_by: all that the result depends on; its `repr` is to tell it whole.
            make: called without an entry; raises as it does, and nothing is kept then.
            is_final: whether what was made may be kept: not if it ran out of time.
        """
        name = f"{kind}-{digest(decided_by)}"
        for entry in self.find(name):
            with suppress(OSError, EOFError, pickle.UnpicklingError):
                return cast(Value, pickle.loads((entry / "value.pickle").read_bytes()))
        value = make()
        if is_final(value):
            self.keep(name, lambda folder: _write(folder / "value.pickle", value))
        return value

    @property
    def bytes(self) -> int:
        """Of all entries."""
        return sum(map(_bytes, self.folder.iterdir())) if self.folder and self._is_there else 0

    @property
    def _is_there(self) -> bool:
        return self.folder is not None and self.folder.is_dir()

    def _trim(self, folder: Path) -> None:
        used: list[tuple[float, Path]] = []
        for entry in folder.iterdir():
            with suppress(FileNotFoundError):
                used.append((entry.stat().st_mtime, entry))
        room = self.limit_bytes
        for when, entry in sorted(used, reverse=True):
            if entry.name.startswith(_PARTIAL):
                expendable = time.time() - when > _PARTIAL_SECONDS
            else:
                room -= _bytes(entry)
                expendable = room < 0
            if expendable:
                shutil.rmtree(entry, ignore_errors=True)


OFF = "INTELLIPERF_SWIZZLE_NO_CACHE"
"""The variable of `--no_cache`; it also holds where there is no command line."""


def kept_for_user(environment: Mapping[str, str] | None = None) -> Kept:
    """What is kept for this user; nothing if that is off."""
    environment = os.environ if environment is None else environment
    off = environment.get(OFF, "0").lower() not in ("", "0", "false", "no")
    return Kept(None if off else cache_folder(environment) / "kept")


def digest(decided_by: object) -> str:
    """Of what decides a result, this package and those that it computes with included."""
    text = repr((_code(), decided_by)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()


@functools.cache
def _code() -> object:
    """Changes with the code that computes what is kept."""
    own = Path(__file__).parent
    files = sorted(own.rglob("*.py"))
    origins = [spec.origin for name in _PACKAGES if (spec := util.find_spec(name)) and spec.origin]
    variables = [one for one in sorted(os.environ.items()) if one[0].startswith(_VARIABLES)]
    return [*map(_stamp, files), *map(_stamp, map(Path, origins)), variables]


def _stamp(file: Path) -> tuple[str, int, int, int]:
    status = file.stat()
    return str(file), status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _write(path: Path, value: object) -> None:
    with path.open("wb") as stream:
        pickle.dump(value, stream, protocol=5)


def _bytes(entry: Path) -> int:
    total = 0
    for file in entry.rglob("*"):
        with suppress(FileNotFoundError):
            total += file.lstat().st_size
    return total
