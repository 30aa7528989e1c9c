# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs the zoo: as Triton's own interpreter does, or traced and then executed one by one.

`python zoo_child.py FOLDER` writes with TRITON_INTERPRET=1 `<case>.json` (per program: kind, lines
and sectors of each access of the plain interpreter), else `<case>.pickle` (the trace),
`<case>.alone.json` and `arithmetic.json` (what each program computes by itself, by case).
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton.runtime.interpreter as triton_interpreter
from zoo import Case, Descriptor, cases, record

from intelliperf_swizzle.frontends.triton.ir import kernel_of
from intelliperf_swizzle.frontends.triton.tracing.execute import trace_here
from intelliperf_swizzle.frontends.triton.walk.memory import Memory
from intelliperf_swizzle.frontends.triton.walk.running import make_live, run_one_by_one
from intelliperf_swizzle.records import Access, Launch
from intelliperf_swizzle.trace.observer import BlockAccess, Observer

NOT_FOR_THE_PLAIN_INTERPRETER = (
    "stream_k",
    "outside",
    "outside_and_apart",
    "outside_one_by_one",
    "odds_and_ends",
)
"""It hangs in the first, may be aborted in the next three and knows no libdevice."""


class Listing(Observer):
    """Lists every access in the plainest way: byte by byte."""

    def __init__(self, launch: Launch, spans: list[tuple[int, int, int]]) -> None:
        self.accesses: list[list[Any]] = [[] for _ in range(launch.programs)]
        self._spans = spans

    def observe(self, program: int, block: BlockAccess) -> None:
        _, lanes, active = next(block.lanes())
        self.note(program, block.kind, lanes, active, block.item_bytes)

    def note(self, program: int, kind: Access, addresses: Any, mask: Any, size: int) -> None:
        lines: dict[int, int] = {}
        lanes = np.broadcast_to(mask, addresses.shape).reshape(-1)
        for address, active in zip(addresses.reshape(-1).tolist(), lanes.tolist(), strict=True):
            for begin, end, synthetic in self._spans:
                if active and begin <= address < end:
                    for byte in range(
                        address - begin + synthetic, address - begin + synthetic + size
                    ):
                        lines[byte // 128] = lines.get(byte // 128, 0) | 1 << byte % 128 // 32
        if lines:
            self.accesses[program].append([int(kind), list(lines), list(lines.values())])


class Overheard:
    """Triton's C++ module, with every access reported to a listing."""

    def __init__(self, native: Any, listing: Listing) -> None:
        self._native, self._listing = native, listing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def _report(self, kind: Access, addresses: Any, mask: Any, size: int) -> None:
        builder = triton_interpreter.interpreter_builder
        (x, y, z), (nx, ny, _) = builder.grid_idx, builder.grid_dim
        self._listing.note(x + nx * (y + ny * z), kind, addresses, mask, size)

    def load(self, addresses: Any, mask: Any, other: Any, dtype: Any) -> Any:
        self._report(Access.READ, addresses, mask, np.dtype(dtype).itemsize)
        return self._native.load(addresses, mask, other, dtype)

    def store(self, addresses: Any, value: Any, mask: Any) -> Any:
        self._report(Access.WRITE, addresses, mask, value.dtype.itemsize)
        return self._native.store(addresses, value, mask)

    def atomic_rmw(self, op: Any, addresses: Any, value: Any, mask: Any, order: Any) -> Any:
        self._report(Access.ATOMIC, addresses, mask, value.dtype.itemsize)
        return self._native.atomic_rmw(op, addresses, value, mask, order)

    def atomic_cas(self, addresses: Any, compare: Any, value: Any, order: Any) -> Any:
        self._report(Access.ATOMIC, addresses, np.ones(addresses.shape, bool), value.itemsize)
        return self._native.atomic_cas(addresses, compare, value, order)


def plain_accesses(case: Case, launch: Launch, folder: Path) -> list[list[Any]]:
    """What Triton's own interpreter touches when it runs the kernel on tensors."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    tensors: dict[int, torch.Tensor] = {}

    def tensor(array: np.ndarray) -> torch.Tensor:
        return tensors.setdefault(id(array), torch.from_numpy(array.copy()))

    def argument(value: Any) -> Any:
        if isinstance(value, Descriptor):
            base = tensor(value.base)
            return TensorDescriptor(base, base.shape, base.stride(), list(value.block_shape))
        return tensor(value) if isinstance(value, np.ndarray) else value

    arguments = {name: argument(value) for name, value in case.arguments.items()}
    bases = list(Memory(launch).base_side_by_side.values())
    spans = [
        (t.data_ptr(), t.data_ptr() + t.nbytes, base)
        for t, base in zip(tensors.values(), bases, strict=True)
    ]
    listing = Listing(launch, spans)
    native = triton_interpreter._interpreter
    triton_interpreter._interpreter = Overheard(native, listing)
    try:
        case.kernel[case.grid](**arguments)
    finally:
        triton_interpreter._interpreter = native
    return listing.accesses


def accesses_one_by_one(launch: Launch) -> tuple[list[list[Any]], list[Any]]:
    """What programs that are executed one by one touch and compute."""
    live = make_live(launch, kernel_of(launch), whole=True)
    memory = live.memory
    bases = memory.base_side_by_side.values()
    spans = list(zip(memory.begin.tolist(), memory.end.tolist(), bases, strict=True))
    listing = Listing(launch, spans)
    arithmetic = run_one_by_one(live, observer=listing).arithmetic
    return listing.accesses, arithmetic.tolist()


def main(folder: Path, *, plain: bool) -> None:
    launches = {name: record(case, folder / name) for name, case in cases().items()}
    for name, case in cases().items():
        if plain and name not in NOT_FOR_THE_PLAIN_INTERPRETER:
            touched = plain_accesses(case, launches[name], folder)
            (folder / f"{name}.json").write_text(json.dumps(touched))
    alone = {}
    for name, launch in launches.items() if not plain else ():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(trace_here(launch, folder)))
        touched, alone[name] = accesses_one_by_one(launch)
        (folder / f"{name}.alone.json").write_text(json.dumps(touched))
    if not plain:
        (folder / "arithmetic.json").write_text(json.dumps(alone))


if __name__ == "__main__":
    main(Path(sys.argv[1]), plain=os.environ.get("TRITON_INTERPRET") == "1")
