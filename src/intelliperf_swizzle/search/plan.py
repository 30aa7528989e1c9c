# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The kernels of an application that were examined: which are searched, in what order, at what
cost.

Each has a folder, locked against other runs, with the history of its attempts.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from intelliperf_swizzle import __version__, disk, errors, hardware, readers, records
from intelliperf_swizzle.history import History, read_identity
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.rank import MODEL_RATE_ERROR
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.subject import Subject

LEAST_GAIN = 0.01
"""Headroom (rate) below which a kernel is not searched: what repeated measurements differ by."""

LEAST_SAVED = 0.05
"""Part of its modelled time that a kernel must be able to save, to be searched where the model's
error (`MODEL_RATE_ERROR`) is more than what is left below the ceiling."""

LEAST_SHARE = 0.005
"""Part of the time of all recorded kernels that a kernel must be able to save, to be searched
beside others; without a GPU as many times more as a replay of it has `CHEAP_LINES`."""

CHEAP_LINES = 25_000_000
"""Line accesses that cost about a tenth of a second; a batched GEMM has twenty times as many."""


FEWEST_CANDIDATES = 64
"""For a kernel that is searched at all: the patterns and a few steps of the search."""

SCREENED_LINES = 50_000_000_000
"""Line accesses that the candidates of a kernel may have together: 400 of a GEMM 8192³."""


@dataclass(frozen=True, eq=False)
class Search:
    """A kernel that is to be searched.

    Attributes:
        subject: the kernel.
        setup: of the run, with what this search may cost; without the GPU if nothing is searched.
        folder: name of its folder in the output folder.
    """

    subject: Subject
    setup: RunContext
    folder: str


def plan_searches(subjects: Sequence[Subject], setup: RunContext) -> list[Search]:
    """The kernels that are searched, the one that could save most time first.

    Each gets candidates in proportion to the time that it could save, at most `--candidates` and
    together about `--budget`. If none is worth a search, the first alone is there to say so.

    Args:
        subjects: all kernels that can be edited.
        setup: of the run.
    """
    ranked = rank_subjects(subjects, setup.target)
    total = sum(subject.time_ms for subject in ranked)
    worth = [subject for subject in ranked if is_promising(setup, subject)]
    if len(subjects) > 1 and total and not setup.options.all:
        worth = [s for s in worth if _could_save(s, setup) >= _least_share(s, setup) * total]
    chosen = worth or ranked[:1]
    savings = sum(_could_save(subject, setup) for subject in chosen)
    searches: list[Search] = []
    names: Counter[str] = Counter()
    for subject in chosen:
        part = _could_save(subject, setup) / savings if savings else 1 / len(chosen)
        names[subject.kernel] += 1
        number = f"-{names[subject.kernel]}" if names[subject.kernel] > 1 else ""
        own = _within_budget(setup, part, subject.line_accesses)
        if searches and setup.options.history:
            path = Path(setup.options.history)
            beside = path.with_name(f"{path.stem}.{subject.kernel}{number}{path.suffix}")
            own = replace(own, options=replace(own.options, history=str(beside)))
        if not is_promising(setup, subject):  # nothing is timed or counted
            own = replace(own, device=None, profiler=None)
        searches.append(Search(subject, own, subject.kernel + number))
    return searches


def rank_subjects(subjects: Sequence[Subject], target: hardware.Target) -> list[Subject]:
    """The kernels in the order of the time that they could save, then of the hits to gain.

    Those whose source cannot carry a swizzle come last.
    """
    ranked = sorted(subjects, key=lambda s: (-could_save_ms(s, target), -s.to_gain, s.kernel))
    return sorted(ranked, key=lambda s: s.refusal is not None)


def could_save_ms(subject: Subject, target: hardware.Target) -> float:
    """Modelled time of all launches that no permutation can save more of.

    What lies below the L2s is moved once for each miss, and at the ceiling of the hit rate there
    are fewer misses. What moves between L1 and L2 stays, and so does arithmetic. Without imbalance
    the last workgroup ends with all others.
    """
    rate, read = subject.baseline.l2_hit_rate, subject.baseline
    if read.modelled_memory_time_ms is None or read.l2_bytes is None or rate >= 1:
        return 0.0
    below_l2 = read.modelled_memory_time_ms - read.l2_bytes / (target.l2_gb_s * 1e6)
    moved = max(0.0, below_l2) * subject.headroom / (1 - rate)
    moved = min(moved, (read.modelled_time_ms or 0.0) - (read.arithmetic_time_ms or 0.0))
    return (moved + _uneven(subject) * (read.modelled_time_ms or 0.0)) * subject.untraced_factor


def is_promising(setup: RunContext, subject: Subject) -> bool:
    """Whether a search may find anything, by the model; always, if the kernel is asked for.

    Not if all misses are compulsory, or the hit rate is at its ceiling, or arithmetic takes
    clearly longer than memory, unless the formula does not rank by time or, on a GPU, the time is
    not known or far above both. A kernel whose work is uneven may gain in any case; one whose
    source cannot carry a swizzle in none.
    """
    if subject.refusal:
        return False
    if setup.options.all or setup.options.kernel or _uneven(subject) >= LEAST_GAIN:
        return True
    read, headroom = subject.baseline, subject.headroom
    bound = read.bound_by_arithmetic and "time" in setup.formula.rank
    saved_ms = could_save_ms(subject, setup.target) / subject.untraced_factor
    little = bound or saved_ms < LEAST_SAVED * (read.modelled_time_ms or 0.0)
    if headroom < LEAST_GAIN or (headroom < MODEL_RATE_ERROR and little) or read.only_compulsory:
        return False
    return not bound or (setup.device is not None and read.time_ms is None)


def _uneven(subject: Subject) -> float:
    """The part of the time that an even spread of the work would save."""
    return 1 - 1 / (subject.baseline.imbalance or 1.0)


def _could_save(subject: Subject, setup: RunContext) -> float:
    """On a GPU all of a kernel's time is in play, see `is_promising`."""
    return subject.time_ms if setup.device else could_save_ms(subject, setup.target)


def _least_share(subject: Subject, setup: RunContext) -> float:
    return LEAST_SHARE * max(1.0, subject.line_accesses / CHEAP_LINES * (setup.device is None))


def _within_budget(setup: RunContext, part: float, lines: int) -> RunContext:
    """The setup of a search that gets this part of the run's budget, less if replays are long."""
    options = setup.options
    most = min(round(options.budget * part), SCREENED_LINES // max(1, lines))
    candidates = min(options.candidates, max(FEWEST_CANDIDATES, most))
    share = setup.share * candidates / options.candidates
    return replace(setup, options=replace(options, candidates=candidates), share=share)


HISTORY = "history.jsonl"
MOST_NAMESAKES = 100
"""Kernels of one name that have a folder each; the last one is shared."""


def kernel_folder(folder: Path, setup: RunContext, subject: Subject) -> Path:
    """The folder of a kernel's files, or `<folder>-2`, … if another kernel has that one.

    A kernel of the same name in another source file, or of another script, is another one.
    """
    ours = _application(folder.parent, setup, subject)
    names = [folder.name, *(f"{folder.name}-{n}" for n in range(2, MOST_NAMESAKES))]
    for name in names:
        if read_identity(folder.with_name(name) / HISTORY).get("application", ours) == ours:
            break
    return folder.with_name(name)


def _application(folder: Path, setup: RunContext, subject: Subject) -> list[str]:
    """Whose kernel it is: its file and the script, seen from a folder that may move with them."""
    files = (subject.launches[0].source.file, setup.script)
    return [os.path.relpath(file, folder.resolve()) if file else "" for file in files]


@contextmanager
def lock_folder(folder: Path, subject: Subject) -> Iterator[disk.FolderLock]:
    """Keeps other runs from an output folder, also after the block if nothing fails in it.

    What a killed run left beside the kernel's files is removed.

    Raises:
        UsageError: another run is writing there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = disk.FolderLock(folder)
    except BlockingIOError:
        raise errors.UsageError(
            f"another run is writing to {folder}", hint="name another folder with --report_dir"
        ) from None
    try:
        for function in subject.launches[0].source.functions.values():
            disk.remove_partial(Path(function.file))
        yield lock
    except BaseException:
        lock.release()
        raise


@contextmanager
def open_history(
    setup: RunContext,
    subject: Subject,
    proposers: Sequence[Proposer],
    folder: Path,
    progress: Progress,
) -> Iterator[History]:
    """The run's history file, new or resumed; closed at the end."""
    options = setup.options
    path = Path(options.history or folder / HISTORY)
    resumable = path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    identity = _identity(setup, subject, proposers)
    identity["application"] = _application(folder.parent, setup, subject)
    history = History(path, identity, resume=options.resume)
    if options.resume:
        taken = f"resuming {path}: {readers.count(len(history.attempts), 'attempt')} reused"
        progress.note(taken if resumable else f"nothing to resume: there is no {path}")
    try:
        yield history
    finally:
        history.close()


def name_proposers(proposers: Sequence[Proposer]) -> str:
    """As `--proposer` takes it."""
    return proposers[0].name if len(proposers) == 1 else "both"


def _identity(setup: RunContext, subject: Subject, proposers: Sequence[Proposer]) -> dict[str, Any]:
    """All that an attempt's numbers and verdict follow from: with another, none can be resumed."""
    source = subject.launches[0].source.functions.values()
    return {
        "version": __version__,
        "kernel": subject.kernel,
        "source": _digest("".join(function.text for function in source).encode()),
        "launches": [[*x.numbers, *map(list, x.constants.items())] for x in subject.launches],
        "accesses": [_digest_accesses(t.trace) for t in subject.traced],
        "target": [setup.target.name, _digest(repr(setup.target).encode())],
        "profiler": setup.profiler.name if setup.profiler else "model",
        "device": setup.device.product if setup.device else None,
        "proposer": name_proposers(proposers),
        "formula": setup.formula.name,
        "tolerance": setup.options.accordo_absolute_tolerance,
        "unittest_command": setup.options.unittest_command,
        "seed": setup.options.seed,
    }


def _digest_accesses(trace: records.Trace) -> str:
    """What a launch touches; it follows from strides, dtypes and data too."""
    arrays = (trace.tile_offset, trace.access_base, trace.access_shape, trace.shape_offset,
              trace.shape_line, trace.shape_sectors, trace.shape_kind)  # fmt: skip
    return _digest(*(array.tobytes() for array in arrays))


def _digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"".join(parts), digest_size=16).hexdigest()
