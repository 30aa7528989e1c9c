# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Child processes: started, waited for and ended in one way, and none outlives this process.

Each is kept by `keeper`, which kills all that the command has started when it ends, when it is
told to, and when this process is gone.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from intelliperf_swizzle import stopping
from intelliperf_swizzle.disk import remove_temporary, temporary_folder

_KEEPER = Path(__file__).parent / "keeper.py"
_CALLED = f"{__name__}.called"
_END_SECONDS = 1.0
"""What a killed process may take to be gone; one that hangs in a driver is not waited for."""


class Child:
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
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str],
        environment: Mapping[str, str],
        output: IO[bytes],
    ):
        stopping.check()
        self.command = tuple(command)
        self._socket, theirs = socket.socketpair()
        try:
            with theirs:
                self._keeper = subprocess.Popen(
                    [sys.executable, "-IS", str(_KEEPER), str(theirs.fileno()), *command],
                    cwd=cwd,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            with _lock:
                _running.add(self)
            said = self._socket.recv(16)
            if said not in (b"ok", b""):
                raise OSError(int(said), os.strerror(int(said)), self.command[0])
        except BaseException:
            if hasattr(self, "_keeper"):
                self.end()
            self._socket.close()
            raise

    @property
    def exit_code(self) -> int | None:
        """As `subprocess` has it: negative for a signal; None while it runs."""
        return self._keeper.poll()

    def wait(self, seconds: float) -> int | None:
        """Its exit code; None where it runs for longer.

        Raises:
            Interrupted: the run is being stopped, so how it ended says nothing.
        """
        self._until_gone(seconds)
        stopping.check()
        return self.exit_code

    def _until_gone(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with suppress(ConnectionError, subprocess.TimeoutExpired):
            while not self._is_gone():
                if time.monotonic() >= deadline:
                    return
            self._keeper.wait(_END_SECONDS)

    def _is_gone(self) -> bool:
        """Looks for a moment: nothing is sent, so what can be received is the end."""
        self._socket.settimeout(stopping.TICK_SECONDS)
        with suppress(TimeoutError):
            self._socket.recv(1)
            return True
        return False

    def ask(self) -> None:
        """Asks the command to end (SIGTERM)."""
        with suppress(ProcessLookupError):
            self._keeper.send_signal(signal.SIGTERM)

    def end(self, patience_seconds: float = 0.0) -> None:
        """Ends it with all that it started; it may be asked and waited for first.

        What is not gone after a second is left to the keeper, which is never killed: without it
        nobody would know what the command has started.
        """
        try:
            if patience_seconds:
                self.ask()
                self.wait(patience_seconds)
        finally:  # a signal, too
            self.kill()
            self._until_gone(_END_SECONDS)
            self._socket.close()
            with _lock:
                _running.discard(self)

    def kill(self) -> None:
        """Kills it with all that it started, and does not wait."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)


_running: set[Child] = set()
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

    At once, as Python would wait for the threads that were left to themselves (`stopping.apart`).
    """
    clean_up()
    os._exit(exit_code)


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        exit_code: as `subprocess` has it: negative for a signal; None where it took too long.
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
    cwd: str | os.PathLike[str],
    environment: Mapping[str, str],
    limit_seconds: float,
) -> Ended:
    """Runs a command to its end, or ends it after some time.

    Raises:
        OSError: it cannot be started.
        Interrupted: the run is being stopped.
    """
    with temporary_folder("output") as folder:
        log = folder / "output.txt"
        with log.open("wb") as output:
            child = Child(command, cwd=cwd, environment=environment, output=output)
        try:
            exit_code = child.wait(limit_seconds)
        finally:
            child.end()
        return Ended(exit_code, log.read_text(encoding="utf-8", errors="replace"))


class CallError(Exception):
    """The child process of a call gave no answer.

    Attributes:
        ended: how it ended.
        stage: what it was doing, where it said so with `called.begin`.
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
        """How it ended, in words: `was ended by SIGSEGV`."""
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
        (folder / REQUEST).write_bytes(pickle.dumps((function, request)))
        ended = run(
            [sys.executable, "-m", _CALLED, str(folder)],
            cwd=folder,  # Python looks there for modules first, and must not find the user's
            environment={**os.environ, "TMPDIR": str(folder), **environment},
            limit_seconds=limit_seconds,
        )
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
