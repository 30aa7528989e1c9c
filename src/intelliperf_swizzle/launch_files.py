# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A launch on disk: one JSON file beside the `.npy` files with the contents of its storages."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle.codec import decode, dumps, encode, loads
from intelliperf_swizzle.errors import RecordError, UsageError
from intelliperf_swizzle.records import (
    DescriptorArgument,
    DtypeArgument,
    FunctionArgument,
    Launch,
    TensorArgument,
)

_ARGUMENTS = (DescriptorArgument, DtypeArgument, FunctionArgument, TensorArgument)


def save_launch(launch: Launch, path: str | os.PathLike[str]) -> None:
    """Write a launch as JSON; paths are kept relative to the file's folder.

    Raises:
        TypeError: an argument or option is of a kind that a launch cannot carry.
    """
    path = Path(path)
    stored = replace(
        launch,
        ttir=_relative(launch.ttir, path.parent),
        storages={
            number: replace(storage, contents=_relative(storage.contents, path.parent))
            for number, storage in launch.storages.items()
        },
    )
    partial = path.with_name(path.name + ".partial")
    partial.write_text(dumps(encode(stored), indent=1), encoding="utf-8")
    partial.replace(path)


def load_launch(path: str | os.PathLike[str]) -> Launch:
    """Read what `save_launch` wrote; paths come back absolute.

    Raises:
        UsageError: the file is missing or is not a launch.
    """
    path = Path(path)
    try:
        launch = decode(Launch, loads(path.read_bytes()), nouns=_ARGUMENTS)
    except (OSError, RecordError) as error:
        raise UsageError(f"{path} is not a recorded launch: {error}") from error
    return replace(
        launch,
        ttir=_absolute(launch.ttir, path.parent),
        storages={
            number: replace(storage, contents=_absolute(storage.contents, path.parent))
            for number, storage in launch.storages.items()
        },
    )


def as_text(launch: Launch) -> str:
    """All of a launch that decides what its programs do, contents by their digests."""
    digests = {
        number: storage.contents and _digest(storage.contents)
        for number, storage in launch.storages.items()
    }
    storages = {number: replace(one, contents=None) for number, one in launch.storages.items()}
    alike = replace(
        launch, storages=storages, count=1, computed=False, ordinal=0, ttir=None, loop=None
    )
    loop = {
        name: hashlib.blake2b(one.tobytes()).hexdigest() if isinstance(one, np.ndarray) else one
        for name, one in (vars(launch.loop) if launch.loop else {}).items()
    }
    return repr((dumps(encode(alike)), sorted(digests.items()), loop))


def _digest(path: str) -> str:
    state = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb") as stream:
        while block := stream.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def _relative(file: str | None, folder: Path) -> str | None:
    return None if file is None else os.path.relpath(file, folder)


def _absolute(file: str | None, folder: Path) -> str | None:
    return None if file is None else os.path.normpath(folder.resolve() / file)
