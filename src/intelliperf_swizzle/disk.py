# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Files that a kill at any moment leaves whole, and folders of which it leaves nothing for good.

A file is written beside its place and renamed. Temporary folders lie in one folder a process,
which the process holds a lock on; what a killed process left behind has no lock, and the next one
removes it.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "intelliperf-swizzle_"
"""Of the folders in the system's folder for temporary files."""
PARTIAL = ".swizzle-partial"
"""Ending of a file that is being written."""


class Staged:
    """The new content of a file, on the disk beside it until it takes its place.

    Args:
        path: the file; a link is replaced, not followed.
        content: all of it.
        like: has the mode that the file gets; None = as it is, or as the process's mask allows.

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
    for partial in path.parent.glob(f".{_literal(path.name)}.*{PARTIAL}"):
        with suppress(OSError), partial.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            partial.unlink()


def _literal(name: str) -> str:
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


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
    home = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "intelliperf-swizzle"


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
