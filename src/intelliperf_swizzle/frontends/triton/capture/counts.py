# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How often each record was launched: files that processes map into their memory.

What is captured into a CUDA graph is launched when that is replayed.

A count costs a fraction of a microsecond, and the kernel of the system keeps it however the
process ends. Each process has a separate file; a fork begins another one.
"""

import mmap
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

_FOLDER = "counts"
_NAMES, _NUMBERS = ".names", ".numbers"
_PAGE = mmap.ALLOCATIONGRANULARITY // 8  # numbers that are mapped at once
_captured: list[list[Callable[[], object]]] = []
"""What the graph that is being captured, if any, does at each replay."""


class LaunchCounts:
    """The counts of one process.

    Args:
        folder: of the capture.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self._file: Path | None = None
        self._names: list[str] = []
        self._pages: list[memoryview] = []
        self._watching = False
        self.watch()
        os.register_at_fork(after_in_child=self._begin_again)

    def counter(self, name: str) -> int:
        """The number of a new counter for a record.

        Raises:
            OSError: it cannot be written.
        """
        if self._file is None:
            self._file = _new_file(self._folder)
        if len(self._names) == len(self._pages) * _PAGE:
            self._pages.append(_map(self._file.with_suffix(_NUMBERS), len(self._pages)))
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(f"{name}\n")
        self._names.append(name)
        return len(self._names) - 1

    def add(self, counter: int) -> None:
        """Counts one launch; no other thread gets between reading and writing."""
        self._pages[counter // _PAGE][counter % _PAGE] += 1

    def count(self, counter: int, again: Callable[[], object] | None = None) -> None:
        """Counts a launch; what goes into a graph is counted, or made `again`, by its replays."""
        if not replays(again or partial(self.add, counter)):
            self.add(counter)

    def watch(self) -> None:
        """From now on sees captures and replays, if torch has been imported."""
        if self._watching or "torch" not in sys.modules:
            return
        self._watching = True
        import torch

        graph = torch.cuda.CUDAGraph
        begin, end, replay = graph.capture_begin, graph.capture_end, graph.replay
        held = "_intelliperf_swizzle_launches"

        def capture_begin(self_: object, *args: Any, **kwargs: Any) -> None:
            begin(self_, *args, **kwargs)
            _captured[:] = [[]]
            setattr(self_, held, _captured[0])

        def capture_end(self_: object) -> None:
            _captured.clear()
            end(self_)

        def replayed(self_: object) -> None:
            replay(self_)
            for launched in getattr(self_, held, ()):
                launched()

        graph.capture_begin, graph.capture_end, graph.replay = capture_begin, capture_end, replayed

    def _begin_again(self) -> None:
        """The child of a fork has made no launch yet."""
        names, self._names, self._pages, self._file = self._names, [], [], None
        for name in names:
            self.counter(name)


def replays(again: Callable[[], object]) -> bool:
    """Has the graph that is being captured do something `again` at each replay; whether one is."""
    captured = bool(_captured) and is_capturing()
    if captured:
        _captured[0].append(again)
    return captured


def is_capturing() -> bool:
    """Whether launches go into a graph now."""
    import torch

    return bool(torch.cuda.is_current_stream_capturing())


def _new_file(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    descriptor, file = tempfile.mkstemp(_NAMES, f"{os.getpid()}-", folder)
    os.close(descriptor)
    return Path(file)


def _map(file: Path, page: int) -> memoryview:
    """The next page of a file; its space is taken now, since a full disk must not show later."""
    size = _PAGE * 8
    with file.open("ab+") as stream:
        stream.write(bytes(size))
        stream.flush()
        return memoryview(mmap.mmap(stream.fileno(), size, offset=page * size)).cast("Q")


def read_counts(folder: Path) -> Counter[str]:
    """How often each record was launched by all processes of a capture."""
    counted: Counter[str] = Counter()
    for file in (folder / _FOLDER).glob(f"*{_NAMES}"):
        numbers = np.zeros(0, np.uint64)
        if file.with_suffix(_NUMBERS).exists():  # on a full disk it was not begun
            numbers = np.fromfile(file.with_suffix(_NUMBERS), np.uint64)
        names = file.read_text(encoding="utf-8").splitlines()
        for name, number in zip(names, numbers.tolist(), strict=False):
            counted[name] += number
    return counted
