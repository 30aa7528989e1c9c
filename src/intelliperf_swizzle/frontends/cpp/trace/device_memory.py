# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What loads of a slice read: contents that were recorded, and what the launch says of itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.records import Grid, Int64Array, UInt8Array

_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


@dataclass(frozen=True)
class Buffer:
    """A piece of device memory.

    Attributes:
        names: of arguments, or what else it is called.
        begin: its address.
        bytes: its size.
        contents: uint8[bytes], or None if they were not kept.
    """

    names: tuple[str, ...]
    begin: int
    bytes: int
    contents: UInt8Array | None


class DeviceMemory:
    """The memory of a launch.

    Args:
        buffers: by address.
        arguments: bytes of those that are passed by reference, by number.
        grid: workgroups.
        block: threads of a workgroup.

    Attributes:
        arguments: where those that are passed by reference begin.
        elsewhere: an address in shared memory or scratch; those from `not_global` on are left out.
        all_places: the bit set of `trace.sharing.reads_what_is_written` for all buffers.
    """

    arguments = 1 << 59
    elsewhere = 1 << 57
    not_global = 1 << 56
    implicit = 1 << 60
    dispatch = 1 << 61

    def __init__(
        self, buffers: Sequence[Buffer], arguments: Mapping[int, bytes], grid: Grid, block: Grid
    ):
        self._small = {self.address_of_argument(n): data for n, data in arguments.items()}
        self._small[self.implicit], self._small[self.dispatch] = _hidden(grid, block)
        self._buffers = [
            *buffers,
            *(Buffer(("an argument",), begin, len(data), np.frombuffer(data, np.uint8))
              for begin, data in self._small.items()),
        ]  # fmt: skip
        self.all_places = (1 << len(buffers) + 1) - 1

    @classmethod
    def address_of_argument(cls, number: int) -> int:
        """Where an argument that is passed by reference lies."""
        return cls.arguments + (number << 20)

    def read_one(self, address: int, count: int) -> int:
        """The signed number of that many bytes at an address, of an argument or from there on."""
        begin = max(start for start in self._small if start <= address)
        data = self._small[begin][address - begin : address - begin + count]
        return int.from_bytes(data, "little", signed=True)

    def read(
        self, addresses: Int64Array, count: int, active: Callable[[], npt.NDArray[np.bool_]]
    ) -> Int64Array | None:
        """Numbers of that many bytes; 0 outside every buffer, where only inactive threads read.

        None if a thread reads its scratch or its workgroup's shared memory, which is not kept here.

        Args:
            addresses: of all threads.
            count: bytes of each.
            active: which threads really read; what the others get is ignored.

        Raises:
            TraceError: what a buffer holds was not kept.
        """
        flat = addresses.reshape(-1)
        found = np.zeros(flat.shape, np.int64)
        local = flat >= self.not_global
        if local.any():
            local &= flat < self.arguments
            if (local.reshape(addresses.shape) & active()).any():
                return None
        for buffer in self._buffers:
            inside = (flat >= buffer.begin) & (flat + count <= buffer.begin + buffer.bytes)
            if not inside.any():
                continue
            if buffer.contents is None:
                if not (inside.reshape(addresses.shape) & active()).any():
                    continue
                fact = f"the contents of {buffer.names[0]} decide accesses, and were not kept"
                raise TraceError(fact)
            at = flat[inside] - buffer.begin
            if len(buffer.contents) % count or (at % count).any():
                words = buffer.contents[at[:, None] + np.arange(count)]
                found[inside] = np.ascontiguousarray(words).view(_SIGNED[count])[:, 0]
            else:
                found[inside] = buffer.contents.view(_SIGNED[count])[at // count]
        return found.reshape(addresses.shape)


def _hidden(grid: Grid, block: Grid) -> tuple[bytes, bytes]:
    """Implicit arguments and dispatch packet. Source: LLVM, AMDGPUUsage.html; HSA 1.2."""
    implicit, dispatch = np.zeros(256, np.uint8), np.zeros(64, np.uint8)
    implicit[:12] = np.array(grid, np.uint32).view(np.uint8)
    implicit[12:18] = np.array(block, np.uint16).view(np.uint8)
    implicit[64:66] = np.array([3], np.uint16).view(np.uint8)
    threads = [blocks * extent for blocks, extent in zip(grid, block, strict=True)]
    dispatch[4:10] = np.array(block, np.uint16).view(np.uint8)
    dispatch[12:24] = np.array(threads, np.uint32).view(np.uint8)
    return implicit.tobytes(), dispatch.tobytes()
