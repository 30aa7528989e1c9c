# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run's folder: locked against other runs, with the history of its attempts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from intelliperf_swizzle import __version__
from intelliperf_swizzle.disk import FolderLock, remove_partial
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.history import History, read_identity
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.records import Trace
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject

HISTORY = "history.jsonl"
MOST_NAMESAKES = 100
"""Kernels of one name that have a folder each; the last one is shared."""


def kernel_folder(folder: Path, setup: Setup, subject: Subject) -> Path:
    """The folder of a kernel's files, or `<folder>-2`, … if another kernel has that one.

    A kernel of the same name in another source file, or of another script, is another one.
    """
    ours = _application(folder.parent, setup, subject)
    names = [folder.name, *(f"{folder.name}-{n}" for n in range(2, MOST_NAMESAKES))]
    for name in names:
        if read_identity(folder.with_name(name) / HISTORY).get("application", ours) == ours:
            break
    return folder.with_name(name)


def _application(folder: Path, setup: Setup, subject: Subject) -> list[str]:
    """Whose kernel it is: its file and the script, seen from a folder that may move with them."""
    files = (subject.launches[0].source.entry.file, setup.script)
    return [os.path.relpath(file, folder.resolve()) if file else "" for file in files]


@contextmanager
def lock_folder(folder: Path, subject: Subject) -> Iterator[FolderLock]:
    """Keeps other runs from an output folder, also after the block if nothing fails in it.

    What a killed run left beside the kernel's files is removed.

    Raises:
        UsageError: another run is writing there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FolderLock(folder)
    except BlockingIOError:
        raise UsageError(
            f"another run is writing to {folder}", hint="name another folder with --report_dir"
        ) from None
    try:
        for function in subject.launches[0].source.functions.values():
            remove_partial(Path(function.file))
        yield lock
    except BaseException:
        lock.release()
        raise


@contextmanager
def open_history(
    setup: Setup, subject: Subject, proposers: Sequence[Proposer], folder: Path, progress: Progress
) -> Iterator[History]:
    """The run's history file, new or resumed; closed at the end."""
    options = setup.options
    path = Path(options.history or folder / HISTORY)
    resumable = path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    identity = {
        **_identity(setup, subject, proposers),
        "application": _application(folder.parent, setup, subject),
    }
    history = History(path, identity, resume=options.resume)
    if options.resume:
        progress.note(_resumed(history) if resumable else f"nothing to resume: there is no {path}")
    try:
        yield history
    finally:
        history.close()


def name_proposers(proposers: Sequence[Proposer]) -> str:
    """As `--proposer` takes it."""
    return proposers[0].name if len(proposers) == 1 else "both"


def _resumed(history: History) -> str:
    count = len(history.attempts)
    return f"resuming {history.path}: {count} attempt{'' if count == 1 else 's'} taken over"


def _identity(setup: Setup, subject: Subject, proposers: Sequence[Proposer]) -> dict[str, Any]:
    """All that an attempt's numbers and verdict follow from: with another, none can be resumed."""
    source = subject.launches[0].source.functions.values()
    return {
        "version": __version__,
        "kernel": subject.kernel,
        "source": _digest("".join(one.text for one in source).encode()),
        "launches": [[*one.numbers, *map(list, one.constants.items())] for one in subject.launches],
        "accesses": [_digest_accesses(one.trace) for one in subject.traced],
        "target": [setup.target.name, _digest(repr(setup.target).encode())],
        "profiler": setup.profiler.name if setup.profiler else "model",
        "device": setup.device.product if setup.device else None,
        "proposer": name_proposers(proposers),
        "formula": setup.formula.name,
        "tolerance": setup.options.accordo_absolute_tolerance,
        "unittest_command": setup.options.unittest_command,
        "seed": setup.options.seed,
    }


def _digest_accesses(trace: Trace) -> str:
    """What a launch touches; it follows from strides, dtypes and data too."""
    arrays = (trace.tile_offset, trace.access_base, trace.access_shape, trace.shape_offset,
              trace.shape_line, trace.shape_sectors, trace.shape_kind)  # fmt: skip
    return _digest(*(array.tobytes() for array in arrays))


def _digest(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
