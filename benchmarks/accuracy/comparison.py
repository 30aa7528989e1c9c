# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Modelled beside measured: each configuration recorded once, each order replayed once."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from accuracy.configuration import Configuration
from accuracy.measured import MeasuredPair, UnusableError
from accuracy.order_table import digest_of
from intelliperf_swizzle.children import cores
from intelliperf_swizzle.disk import DiskCache, temporary_folder
from intelliperf_swizzle.errors import SwizzleError, UsageError
from intelliperf_swizzle.hardware import NvidiaGpu, Target
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Int64Array, Measurement


class Measurements(Protocol):
    """Where measured pairs come from, and the kernels that they were taken of."""

    def readings(self) -> tuple[list[MeasuredPair], list[str]]:
        """What was measured, and why records are left out."""

    def configuration(self, name: str, target: Target, scratch: Path) -> Configuration:
        """Record, build and trace one configuration; raises SwizzleError or UnusableError."""


@dataclass(frozen=True)
class Pair:
    """One configuration under one order, measured and modelled.

    Attributes:
        measured: what was measured.
        modelled: by the model.
    """

    measured: MeasuredPair
    modelled: Measurement


@dataclass(frozen=True)
class ComparedConfiguration:
    """One configuration and its pairs.

    Attributes:
        name: of the configuration.
        occupancy: workgroups per CU that the model takes, from the build.
        pairs: in the order of the records.
        seconds: to record, build, trace and replay.
    """

    name: str
    occupancy: int
    pairs: tuple[Pair, ...]
    seconds: float


@dataclass(frozen=True)
class ModelAccuracy:
    """All that was compared.

    Attributes:
        target: name of the GPU.
        outcomes: those configurations of which at least one pair was compared.
        skipped: what was not compared and why, one line each.
        notes: further sentences for the report.
        seconds: wall time.
    """

    target: str
    outcomes: tuple[ComparedConfiguration, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float

    @property
    def pairs(self) -> list[Pair]:
        """Of all configurations."""
        return [pair for outcome in self.outcomes for pair in outcome.pairs]


def compare(measurements: Measurements, target: Target, progress: Progress) -> ModelAccuracy:
    """Replays every measured pair; the last of `compare_each`."""
    [last] = deque(compare_each(measurements, target, progress, DiskCache(None)), 1)
    return last


def compare_each(
    measurements: Measurements, target: Target, progress: Progress, kept: DiskCache
) -> Iterator[ModelAccuracy]:
    """Replays every measured pair; after each configuration, what is known so far.

    A configuration is recorded, built and traced while the one before is replayed. What fails is
    named in `skipped`, and so is what is still to be compared; the rest is compared.

    Args:
        measurements: from a folder, or from elsewhere.
        target: the GPU that they were taken on.
        progress: receives each configuration.
        kept: replays of earlier runs, and of this one.

    Raises:
        UsageError: nothing can be compared, because the measurements are unusable as a whole.
    """
    begun = time.monotonic()
    readings, skipped = measurements.readings()
    wanted: dict[str, list[MeasuredPair]] = {}
    for reading in readings:
        wanted.setdefault(reading.config, []).append(reading)
    outcomes: list[ComparedConfiguration] = []
    notes: list[str] = []

    def so_far(left: Iterable[str]) -> ModelAccuracy:
        unseen = (f"{name}: not compared yet" for name in left)
        return ModelAccuracy(
            target.name,
            tuple(outcomes),
            (*skipped, *unseen),
            tuple(notes),
            time.monotonic() - begun,
        )

    names = list(wanted)
    if not names:
        yield so_far(())
    for number, configuration in enumerate(_configurations(measurements, names, target, progress)):
        name = names[number]
        if isinstance(configuration, str):
            skipped.append(f"{name}: {configuration}")
        else:
            progress.phase(f"replaying {name}")
            outcome, left_out = _outcome(configuration, wanted[name], target, progress, kept)
            skipped += left_out
            notes += [f"{name}: {note}" for note in (*configuration.notes, *_mismatch(outcome))]
            outcomes += [outcome] if outcome.pairs else []
        yield so_far(names[number + 1 :])


def _configurations(
    measurements: Measurements, names: Sequence[str], target: Target, progress: Progress
) -> Iterator[Configuration | str]:
    """Each configuration, or why there is none; the next one is prepared meanwhile."""

    def prepare(number: int, scratch: Path) -> Configuration | str:
        scratch.mkdir()
        try:
            return measurements.configuration(names[number], target, scratch)
        except UnusableError as error:
            return str(error)
        except UsageError:
            raise
        except SwizzleError as error:
            return " ".join([error.fact, *error.details[-1:]])

    with (
        temporary_folder("accuracy") as folder,
        ThreadPoolExecutor(1) as pool,
    ):
        ahead = deque(pool.submit(prepare, 0, folder / "0") for _ in names[:1])
        for number, name in enumerate(names):
            progress.phase(f"recording {name}")
            configuration = ahead.popleft().result()
            if number + 1 < len(names):
                ahead.append(pool.submit(prepare, number + 1, folder / str(number + 1)))
            yield configuration


def _outcome(
    configuration: Configuration,
    readings: Sequence[MeasuredPair],
    target: Target,
    progress: Progress,
    kept: DiskCache,
) -> tuple[ComparedConfiguration, list[str]]:
    begun = time.monotonic()
    chosen, skipped = [], []
    for reading in readings:
        reason = _refusal(configuration, reading)
        if reason:
            skipped.append(f"{configuration.name}, {reading.mapping}: {reason}")
        else:
            chosen.append(reading)
    digests = {
        measured.mapping: digest_of(configuration.orders[measured.mapping]) for measured in chosen
    }
    different = {digest: name for name, digest in digests.items()}
    replayed: dict[str, Measurement | str] = {}

    def replay(name: str) -> Measurement | str:
        order = configuration.orders[name].astype(np.int64)
        try:
            text = configuration.text_under(order) if kept.folder else ""
            [modelled] = kept.get_or_compute(
                "accuracy", (text, target), lambda: configuration.replay(order, target)
            )
            return modelled
        except SwizzleError as error:
            return error.fact

    # a timed replay keeps one core busy, others one for each domain
    each = 1 if isinstance(target, NvidiaGpu) else target.num_xcds
    with ThreadPoolExecutor(max(1, cores() // each)) as pool:
        found = zip(different, pool.map(replay, different.values()), strict=True)
        for done, (digest, measurement) in enumerate(found, 1):
            replayed[digest] = measurement
            progress.step(done, len(different), "")
    pairs = []
    for reading in chosen:
        modelled = replayed[digests[reading.mapping]]
        if isinstance(modelled, str):
            skipped.append(f"{configuration.name}, {reading.mapping}: {modelled}")
        else:
            known = configuration.add_swizzle_time(modelled, reading.mapping, target)
            pairs.append(Pair(reading, known))
    seconds = configuration.seconds + time.monotonic() - begun
    return ComparedConfiguration(
        configuration.name, configuration.occupancy, tuple(pairs), seconds
    ), skipped


def _refusal(configuration: Configuration, reading: MeasuredPair) -> str | None:
    """Why a reading cannot be compared, or None."""
    if reading.mapping in configuration.unreadable:
        return configuration.unreadable[reading.mapping]
    if reading.mapping not in configuration.orders:
        return "there is no such mapping"
    if reading.axes is not None and reading.axes != configuration.axes:
        return f"measured on axes {list(reading.axes)}; the kernel has {list(configuration.axes)}"
    return not_a_permutation(configuration.orders[reading.mapping], math.prod(configuration.axes))


def not_a_permutation(order: Int64Array, blocks: int) -> str | None:
    """Why an array is no permutation of the blocks, or None."""
    if len(order) != blocks:
        return f"no permutation of {blocks} blocks: it has {len(order)} entries"
    outside = np.flatnonzero((order < 0) | (order >= blocks))
    if len(outside):
        return f"no permutation of {blocks} blocks: entry {outside[0]} is {order[outside[0]]}"
    times = np.bincount(order, minlength=blocks)
    if times.max() == 1:
        return None
    missing = np.flatnonzero(times == 0)
    return (
        f"no permutation of {blocks} blocks: {len(missing)} are never computed,"
        f" block {missing[0]} the first of them"
    )


def _mismatch(outcome: ComparedConfiguration) -> list[str]:
    profiled = {pair.measured.occupancy for pair in outcome.pairs} - {None, outcome.occupancy}
    return [
        f"{outcome.occupancy} workgroups per CU from the build, {measured} by the profiler"
        for measured in sorted(profiled, key=str)
    ]
