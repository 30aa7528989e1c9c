# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Recorded launches of a kernel as a process with a GPU makes them again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from intelliperf_swizzle.dependence import summed_storages, touched_storages
from intelliperf_swizzle.frontends.cpp.record.device_code import read_kernel, recording_of
from intelliperf_swizzle.frontends.cpp.record.record_program import KEYS, LAUNCHES
from intelliperf_swizzle.records import Access, Launch, TensorArgument, Trace

_FLOATS = ("fp16", "bf16", "fp32", "fp64")
_WORD = 16
"""Hexadecimal digits of a pointer."""


@dataclass(frozen=True)
class RecordedCall:
    """A recorded launch as a process with a GPU makes it again.

    Attributes:
        launch: it.
        index: of the launches of this kernel with this grid, block and shared memory.
        values: bytes of each argument as hexadecimal; of what is a pointer, dots.
        trace: what it touches.
    """

    launch: Launch
    index: int
    values: tuple[str, ...]
    trace: Trace

    def lines(self) -> list[str]:
        """What the preloaded library is told of it, a line each."""
        code, launch = read_kernel(self.launch).code, self.launch
        shape = (*launch.grid, *launch.options["block"], launch.options["shared"], self.index)
        found = [f"task {code.symbol} {launch.kernel} {' '.join(map(str, shape))}"]
        read = touched_storages(launch, self.trace, Access.READ, Access.ATOMIC)
        written = touched_storages(launch, self.trace, Access.WRITE, Access.ATOMIC)
        summed = summed_storages(launch, self.trace)
        for parameter, value in zip(code.parameters, self.values, strict=True):
            tensor = launch.arguments.get(parameter.name)
            element, kind, fresh = 0, "-", 0
            if isinstance(tensor, TensorArgument):
                digits = "".join(filter(str.isdigit, tensor.dtype))
                element = max(1, int(digits or 8) // 8)
                kind = tensor.dtype if tensor.storage in summed and tensor.dtype in _FLOATS else "-"
                if tensor.storage in written - read:
                    fresh = launch.storages[tensor.storage].bytes
            row = (parameter.bytes, element, parameter.name or "-", kind, fresh, value or "-")
            found.append("parameter " + " ".join(map(str, row)))
        return found


def recorded_calls(traced: Sequence[tuple[Launch, Trace]]) -> tuple[RecordedCall, ...]:
    """How the recorded launches of a kernel are found again."""
    recording = recording_of(traced[0][0])
    keys = json.loads((recording / KEYS).read_text("utf-8"))
    events: dict[str, dict[str, Any]] = {}
    indices: dict[str, int] = {}
    seen: Counter[object] = Counter()
    for line in (recording / LAUNCHES).read_text("utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "new":
            events[event["id"]] = event
        elif event["event"] == "ran":
            new = events[event["id"]]
            process = event["id"].split("-")[0]
            form = (process, new["kernel"], *new["grid"], *new["block"], new["shared"])
            indices.setdefault(new["key"], seen[form])
            seen[form] += 1
    by_key = {event["key"]: event for event in reversed(events.values())}
    found = []
    for launch, trace in traced:
        key = keys[launch.ordinal]
        values = tuple(_masked(one, by_key[key]["buffers"]) for one in by_key[key]["arguments"])
        found.append(RecordedCall(launch, indices[key], values, trace))
    return tuple(found)


def _masked(value: str, buffers: Sequence[tuple[int, int, str]]) -> str:
    """Bytes of an argument, with dots for addresses, which are others on a GPU."""
    words = [value[at : at + _WORD] for at in range(0, len(value), _WORD)]
    for place, word in enumerate(words):
        address = int.from_bytes(bytes.fromhex(word), "little")
        if len(word) == _WORD and any(at <= address <= at + size for at, size, _ in buffers):
            words[place] = "." * _WORD
    return "".join(words)
