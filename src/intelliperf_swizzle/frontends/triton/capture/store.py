# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: launches on disk, each kind once."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch
from intelliperf_swizzle.launch_files import save_launch
from intelliperf_swizzle.records import Grid, Storage, UInt8Array

KEPT_FLOAT_BYTES = 16 << 20
"""Contents of float storages are kept up to this many bytes a launch, the smallest first."""
MOST_VARIANTS = 32
"""Launches of one kernel on one grid that are kept with all contents; a training loop has no end of
them. Of further ones contents of floats are not kept."""
MOST_LAUNCHES = 1024
"""Launches of one kernel on one grid that are kept at all: a seed is another with each."""
FURTHER_BYTES = 1 << 30
"""Contents of integers that are kept of these further launches of an application, all together."""

Seen = Literal["new", "further", "again", "crowded"]
"""Whether a launch was kept: now, now without floats, before, or not, as there are too many."""


class Store:
    """The records of one process of the application.

    Args:
        folder: of the capture; gets `launches/*.json` and `contents/*.npy`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._variants: Counter[tuple[str, str, Grid]] = Counter()
        self._latest: dict[tuple[str, str, Grid], str] = {}
        self._further_bytes = 0
        (folder / "launches").mkdir(exist_ok=True)
        (folder / "contents").mkdir(exist_ok=True)

    def keep(self, live: DescribedLaunch, integers: Mapping[int, UInt8Array]) -> tuple[str, Seen]:
        """The name of its record, which is on disk now; of a crowd, that of the latest.

        Args:
            live: the launch.
            integers: what its storages of integers hold.

        Raises:
            OSError: it cannot be written.
        """
        digests = {number: digest(contents) for number, contents in integers.items()}
        launch = live.launch
        identity = repr((launch, sorted(digests.items()))).encode()
        name = f"{launch.kernel}-{hashlib.blake2b(identity, digest_size=8).hexdigest()}"
        path = self._folder / "launches" / f"{name}.json"
        if path.exists():
            return name, "again"
        variety = (launch.kernel, launch.source.entry.file, launch.grid)
        if self._variants[variety] >= MOST_LAUNCHES:
            return self._latest[variety], "crowded"
        self._variants[variety] += 1
        further = self._variants[variety] > MOST_VARIANTS
        if further:
            self._further_bytes += sum(contents.nbytes for contents in integers.values())
            integers = integers if self._further_bytes <= FURTHER_BYTES else {}
        kept = {
            number: self._keep(contents, digests[number]) for number, contents in integers.items()
        }
        if not further:
            kept |= self._keep_floats(live)
        storages = {n: Storage(s.bytes, kept.get(n)) for n, s in launch.storages.items()}
        save_launch(replace(launch, storages=storages), path)
        self._latest[variety] = name
        return name, "further" if further else "new"

    def _keep_floats(self, live: DescribedLaunch) -> dict[int, str]:
        kept, room = {}, KEPT_FLOAT_BYTES
        floats = set(live.memory) - live.integers
        for number in sorted(floats, key=lambda number: live.memory[number].nbytes):
            room -= live.memory[number].nbytes
            if room >= 0:
                contents = live.contents(number)
                kept[number] = self._keep(contents, digest(contents))
        return kept

    def _keep(self, contents: UInt8Array, name: str) -> str:
        path = self._folder / "contents" / f"{name}.npy"
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}")
            try:
                with partial.open("wb") as stream:
                    header = np.lib.format.header_data_from_array_1_0(contents)
                    np.lib.format.write_array_header_1_0(stream, header)
                    stream.write(contents.data)
                partial.replace(path)
            except OSError:  # a full disk: leave room for the words that say so
                partial.unlink(missing_ok=True)
                raise
        return str(path)


def digest(contents: UInt8Array) -> str:
    """Of what a storage holds."""
    return hashlib.blake2b(contents.data, digest_size=16).hexdigest()
