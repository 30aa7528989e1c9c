# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Child processes: started, waited for and ended in one way, and none outlives this process.

Each is kept by `keeper`, which kills all that it has started when it ends, when it is asked to, and
when this process is gone. A call is a fork of a process that has imported what it needs (`warm`).
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from intelliperf_swizzle import stopping
from intelliperf_swizzle.disk import remove_temporary, temporary_folder

_KEEPER = Path(__file__).parent / "keeper.py"
_WARM = f"{__name__}.warm"
_OUTPUT = "output.txt"
_END_SECONDS = 1.0
"""What a killed process may take to be gone; one that hangs in a driver is not waited for."""


class KeptProcess:
    """A process that a keeper keeps (`keeper.py`), with all that it starts.

    Args:
        start: has a keeper started that talks to this end of a socket.
        starter: exit code of the process that was to start the keeper, if that is gone.

    Raises:
        OSError: the process cannot be started.
        Interrupted: the run is being stopped.
    """

    def __init__(
        self,
        start: Callable[[socket.socket], None],
        starter: Callable[[], int | None] = lambda: None,
    ):
        stopping.check()
        self._socket, theirs = socket.socketpair()
        self._said = b""
        self._exit_code: int | None = None
        try:
            with theirs:
                start(theirs)
            with _lock:
                _running.add(self)
            while not self._said and self._exit_code is None:
                self._listen(stopping.TICK_SECONDS)
            if not self.has_begun:
                self._exit_code = starter() or self._exit_code
            started = self._said.partition(b"\n")[0]
            if started not in (b"ok", b""):
                raise OSError(int(started), os.strerror(int(started)))
        except BaseException:
            self.end()
            raise

    @property
    def has_begun(self) -> bool:
        """Whether it was started; not if who was to start it is gone."""
        return bool(self._said)

    @property
    def exit_code(self) -> int | None:
        """As `subprocess` has it: negative for a signal; None while it runs."""
        self._listen(0)
        return self._exit_code

    def _listen(self, seconds: float) -> None:
        """Waits for what the keeper says (`keeper.py`)."""
        if self._exit_code is not None:
            return
        try:
            self._socket.settimeout(seconds)
            reply = self._socket.recv(64)
        except (BlockingIOError, TimeoutError):
            return
        except OSError:  # closed, or the keeper was killed
            reply = b""
        self._said += reply
        _, _, status = self._said.partition(b"\n")
        if not reply or status.endswith(b"\n"):
            self._exit_code = int(status or -signal.SIGKILL)

    def wait(self, seconds: float) -> int | None:
        """Its exit code; None if it runs for longer.

        Raises:
            Interrupted: the run is being stopped, so how it ended says nothing.
        """
        self._until_gone(seconds)
        stopping.check()
        return self._exit_code

    def _until_gone(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.exit_code is None and time.monotonic() < deadline:
            self._listen(stopping.TICK_SECONDS)

    def end(self) -> None:
        """Ends it with all that it started.

        What is not gone after a second is left to the keeper, which is never killed: without it
        it would not be known what the process has started.
        """
        self.kill()
        self._until_gone(_END_SECONDS)
        self._socket.close()
        with _lock:
            _running.discard(self)

    def kill(self) -> None:
        """Kills it with all that it started, and does not wait."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)


def _start(
    arguments: Sequence[str],
    theirs: socket.socket,
    cwd: Path,
    environment: Mapping[str, str],
    output: IO[bytes] | int,
) -> subprocess.Popen[bytes]:
    """A Python in a new session, which has the other end of a socket."""
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=cwd, env=dict(environment), stdin=subprocess.DEVNULL,
        stdout=output, stderr=subprocess.STDOUT, pass_fds=(theirs.fileno(),),
        start_new_session=True,
    )  # fmt: skip


class Child(KeptProcess):
    """A command that runs, with all that it starts.

    Args:
        command: as the user would type it.
        cwd: where it runs.
        environment: all of it.
        output: an open file for what it prints.

    Raises:
        OSError: it cannot be started.
        ValueError: it holds a NUL character.
        Interrupted: the run is being stopped.
    """

    def __init__(
        self, command: Sequence[str], cwd: Path, environment: Mapping[str, str], output: IO[bytes]
    ):
        self.command = tuple(command)

        def start(theirs: socket.socket) -> None:
            keeper = ["-IS", str(_KEEPER), str(theirs.fileno()), *command]
            self._keeper = _start(keeper, theirs, cwd, environment, output)

        try:
            super().__init__(start)
        except OSError as error:
            raise OSError(error.errno, error.strerror, error.filename or command[0]) from None

    def end(self, patience_seconds: float = 0.0) -> None:
        """Ends it with all that it started; it may be asked and waited for first."""
        try:
            if patience_seconds:
                with suppress(ProcessLookupError):
                    self._keeper.send_signal(signal.SIGTERM)
                self.wait(patience_seconds)
        finally:  # a signal, too
            super().end()
            if hasattr(self, "_keeper"):
                with suppress(subprocess.TimeoutExpired):
                    self._keeper.wait(_END_SECONDS)


class Warm:
    """A process that has imported what calls need; each call is a fork of it (`warm.py`).

    Args:
        folder: an empty one, where its Python looks for modules first: not among the user's.
        environment: all of it.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]):
        self._socket, theirs = socket.socketpair()
        with theirs:
            module = ["-m", _WARM, str(theirs.fileno())]
            self._process = _start(module, theirs, folder, environment, subprocess.DEVNULL)

    @property
    def is_running(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def prepare(self, function: str) -> None:
        """Has the module of `module:name` imported, and does not wait."""
        with suppress(OSError):  # it is gone
            self._socket.sendall(f"{function}\n".encode())

    def call(self, folder: Path, function: str, output: IO[bytes]) -> KeptProcess:
        """Starts a call; its request lies in the folder."""

        def start(theirs: socket.socket) -> None:
            asked = f"{function}\0{folder}\n".encode()
            with suppress(OSError), _lock:  # gone: so the call is, too
                socket.send_fds(self._socket, [asked], [theirs.fileno(), output.fileno()])

        return KeptProcess(start, self._exit_code)

    def _exit_code(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(_END_SECONDS)
        return None

    def close(self) -> None:
        """Ends it; not the calls."""
        self._socket.close()


_warm: dict[frozenset[tuple[str, str]], Warm] = {}
_MOST_WARM = 3
_DIFFERS = ("TMPDIR", "PYTEST_CURRENT_TEST")
"""What differs between calls, and is ignored by what they import."""


def _warm_for(
    environment: Mapping[str, str], folder: Path, dead: Warm | None = None
) -> tuple[Warm, bool]:
    """The process for calls in an environment, and whether it is new; the last few are kept.

    Args:
        environment: of the calls.
        folder: as of `Warm`.
        dead: not this one.
    """
    same = {name: text for name, text in environment.items() if name not in _DIFFERS}
    key = frozenset(same.items())
    with _lock:
        warm = _warm.pop(key, None)
        is_new = warm is None or warm is dead or not warm.is_running
        if warm is None or is_new:
            warm = Warm(folder, same)
        _warm[key] = warm
        while len(_warm) > _MOST_WARM:
            _warm.pop(next(iter(_warm))).close()
    return warm, is_new


def prepare(function: str, environment: Mapping[str, str] = {}) -> None:
    """Has what a call will need imported while something else is done; see `call`."""
    with temporary_folder("prepare") as folder:
        _warm_for({**os.environ, **environment}, folder)[0].prepare(function)


_running: set[KeptProcess] = set()
_lock = threading.Lock()


def kill_all() -> None:
    """Kills the children of all threads, and does not wait."""
    for child in tuple(_running):
        child.kill()


def wait_for_all(seconds: float) -> None:
    """Waits until the children that were killed are gone, at most so long."""
    deadline = time.monotonic() + seconds
    while any(child.exit_code is None for child in tuple(_running)):
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


stopping.on_stop(kill_all)


def clean_up() -> None:
    """Before this process ends otherwise than by itself: no child and no temporary file is left."""
    wait_for_all(_END_SECONDS)
    remove_temporary()
    sys.stdout.flush()
    sys.stderr.flush()


def leave(exit_code: int) -> NoReturn:
    """Ends this process after an interrupted run: its children and temporary files are gone.

    At once, as Python would wait for the threads that were left to themselves (`stopping.ahead`).
    """
    clean_up()
    os._exit(exit_code)


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        exit_code: as `subprocess` has it: negative for a signal; None if it took too long.
        output: all that it printed.
    """

    exit_code: int | None
    output: str

    def last_lines(self, count: int) -> tuple[str, ...]:
        """The end of what it printed, for an error message."""
        return tuple(line for line in self.output.splitlines() if line.strip())[-count:]


def run(
    command: Sequence[str],
    *,
    cwd: Path = Path(),
    environment: Mapping[str, str] = os.environ,
    limit_seconds: float = 600.0,
) -> Ended:
    """Runs a command to its end, or ends it after some time; a tool that takes longer hangs.

    Raises:
        OSError: it cannot be started.
        Interrupted: the run is being stopped.
    """
    with temporary_folder("output") as folder:
        return _until_ended(
            folder,
            limit_seconds,
            lambda output: Child(command, cwd=cwd, environment=environment, output=output),
        )


def _until_ended(
    folder: Path, limit_seconds: float, start: Callable[[IO[bytes]], KeptProcess]
) -> Ended:
    log = folder / _OUTPUT
    with log.open("wb") as output:
        child = start(output)
    try:
        exit_code = child.wait(limit_seconds)
    finally:
        child.end()
    return Ended(exit_code, log.read_text(encoding="utf-8", errors="replace"))


class CallError(Exception):
    """The child process of a call gave no answer.

    Attributes:
        ended: how it ended.
        stage: what it was doing, if it called `warm.begin`.
    """

    def __init__(self, ended: Ended, stage: str):
        super().__init__()
        self.ended = ended
        self.stage = stage

    @property
    def too_late(self) -> bool:
        """Whether it took too long."""
        return self.ended.exit_code is None

    @property
    def how(self) -> str:
        """How it ended, as text: `was ended by SIGSEGV`."""
        code = self.ended.exit_code
        if code is None:
            return "took too long"
        return f"was ended by {signal_name(-code)}" if code < 0 else f"ended with exit code {code}"


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def call(
    function: str, request: object, *, environment: Mapping[str, str] = {}, limit_seconds: float
) -> Any:
    """Calls a function in a child process, because a user's kernel may crash or hang.

    Args:
        function: `module:name`; it is given the request and an empty folder, which is also where
            temporary files of the child go.
        request: what can be pickled; so must be what the function returns.
        environment: what differs from ours.
        limit_seconds: after this the child is killed.

    Raises:
        CallError: the child died or took too long.
        Interrupted: the run is being stopped.
        SwizzleError: the function raised it.
    """
    answers, error = _answers(function, request, environment, limit_seconds)
    if not answers:
        raise error
    return answers[0]


def call_each(
    function: str, request: object, *, environment: Mapping[str, str] = {}, limit_seconds: float
) -> tuple[list[Any], CallError | None]:
    """Calls a function that yields, as `call` does.

    Returns:
        What it has yielded; and why that may not be all, None if it came to its end.
    """
    answers, error = _answers(function, request, environment, limit_seconds)
    return answers, error if error.ended.exit_code != 0 else None


def _answers(
    function: str, request: object, environment: Mapping[str, str], limit_seconds: float
) -> tuple[list[Any], CallError]:
    """All answers, and how the child ended as an error."""
    with temporary_folder(function.rpartition(":")[2]) as folder:
        (folder / REQUEST).write_bytes(pickle.dumps(request))

        def start(output: IO[bytes]) -> KeptProcess:
            warm, is_new = _warm_for({**os.environ, **environment}, folder)
            started = warm.call(folder, function, output)
            if not (started.has_begun or is_new):  # it had just died of something else
                started.end()
                warm, _ = _warm_for({**os.environ, **environment}, folder, warm)
                started = warm.call(folder, function, output)
            return started

        ended = _until_ended(folder, limit_seconds, start)
        stage = folder / STAGE
        error = CallError(ended, stage.read_text() if stage.exists() else "")
        answers = []
        if (folder / ANSWERS).exists():
            with (
                (folder / ANSWERS).open("rb") as stream,
                suppress(EOFError, pickle.UnpicklingError),  # the last may be cut off
            ):
                while True:
                    answers.append(pickle.load(stream))
    for kind, value in answers:
        if kind == RAISED:
            raise value
    return [value for _, value in answers], error


REQUEST, ANSWERS, STAGE = "request.pickle", "answers.pickle", "stage"
"""Files of a call."""
RETURNED, RAISED = "returned", "raised"


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Result = TypeVar("Result")


def on_all_cores(work: Callable[..., Result], *items: Iterable[Any]) -> list[Result]:
    """What a function returns for each of some items, as `map` has them; a thread for each core."""
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(work, *items))
