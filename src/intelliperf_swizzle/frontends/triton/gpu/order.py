# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the application's process is asked to try, and how it reports the outcome.

The order is a pickle in the folder that the application is started with. The answers are lines of
the journal, as `trials.processes` has them.
"""

import fcntl
import os
import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.frontends.trials.journal import Known
from intelliperf_swizzle.frontends.triton.capture import addresses
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch
from intelliperf_swizzle.records import Launch, UInt8Array

_FILE = "order.pickle"
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Task:
    """A recorded launch at which candidates are tried.

    Attributes:
        launch: as it was recorded.
        read: numbers of the storages that it reads, atomics included.
        written: of those that it writes.
        summed: of those that programs update with atomics in any order; compared within the
            tolerance, where they hold floats.
    """

    launch: Launch
    read: frozenset[int]
    written: frozenset[int]
    summed: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Order:
    """The work of one process.

    Attributes:
        tasks: the launches.
        candidates: function key -> text with the swizzle in it, by the candidate's number.
        known: what need not be tried any more.
        race_seconds: for the times of all tasks together; 0 = none are taken.
        run_seconds: what a candidate may take in any case.
        cache_bytes: of all caches of the GPU; times are taken over more than that.
        tolerance: absolute and relative, for summed floats.
        repeats: in a replay without an agent, how often each launch is made with each candidate.
    """

    tasks: tuple[Task, ...]
    candidates: Mapping[int, Mapping[str, str]]
    known: Known = field(default_factory=Known)
    race_seconds: float = 0.0
    run_seconds: float = 0.0
    cache_bytes: int = 0
    tolerance: float = 0.0
    repeats: int = 0

    def task_of(self, live: DescribedLaunch) -> int | None:
        """The number of the task that a launch is; contents distinguish those of one form."""
        found = form(live.launch)
        alike = [number for number, task in enumerate(self.tasks) if form(task.launch) == found]
        if len(alike) < 2:
            return next(iter(alike), None)
        held = {n: addresses.canonical(live.launch, live.contents(n)) for n in live.integers}
        for number in alike:
            recorded = self.tasks[number].launch
            if all(_holds(recorded, n, content) for n, content in held.items()):
                return number
        return None


def save_order(order: Order, folder: Path) -> None:
    """Writes it; the process may have been started before."""
    written = folder / f"{_FILE}.new"
    written.write_bytes(pickle.dumps(order))
    written.replace(folder / _FILE)


def take_gpu(folder: Path, *, alone: bool) -> None:
    """Waits until the GPU is free, and has it until this process ends: alone, or with others of the
    same kind, as an application may have several processes."""
    lock = os.open(folder.parent / "gpu-lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)


def load_order(folder: Path) -> Order:
    """Reads it in the application, as soon as it is there; ends that if it never will be."""
    while not (folder / _FILE).exists():
        if not folder.exists():
            os._exit(0)
        time.sleep(_POLL_SECONDS)
    order: Order = pickle.loads((folder / _FILE).read_bytes())
    return order


def form(launch: Launch) -> Any:
    """Equal for two launches that differ at most in what their tensors hold."""
    entry = launch.source.entry
    where = launch.kernel, entry.file, entry.first_line, launch.grid
    sizes = {number: storage.bytes for number, storage in launch.storages.items()}
    return *where, addresses.arguments_without_addresses(launch), dict(launch.options), sizes


def _holds(launch: Launch, number: int, contents: UInt8Array) -> bool:
    """Whether that is what a storage of a recorded launch held."""
    recorded = launch.storages[number].contents
    return recorded is not None and np.array_equal(
        addresses.canonical(launch, np.load(recorded)), contents
    )
