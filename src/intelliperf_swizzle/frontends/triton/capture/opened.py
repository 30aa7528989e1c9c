# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What an application opens, noted in its own processes by Python's audit events.

`sitecustomize` loads this file by its path in any Python of the command, so it imports the standard
library alone. A line of the notes is the `repr` of a tuple:

    ("content", path, state)   a file was opened for reading; the state by what it holds
    ("status", path, state)    … by its size and times: of packages, and of what is large
    ("names", path, state)     a folder was listed
    ("modules", path, state)   an import looked for modules in a folder
    ("asked", field, "")       something of the GPU was asked for
    ("started", pid, parent)   a Python process started
    ("unseen", sentence, "")   what was read cannot be told
"""

# ruff: noqa: PTH100, PTH110, PTH116, PTH118, PTH119, PTH120, PTH123
# (os.path, because importing pathlib would slow every Python down)

from __future__ import annotations

import hashlib
import os
import stat
import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

State = tuple[str, str, str]
"""How something was read, its path, and what tells it from another; a line of the notes."""

FILE = "opened.txt"
LARGE_BYTES = 64 << 20
"""Larger files are known by their size and times."""
ABSENT = "absent"

_IMPORTERS = ("importlib", "importlib_metadata")
_MODULE = (".dist-info", ".egg-info", ".egg", ".pth", ".py", ".so", ".zip")
_NOT_FILES = ("/proc/", "/sys/", "/dev/")
_PACKAGES = ("/site-packages/", "/dist-packages/")
_NATIVE = (
    *("PIL", "charset_normalizer", "coverage", "functorch", "llvmlite", "markupsafe", "msgpack"),
    *("numba", "numpy", "orjson", "psutil", "pydantic_core", "regex", "rpds", "scipy", "sklearn"),
    *("torch", "triton", "yaml", "_yaml"),
)
"""Packages whose compiled code opens no file of the user's but through Python."""
_PROGRAMS = ("ldconfig", "uname")
"""What the standard library starts to learn of the machine."""


def watch(folder: str) -> None:
    """Notes from now on what this process and its forks open.

    Args:
        folder: of the capture; what lies in it is not noted.
    """
    noted = _Notes(folder)
    noted.note("started", str(os.getpid()), str(os.getppid()))
    busy: set[int] = set()
    takers: dict[str, Callable[..., None]] = {
        "open": noted.opened,
        "import": noted.imported,
        "os.listdir": noted.listed,
        "os.scandir": noted.listed,
        "os.rename": noted.renamed,
        "subprocess.Popen": noted.program_started,
        "os.exec": noted.program_started,
        "os.posix_spawn": noted.program_started,
        "os.system": lambda command: noted.program_started("/bin/sh"),
        "socket.connect": lambda socket, address: noted.connected(address),
        "sqlite3.connect": lambda database: noted.opened(database, None, os.O_RDONLY),
        "ctypes.dlopen": lambda name: noted.opened(name or "/dev/null", None, os.O_RDONLY),
    }

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        take = takers.get(event)
        thread = get_ident()
        if take is None or thread in busy:
            return
        busy.add(thread)
        try:
            take(*arguments)
        except Exception as error:  # must not reach the application
            noted.note("unseen", f"{event}: {type(error).__name__}: {error}")
        finally:
            busy.discard(thread)

    sys.addaudithook(hook)
    global ask
    ask = noted.asked


def read_notes(folder: str) -> tuple[tuple[State, ...], tuple[str, ...]] | None:
    """The states of what was read, and what of the GPU was asked for; None if not all is known."""
    import ast

    with open(os.path.join(folder, FILE), encoding="utf-8", errors="surrogateescape") as stream:
        notes: set[State] = {ast.literal_eval(line) for line in stream}
    asked = tuple(sorted(field for how, field, _ in notes if how == "asked"))
    states = {one for one in notes if one[0] not in ("asked", "started")}
    changing = len({one[:2] for one in states}) < len(states)
    if changing or any(how == "unseen" for how, _, _ in states):
        return None
    return tuple(sorted(states)), asked


def unchanged(states: Iterable[State]) -> bool:
    """Whether all that was read is as it was then."""
    return all(state_now(how, path) == (how, path, state) for how, path, state in states)


ask: Callable[[str], None]
"""Notes that a field of the GPU was asked for."""


class _Notes:
    """What is noted of one process, once each."""

    def __init__(self, folder: str) -> None:
        self._inside = os.path.join(os.path.abspath(folder), "")
        self._trail = os.path.join(folder, FILE)
        self._known: set[tuple[str, str]] = set()
        self._written: set[str] = set()

    def note(self, how: str, what: str, state: str = "") -> None:
        line = repr((how, what, state)) + "\n"
        descriptor = os.open(self._trail, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode("utf-8", "surrogateescape"))
        finally:
            os.close(descriptor)

    def opened(self, file: object, _: object, flags: int) -> None:
        """A file is about to be opened."""
        if isinstance(file, int):
            return
        path = _absolute(file)
        access = flags & os.O_ACCMODE
        if access != os.O_RDONLY and flags & (os.O_TRUNC | os.O_EXCL):
            self._written.add(path)  # what it holds from now on is the application's own doing
        elif access != os.O_WRONLY:
            self._read(path)

    def _read(self, path: str) -> None:
        if path.endswith(".pyc"):
            path = _source_of(path)
        if path in self._written or path.startswith((*_NOT_FILES, self._inside)):
            return
        package = any(part in path for part in _PACKAGES) or path.startswith(sys.base_prefix)
        self._state("status" if package else "content", path)

    def _state(self, how: str, path: str) -> None:
        if (how, path) not in self._known:
            self._known.add((how, path))
            self.note(*state_now(how, path))

    def imported(self, name: str, file: object, *_: object) -> None:
        """A module is imported; a compiled one has a file."""
        if not file:
            return
        path = _absolute(file)
        self._read(path)
        package = name.partition(".")[0]
        if package not in _NATIVE and not path.startswith(os.path.join(sys.base_prefix, "lib")):
            self._unseen(f"the compiled code of `{package}` may open files by itself")

    def listed(self, folder: object = None) -> None:
        """A folder's names are asked for."""
        if isinstance(folder, int):
            self._unseen("a folder was listed by its descriptor")
            return
        path = _absolute(folder or ".")
        if not os.path.join(path, "").startswith((*_NOT_FILES, self._inside)):
            caller = str(sys._getframe(2).f_globals.get("__name__")).partition(".")[0]
            self._state("modules" if caller in _IMPORTERS else "names", path)

    def renamed(self, _: object, target: object, *__: object) -> None:
        """A file takes another's place."""
        self._written.add(_absolute(target))

    def program_started(self, executable: object, *_: object) -> None:
        """Another program is started; a Python notes by itself what it opens."""
        name = os.path.basename(os.fsdecode(executable or ""))  # type: ignore[arg-type]
        if not name.startswith("python") and name not in _PROGRAMS:
            self._unseen(f"`{name}` was started, and what it opens is not seen")

    def connected(self, address: object) -> None:
        """A connection is made; one to this machine is the application's own."""
        host = address[0] if isinstance(address, tuple) else "localhost"
        if host not in ("127.0.0.1", "::1", "localhost"):
            self._unseen(f"it connects to {host}")

    def asked(self, field: str) -> None:
        """Something of the GPU is asked for."""
        if ("asked", field) not in self._known:
            self._known.add(("asked", field))
            self.note("asked", field)

    def _unseen(self, sentence: str) -> None:
        if ("unseen", sentence) not in self._known:
            self._known.add(("unseen", sentence))
            self.note("unseen", sentence)


def _absolute(path: object) -> str:
    return os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]


def _source_of(compiled: str) -> str:
    """The file that a module was compiled from, if it is there."""
    folder, name = os.path.split(compiled)
    if os.path.basename(folder) == "__pycache__":
        source = os.path.join(os.path.dirname(folder), name.partition(".")[0] + ".py")
        if os.path.exists(source):
            return source
    return compiled


def state_now(how: str, path: str) -> State:
    """Changes with what a file holds or a folder lists; `how` may become `status`."""
    try:
        if how in ("names", "modules"):
            return how, path, _names(path, importable=how == "modules")
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return "status", path, "no file"
        if how == "status" or status.st_size > LARGE_BYTES:
            times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
            return "status", path, f"{status.st_size} {times} {status.st_ino}"
        with open(path, "rb") as stream:
            return how, path, hashlib.blake2b(stream.read(), digest_size=16).hexdigest()
    except OSError:
        return how, path, ABSENT


def _is_package(entry: os.DirEntry[str]) -> bool:
    return entry.name.isidentifier() and entry.is_dir()


def _names(folder: str, *, importable: bool) -> str:
    """Of what a folder lists; of what can be imported alone, if that is all that was looked for."""
    with os.scandir(folder) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.name != "__pycache__"
            and not (importable and not entry.name.endswith(_MODULE) and not _is_package(entry))
        ]
    text = "/".join(sorted(names)).encode(errors="surrogateescape")
    return hashlib.blake2b(text, digest_size=16).hexdigest()
