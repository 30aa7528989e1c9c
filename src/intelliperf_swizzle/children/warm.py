# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A process that has imported what calls need: `python -m …children.warm SOCKET`.

Triton and Numba take a second to import, and a run makes some ten calls. Nothing of a user's is
imported or run here, only in the forks. A line of the socket names a function, `module:name`: its
module is imported, and where a folder stands behind a NUL character, with a socket and an output
file, a fork keeps another fork, which performs the call.
"""

import importlib
import os
import pickle
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from intelliperf_swizzle.children import ANSWERS, RAISED, REQUEST, RETURNED, STAGE, keeper
from intelliperf_swizzle.errors import SwizzleError


def begin(folder: Path, stage: str) -> None:
    """Says what is being done, so that the caller knows whose fault a crash is."""
    (folder / STAGE).write_text(stage)


def answer(folder: Path, value: object, kind: str = RETURNED) -> None:
    """Answers the call, for a function that yields or cannot return."""
    with (folder / ANSWERS).open("ab") as stream:
        pickle.dump((kind, value), stream)


def perform(function: str, folder: Path) -> None:
    """Calls `module:name` with the request in the folder; writes what comes of it."""
    module, _, name = function.partition(":")
    request = pickle.loads((folder / REQUEST).read_bytes())
    try:
        value = getattr(importlib.import_module(module), name)(request, folder)
        for result in value if isinstance(value, Iterator) else (value,):
            answer(folder, result)
    except SwizzleError as error:
        answer(folder, error, RAISED)


_MOST_BYTES = 1 << 16


def main() -> NoReturn:
    """Serves until its caller is gone."""
    caller = socket.socket(fileno=int(sys.argv[1]))
    os.chdir("/")  # the folder that it was started in goes with the first call
    lines = b""
    files: list[int] = []
    while True:
        chunk, new, _, _ = socket.recv_fds(caller, _MOST_BYTES, 2)
        if not chunk:
            os._exit(0)
        lines, files = lines + chunk, files + new
        while b"\n" in lines:
            line, _, lines = lines.partition(b"\n")
            function, _, folder = line.decode().partition("\0")
            with suppress(Exception):  # the call says it
                importlib.import_module(function.partition(":")[0])
            if folder:
                theirs, output, *files = files
                if os.fork() == 0:
                    caller.close()
                    _keep_call(socket.socket(fileno=theirs), output, function, Path(folder))
                os.close(theirs)
                os.close(output)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _keep_call(caller: socket.socket, output: int, function: str, folder: Path) -> NoReturn:
    """In a fork with a new session: keeps another, which performs the call."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)

    def start() -> int:
        child = os.fork()
        if child == 0:
            caller.close()
            _perform(function, folder)
        return child

    keeper.keep(caller, start)


def _perform(function: str, folder: Path) -> NoReturn:
    """Performs the call as a Python process would that was started for it."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(folder)
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    exit_code = 1
    try:
        perform(function, folder)
        exit_code = 0
    except SystemExit as left:
        exit_code = left.code if isinstance(left.code, int) else int(left.code is not None)
        if isinstance(left.code, str):
            print(left.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


if __name__ == "__main__":
    main()
