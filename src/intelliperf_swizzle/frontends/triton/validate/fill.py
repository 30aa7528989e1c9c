# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the memory of a launch holds before it: recorded contents, seeded values or poison.

Contents are a function of the storage and the place in it, made block by block, so that a storage
of gigabytes costs only what is touched and two memories of the same launch begin alike.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from intelliperf_swizzle.records import Launch, UInt8Array

BLOCK_BYTES = 1 << 16
_POISON_SEED, _VALUE_SEED = 1, 2
_FLOATS = {
    "fp16": (np.uint16, 0x83FF, 0x3800),
    "bf16": (np.uint16, 0x807F, 0x3F00),
    "fp32": (np.uint32, 0x807F_FFFF, 0x3F00_0000),
    "fp64": (np.uint64, 0x800F_FFFF_FFFF_FFFF, 0x3FE0_0000_0000_0000),
}
"""Bits of a float to keep from random ones, and the exponent to set: then 0.5 <= |value| < 1."""


class Contents:
    """The initial bytes of a launch's storages.

    A storage that the launch only writes holds poison (random bytes), recorded or not, so that
    what is left of an earlier run is never taken for output. Another one holds what was recorded;
    if nothing was, floats of magnitude 0.5 to 1, and zeros where its elements are integers.

    Args:
        launch: whose storages.
        read: numbers of the storages that the launch reads.
    """

    def __init__(self, launch: Launch, read: Collection[int]):
        self._read = frozenset(read)
        self._dtypes = element_types(launch)
        self._recorded = {
            number: np.load(storage.contents, mmap_mode="r")
            for number, storage in launch.storages.items()
            if storage.contents is not None
        }

    def write(self, number: int, block: int, buffer: UInt8Array) -> None:
        """Writes block `block` of a storage, in its place in the buffer of the whole storage."""
        part = buffer[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]
        if number not in self._read:
            random = np.random.default_rng((_POISON_SEED, number, block))
            part[:] = random.integers(0, 256, BLOCK_BYTES, np.uint8)[: len(part)]
        elif number in self._recorded:
            start = block * BLOCK_BYTES
            part[:] = self._recorded[number][start : start + len(part)]
        else:
            values = _values(self._dtypes.get(number, "int8"), number, block)
            part[:] = values[: len(part)]

    def write_all(self, number: int, buffer: UInt8Array) -> None:
        """Writes a whole storage."""
        for block in range(-(-len(buffer) // BLOCK_BYTES)):
            self.write(number, block, buffer)


def element_types(launch: Launch) -> dict[int, str]:
    """Storage -> Triton's name of the dtype of the first tensor argument that views it."""
    dtypes: dict[int, str] = {}
    for _, tensor in launch.tensors():
        dtypes.setdefault(tensor.storage, tensor.dtype)
    return dtypes


def _values(dtype: str, number: int, block: int) -> UInt8Array:
    """BLOCK_BYTES of seeded values."""
    random = np.random.default_rng((_VALUE_SEED, number, block))
    if dtype in _FLOATS:
        word, keep, exponent = _FLOATS[dtype]
        bits = np.frombuffer(random.bytes(BLOCK_BYTES), word)
        values: UInt8Array = (bits & word(keep) | word(exponent)).view(np.uint8)
        return values
    if dtype.startswith("fp8"):
        # Without the top bit of the exponent: below 2 in every format, never infinite or NaN.
        return random.integers(0, 256, BLOCK_BYTES, np.uint8) & np.uint8(0xBF)
    return np.zeros(BLOCK_BYTES, np.uint8)
