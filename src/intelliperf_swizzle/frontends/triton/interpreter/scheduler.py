# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Programs one after the other on one core; one that waits for another lets the others run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

MOST_WAITING_PROGRAMS = 4096
"""Each waiting program holds a thread; more than this is taken for a kernel that cannot end."""


class DeadlockError(Exception):
    """A program waits for memory that no remaining program changes."""


class Scheduler:
    """Runs programs as coroutines: exactly one runs at any time.

    Without waiting, all programs run in order on the caller's thread. A program that polls memory
    in vain calls `wait`: its thread is parked and another goes on, first with programs that have
    not begun, then with parked ones, in the order of parking.
    """

    def __init__(self, programs: Iterable[int], run: Callable[[int], None]) -> None:
        self._pending = deque(programs)
        self._run = run
        self._parked: deque[threading.Semaphore] = deque()
        self._vain_waits = 0
        self._failure: BaseException | None = None
        self._done = threading.Event()
        self.current = -1
        self.waited = False

    def run_all(self) -> None:
        """Run every program to its end.

        Raises:
            DeadlockError: all programs that are left wait, and nobody changes memory.
        """
        self._work()
        self._done.wait()
        if self._failure is not None:
            raise self._failure

    def memory_changed(self) -> None:
        """Note that a store or a successful atomic may end somebody's waiting."""
        self._vain_waits = 0

    def wait(self) -> None:
        """Let others run; return when it is this program's turn again."""
        self.waited = True
        program, turn = self.current, threading.Semaphore(0)
        self._vain_waits += 1
        if not self._pending and self._vain_waits > len(self._parked) + 1:
            raise DeadlockError(f"program {program} waits and no program is left that could end it")
        if len(self._parked) >= MOST_WAITING_PROGRAMS:
            raise DeadlockError(f"more than {MOST_WAITING_PROGRAMS} programs wait at once")
        self._parked.append(turn)
        if self._pending:
            self._vain_waits = 0
            threading.Thread(target=self._work, daemon=True).start()
        else:
            self._parked.popleft().release()
        turn.acquire()
        self.current = program
        if self._failure is not None:
            raise _AbandonedError

    def _work(self) -> None:
        try:
            while self._pending and self._failure is None:
                self.current = self._pending.popleft()
                self._run(self.current)
                self._vain_waits = 0
        except _AbandonedError:
            pass
        except BaseException as failure:
            self._failure = self._failure or failure
        if self._parked:
            self._parked.popleft().release()
        else:
            self._done.set()


class _AbandonedError(Exception):
    """Ends a parked program after another one failed."""
