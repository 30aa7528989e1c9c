# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: launches on disk, each kind once."""

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from intelliperf_swizzle.frontends.triton.capture import addresses, unknown
from intelliperf_swizzle.frontends.triton.capture.calls import BoundCall
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch
from intelliperf_swizzle.frontends.triton.capture.settings import MOST_VARIANTS
from intelliperf_swizzle.records import Grid, Launch, UInt8Array
from intelliperf_swizzle.records.launches import save_launch

KEPT_FLOAT_BYTES = 16 << 20
"""Contents of float storages are kept up to this many bytes a launch, the smallest first."""
MOST_LAUNCHES = 1024
"""Launches of one kernel on one grid that are kept at all: a seed is another with each. Of all
further ones it is recorded in which arguments they differ."""
FURTHER_BYTES = 1 << 30
"""Contents of integers that are kept of these further launches of an application, all together."""


class Store:
    """The records of one process of the application.

    Args:
        folder: of the capture; gets `launches/*.json`, `contents/*.npy` and `ttir/*.mlir`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._variants: Counter[tuple[str, str, Grid]] = Counter()
        self._latest: dict[tuple[str, str, Grid], Launch] = {}
        self._varying: dict[str, set[str]] = defaultdict(set)
        self._further_bytes = 0
        for name in ("launches", "contents", "ttir"):
            (folder / name).mkdir(exist_ok=True)

    def keep(
        self,
        live: DescribedLaunch,
        integers: Mapping[int, UInt8Array],
        digests: tuple[str, ...] | None,
        bound: BoundCall,
    ) -> tuple[str, bool]:
        """The name of its record, which is on disk now, and whether it is new; those beyond
        `MOST_LAUNCHES` have one.

        Args:
            live: the launch.
            integers: what its storages of integers hold.
            digests: of these; None if nothing was read.
            bound: what Triton makes of the launch.

        Raises:
            OSError: it cannot be written.
        """
        launch = live.launch
        sizes = {number: storage.bytes for number, storage in launch.storages.items()}
        alike = replace(
            launch, arguments=addresses.arguments_without_addresses(launch), storages={}
        )
        name = self._name(launch.kernel, (alike, sizes, digests))
        if (self._folder / "launches" / f"{name}.json").exists():
            return name, False
        variety = (launch.kernel, launch.source.entry.file, launch.grid)
        if self._variants[variety] >= MOST_LAUNCHES:
            return self._keep_crowd(launch, variety, bound)
        self._variants[variety] += 1
        self._latest[variety] = launch
        further = self._variants[variety] > MOST_VARIANTS
        if further:
            self._further_bytes += sum(contents.nbytes for contents in integers.values())
            integers = integers if self._further_bytes <= FURTHER_BYTES else {}
        kept = {number: self._keep(contents) for number, contents in integers.items()}
        if not further and digests is not None:
            kept |= self._keep_floats(live)
        self._save(launch, name, kept, bound)
        return name, True

    def _keep_crowd(
        self, launch: Launch, variety: tuple[str, str, Grid], bound: BoundCall
    ) -> tuple[str, bool]:
        name = self._name(launch.kernel, ("crowd", variety, bound.name, os.getpid()))
        latest, seen = self._latest[variety].arguments, name in self._varying
        varying = {n for n, value in launch.arguments.items() if latest.get(n) != value}
        if not (seen and varying <= self._varying[name]):
            self._varying[name] |= varying
            known = (*launch.varying, *sorted(self._varying[name]))
            self._save(replace(launch, varying=known), name, {}, bound)
        return name, not seen

    def _name(self, kernel: str, identity: object) -> str:
        return f"{kernel}-{hashlib.blake2b(repr(identity).encode(), digest_size=8).hexdigest()}"

    def _save(self, launch: Launch, name: str, kept: Mapping[int, str], bound: BoundCall) -> None:
        storages = {
            n: replace(s, contents=kept.get(n), decided_at=unknown.decided_at())
            for n, s in launch.storages.items()
        }
        path = self._folder / "launches" / f"{name}.json"
        save_launch(replace(launch, storages=storages, ttir=self._keep_ttir(bound)), path)

    def _keep_ttir(self, bound: BoundCall) -> str | None:
        if bound.ttir is None:
            return None
        path, text = self._folder / "ttir" / f"{bound.name}.mlir", bound.ttir.encode()
        if not path.exists():
            _write(path, lambda stream: stream.write(text))
        return str(path)

    def _keep_floats(self, live: DescribedLaunch) -> dict[int, str]:
        kept, room = {}, KEPT_FLOAT_BYTES
        floats = [n for n, s in live.spans.items() if not s.integers and not unknown.is_unknown(s)]
        for number in sorted(floats, key=lambda number: live.memory[number].nbytes):
            room -= live.memory[number].nbytes
            if room >= 0:
                kept[number] = self._keep(live.contents(number))
        return kept

    def _keep(self, contents: UInt8Array) -> str:
        path = self._folder / "contents" / f"{digest(contents)}.npy"

        def write(stream: BinaryIO) -> None:
            header = np.lib.format.header_data_from_array_1_0(contents)
            np.lib.format.write_array_header_1_0(stream, header)
            stream.write(contents.data)

        if not path.exists():
            _write(path, write)
        return str(path)


def _write(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """A file that is whole, or not there."""
    partial = path.with_suffix(f".{os.getpid()}")
    try:
        with partial.open("wb") as stream:
            write(stream)
        partial.replace(path)
    except OSError:  # a full disk: leave room for the words that say so
        partial.unlink(missing_ok=True)
        raise


def digests(live: DescribedLaunch, held: Mapping[int, UInt8Array]) -> dict[int, str]:
    """Of what storages hold, as far as that is known, whatever the addresses are."""
    known = (number for number in held if not unknown.is_unknown(live.spans[number]))
    return {number: digest(addresses.canonical(live.launch, held[number])) for number in known}


def digest(contents: UInt8Array) -> str:
    """Of what a storage holds."""
    return hashlib.blake2b(contents.data, digest_size=16).hexdigest()
