# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""SIGINT, SIGTERM and a limit end a run within two seconds, whatever it is doing.

A command line opens `stopped_by_signals`. There the first signal kills all child processes and
raises `Interrupted` in the main thread, and the second ends the process. Python runs a signal's
handler in the main thread only, and only between two of its instructions: so what computes for
long, or waits in a thread pool or for a server, is called by `interruptibly`. The kernel may hand a
signal to another thread, which wakes no other: so the main thread waits `TICK_SECONDS` at a time.
"""

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

TICK_SECONDS = 0.2
"""What a signal may go unnoticed by a main thread that waits."""

Result = TypeVar("Result")

abandoned = threading.Event()
"""Set once a thread was left to itself, as there was no time to wait for it."""

_on_stop: list[Callable[[], None]] = []
_stopped: "Interrupted | None" = None
_holding = False


_end, _begun, _seconds = 0.0, 0.0, 0.0
"""Of a run with a limit, and of the part of it that is on; 0 = there is no limit."""


class Interrupted(KeyboardInterrupt):
    """A signal asks the run to end, or its limit is reached.

    Attributes:
        number: of the signal; SIGALRM at the limit.
        exit_code: that a shell knows it by; 0 where the limit ended a run that has results.
    """

    def __init__(self, number: int):
        limit = number == signal.SIGALRM
        name = signal.Signals(number).name
        super().__init__("ended at --seconds" if limit else f"interrupted by {name}")
        self.number = number
        self.exit_code = 124 if limit else 128 + number


def limit(seconds: float | None) -> None:
    """Has the run end after that many seconds, if any, as at a signal; where no thread waits
    for signals it is only paced."""
    global _end
    _end = time.monotonic() + seconds if seconds else 0.0
    begin_part(1)
    if seconds and signal.getsignal(signal.SIGTERM) is _stop:
        signal.signal(signal.SIGALRM, _stop)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def begin_part(share: float) -> None:
    """The next part of the run begins, which may take that share of what is left."""
    global _begun, _seconds
    _begun = time.monotonic()
    _seconds = (_end - _begun) * share


def spent(share: float) -> bool:
    """Whether that share of the part's time is over; False if there is no limit."""
    return left(share) == 0.0


def left(share: float) -> float | None:
    """Seconds until that share of the part's time is over; None if there is no limit."""
    return max(0.0, _begun + share * _seconds - time.monotonic()) if _end else None


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Inside, SIGINT and SIGTERM stop the run; of the main thread.

    A signal that is ignored (as in a background job) stays so.

    Raises:
        Interrupted: on the first signal; the second ends the process.
    """
    global _stopped, _holding, _end
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
    before = [signal.signal(number, _stop) for number in numbers]
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        _stopped, _holding, _end = None, False, 0.0


def _stop(number: int, frame: object) -> None:
    global _stopped
    if _stopped is not None:
        os._exit(128 + number)
    _stopped = Interrupted(number)
    for end in _on_stop:
        end()
    if not _holding:
        raise _stopped


def on_stop(end: Callable[[], None]) -> None:
    """Has a function called when a signal stops the run; it must not wait."""
    _on_stop.append(end)


def check() -> None:
    """Raises Interrupted where the run is being stopped; so no thread goes on by itself."""
    if _stopped is not None:
        raise _stopped


def defer_signals() -> None:
    """The run ends by itself now, with files that belong together: a first signal only marks it."""
    global _holding
    _holding = True


def interruptibly(work: Callable[[], Result]) -> Result:
    """Calls a function in a thread that is left to itself if a signal comes.

    Only the main thread gets signals: in any other the function is just called.

    Raises:
        Interrupted: a signal came; the thread may still be running.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    return ahead(work)()


def ahead(work: Callable[[], Result]) -> Callable[..., Result]:
    """Begins a function in a new thread; what waits for it, as often as it is called, and
    raises what it raises, or TimeoutError after that many seconds as it is given."""
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # whatever it is, it belongs to the caller
            outcome.set_exception(error)

    def wait(seconds: float | None = None) -> Result:
        end = math.inf if seconds is None else time.monotonic() + seconds
        while thread.is_alive():
            if time.monotonic() > end:
                abandoned.set()
                raise TimeoutError
            thread.join(TICK_SECONDS)
        return outcome.result()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return wait
