# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Files that a kill at any moment leaves whole, and folders of which it leaves nothing for good.

A file is written beside its place and renamed. Temporary folders lie in one folder per process,
which the process holds a lock on; what a killed process left behind has no lock, and the next one
removes it.

What one run has worked out and a later one may use again (traces, builds, rates) is an entry, a
folder named by a digest of all that decides it; the code of this package and of those that it
computes with is part of every name. The least recently used go first.
"""

import atexit
import fcntl
import functools
import glob
import hashlib
import os
import pickle
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import util
from pathlib import Path
from typing import TypeVar, cast

PREFIX = "intelliperf-swizzle_"
"""Of the folders in the system's folder for temporary files."""
PARTIAL = ".swizzle-partial"
"""Ending of a file that is being written."""


class Staged:
    """The new content of a file, on the disk beside it until it takes its place.

    Args:
        path: the file; a link is replaced, not followed.
        content: all of it.
        like: its mode is copied; None = unchanged, or as the process's mask allows.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, content: bytes, *, like: Path | None = None):
        remove_partial(path)
        self._path = path
        handle, name = tempfile.mkstemp(PARTIAL, f".{path.name}.", path.parent)
        self._partial = Path(name)
        self._stream = os.fdopen(handle, "wb")
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX)
            self._stream.write(content)
            self._stream.flush()
            os.fchmod(handle, _mode(like or path))
            os.fsync(handle)
        except BaseException:
            self.discard()
            raise

    def commit(self) -> None:
        """Puts it in its place, at once."""
        self._partial.replace(self._path)
        self._stream.close()

    def discard(self) -> None:
        """Removes it, unless it is in its place."""
        if not self._stream.closed:
            self._partial.unlink(missing_ok=True)
            self._stream.close()


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that it holds all of the content or what it held before.

    Raises:
        OSError: it cannot be written; nothing is changed then.
    """
    staged = Staged(path, content)
    try:
        staged.commit()
    finally:
        staged.discard()


def _mode(like: Path) -> int:
    """The mode of a file; of a new one what the process's mask allows."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(like.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def remove_partial(path: Path) -> None:
    """Removes what a process that was killed while it wrote this file has left beside it."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*{PARTIAL}"):
        with suppress(OSError), partial.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            partial.unlink()


class FolderLock:
    """Keeps a folder for its holder, until it is released or the process ends, however that ends.

    Args:
        folder: it exists.

    Raises:
        BlockingIOError: another holds it.
    """

    def __init__(self, folder: Path):
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise
        except OSError:  # a file system without locks
            return

    def holds(self, folder: Path) -> bool:
        """Whether the folder of that name is still the one that was locked."""
        with suppress(FileNotFoundError):
            return os.path.samestat(folder.stat(), os.fstat(self._descriptor))
        return False

    def release(self) -> None:
        """Lets others have it."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            self.release()


@contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """A folder that is gone at the end of the block; `name` begins its name."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_own_folder()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_own: tuple[int, Path, FolderLock] | None = None
_making = threading.Lock()


def _own_folder() -> Path:
    """The folder of this process, with nothing left of processes that are no more."""
    global _own
    with _making:  # a second thread's would take the place of the first one's, and unlock it
        if _own is None or _own[0] != os.getpid() or not _own[2].holds(_own[1]):
            remove_left_behind()
            _own = (os.getpid(), *_locked_folder())
            atexit.register(remove_temporary)
        return _own[1]


def _locked_folder() -> tuple[Path, FolderLock]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        with suppress(OSError):
            lock = FolderLock(folder)
            if lock.holds(folder):  # else another process took it for one that was left behind
                return folder, lock


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where what may be thrown away is kept for the user; it need not be there."""
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "intelliperf-swizzle"


def remove_left_behind() -> None:
    """Removes the temporary folders of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_uid != os.getuid() or folder.is_symlink():
                continue
            lock = FolderLock(folder)
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()


def remove_temporary() -> None:
    """Removes the temporary folders of this process, whoever still uses them."""
    global _own
    if _own is not None and _own[0] == os.getpid():
        shutil.rmtree(_own[1], ignore_errors=True)
        _own[2].release()
        _own = None


LIMIT_BYTES = 2 << 30
"""Of all results together; none may be larger than a quarter of it."""
_PARTIAL = "partial-"
_PARTIAL_SECONDS = 86400.0
"""After this, what is still being written was left behind."""
_PACKAGES = ("numba", "numpy", "torch", "triton")
_VARIABLES = ("AMDGCN", "LLVM", "MLIR", "NUMBA", "PTXAS", "TRITON")
"""Beginnings of the names of variables that change what these packages do."""

Value = TypeVar("Value")


class DiskCache:
    """Results in a folder, a file each.

    Args:
        folder: of the results; None = nothing is kept, and nothing found.
        limit_bytes: of all together.
    """

    def __init__(self, folder: Path | None, limit_bytes: int = LIMIT_BYTES):
        self.folder = folder
        self.limit_bytes = limit_bytes

    def get_or_compute(
        self,
        kind: str,
        decided_by: object,
        make: Callable[[], Value],
        *,
        is_final: Callable[[Value], bool] = lambda _: True,
    ) -> Value:
        """What `make` returns, from its file if there is one.

        Args:
            kind: of result; begins the file's name.
            decided_by: all that the result depends on; its `repr` must be complete.
            make: called without a file; raises as it does, and nothing is kept then.
            is_final: whether what was made may be kept: not if it ran out of time.
        """
        if self.folder is None:
            return make()
        file = self.folder / f"{kind}-{digest(decided_by)}.pickle"
        with suppress(OSError, EOFError, pickle.UnpicklingError):
            os.utime(file)
            return cast(Value, pickle.loads(file.read_bytes()))
        value = make()
        if is_final(value):
            with suppress(OSError):
                self._keep(file, value)
                self._trim(file.parent)
        return value

    def _keep(self, file: Path, value: object) -> None:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_PARTIAL, dir=file.parent) as folder:
            partial = Path(folder, file.name)
            with partial.open("wb") as stream:
                pickle.dump(value, stream, protocol=5)
            if partial.stat().st_size <= self.limit_bytes // 4:
                partial.replace(file)

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(size for _, size, _ in _files(self.folder)) if self.folder else 0

    def _trim(self, folder: Path) -> None:
        room = self.limit_bytes
        for when, size, file in sorted(_files(folder), reverse=True):
            if file.is_dir():
                if time.time() - when > _PARTIAL_SECONDS:
                    shutil.rmtree(file, ignore_errors=True)
            elif (room := room - size) < 0:
                file.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """When each was used, its size and its path; another process may remove one at any time."""
    with suppress(OSError):
        for file in folder.iterdir():
            with suppress(FileNotFoundError):
                status = file.stat()
                yield status.st_mtime, status.st_size, file


OFF = "INTELLIPERF_SWIZZLE_NO_CACHE"
"""The variable of `--no_cache`; it also holds if there is no command line."""


def user_cache(environment: Mapping[str, str] | None = None) -> DiskCache:
    """What is kept for this user; nothing if that is off."""
    environment = os.environ if environment is None else environment
    off = environment.get(OFF, "0").lower() not in ("", "0", "false", "no")
    return DiskCache(None if off else cache_folder(environment) / "kept")


def digest(decided_by: object) -> str:
    """Of what decides a result, this package and those that it computes with included."""
    text = repr((_code(), decided_by)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()


@functools.cache
def _code() -> object:
    """Changes with the code that computes what is kept."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    origins = [spec.origin for name in _PACKAGES if (spec := util.find_spec(name)) and spec.origin]
    variables = [item for item in sorted(os.environ.items()) if item[0].startswith(_VARIABLES)]
    return [*map(_stamp, files), *map(_stamp, map(Path, origins)), variables]


def _stamp(file: Path) -> tuple[str, int, int, int]:
    status = file.stat()
    return str(file), status.st_size, status.st_mtime_ns, status.st_ctime_ns
