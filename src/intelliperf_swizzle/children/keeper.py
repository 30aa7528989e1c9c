# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Keeps a command: `python -IS keeper.py SOCKET COMMAND ...`; nothing of it outlives its caller.

All that the command starts is a descendant of this process, also what left the process group or
lost its parent. When the command has ended, or the caller's end of the socket is closed (as by
SIGKILL), they are all killed. Two lines are written to the socket: `ok`, or the number of the error
that kept the command from starting; in the end its exit code, negative for a signal. SIGTERM is
passed on to the command.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_PR_SET_CHILD_SUBREAPER = 36
_PAUSE_SECONDS = 0.01


def main() -> NoReturn:
    """Runs the command to its end."""
    kept = list[subprocess.Popen[bytes]]()  # one that Python deletes takes the status along

    def start() -> int:
        kept.append(subprocess.Popen(sys.argv[2:], start_new_session=True))
        return kept[0].pid

    keep(socket.socket(fileno=int(sys.argv[1])), start)


def keep(caller: socket.socket, start: Callable[[], int]) -> NoReturn:
    """Starts a process, says so, and waits until it and all that it started are gone."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not ignored: the command would inherit that
    _adopt_orphans()
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    try:
        command = start()
    except OSError as error:
        caller.send(b"%d\n" % (error.errno or 0))
        sys.exit(127)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(command, signal.SIGTERM))
    if asked.is_set():
        os.kill(command, signal.SIGTERM)
    _say(caller, "ok")
    threading.Thread(target=_kill_when_left, args=(caller,), daemon=True).start()
    _say(caller, str(os.waitstatus_to_exitcode(_wait_for_all(command))))
    os._exit(0)


def _say(caller: socket.socket, text: str) -> None:
    with suppress(OSError):  # the caller is gone
        caller.send(f"{text}\n".encode())


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _kill_when_left(caller: socket.socket) -> None:
    caller.recv(1)
    _kill_all()


def _wait_for_all(command: int) -> int:
    """The command's status, once it and all that it started are gone."""
    status = 0
    while True:
        try:
            child, ended = os.waitpid(-1, 0)
        except ChildProcessError:
            return status
        if child == command:
            status = ended
            threading.Thread(target=_kill_all, daemon=True).start()


def _kill_all() -> NoReturn:
    """Kills all descendants again and again: some may be starting others just now."""
    while True:
        for child in _descendants():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            parent = stat.read_bytes().rpartition(b")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(stat.parent.name))
    found, unvisited = [], [os.getpid()]
    while unvisited:
        below = children.get(unvisited.pop(), [])
        found += below
        unvisited += below
    return found


if __name__ == "__main__":
    main()
