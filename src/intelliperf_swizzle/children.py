# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Child processes that run a user's kernel: with a time limit, and none outlives its parent."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

_running: set[subprocess.Popen[str]] = set()
_lock = threading.Lock()
_PR_SET_PDEATHSIG = 1


def run_child(
    module: str, folder: Path, *, environment: Mapping[str, str], limit_seconds: float
) -> subprocess.CompletedProcess[str] | None:
    """Runs `python -m module folder` in that folder; None if it did not end in time.

    The folder is the working directory because Python looks there for modules first, and must not
    find the user's.
    """
    with subprocess.Popen(
        [sys.executable, "-m", __name__, str(os.getpid()), module, str(folder)],
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as child:
        with _lock:
            _running.add(child)
        try:
            out, err = child.communicate(timeout=limit_seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            child.kill()
            with _lock:
                _running.discard(child)
    return subprocess.CompletedProcess(child.args, child.returncode, out, err)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Inside, SIGINT and SIGTERM kill the children, whichever thread waits for one, and interrupt.

    A signal that is ignored (as in a background job) stays so.

    Raises:
        KeyboardInterrupt: on either signal.
    """
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
    before = [signal.signal(number, _interrupt) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _interrupt(number: int, frame: object) -> NoReturn:
    for child in list(_running):
        child.kill()
    raise KeyboardInterrupt


def main() -> None:
    """In the child: runs the module, and is killed when the thread that started it is gone.

    That is asked for before anything is loaded, so that no import outlives the parent (on Linux).
    """
    parent, module, *arguments = sys.argv[1:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            return
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
