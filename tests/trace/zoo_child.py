# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs the zoo twice in one process: traced, and as Triton's own interpreter runs it.

`python zoo_child.py FOLDER` with TRITON_INTERPRET=1 writes `<case>.npz` (the trace) and
`<case>.json` (per program: kind, lines and sectors of each access of the plain interpreter), and
`arithmetic.json` (what each program computes when run by itself, by case).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton.runtime.interpreter as triton_interpreter

PLAIN_LAUNCH = triton_interpreter.GridExecutor.__call__

from zoo import Case, Descriptor, cases, record  # noqa: E402

from intelliperf_swizzle.codec import save_arrays  # noqa: E402
from intelliperf_swizzle.frontends.triton.interpreter.fixes import fix_interpreter  # noqa: E402
from intelliperf_swizzle.frontends.triton.interpreter.revive import revive, run_sequential  # noqa: E402
from intelliperf_swizzle.frontends.triton.tracing.interpret import trace_here  # noqa: E402
from intelliperf_swizzle.records import Access, Launch  # noqa: E402

NOT_FOR_THE_PLAIN_INTERPRETER = (
    "stream_k",
    "outside",
    "outside_and_apart",
    "outside_one_by_one",
)
"""It hangs in the first and may be aborted in the others."""


class Listing:
    """Lists every access in the plainest way: byte by byte."""

    def __init__(self, launch: Launch, spans: list[tuple[int, int, int]]) -> None:
        self.accesses: list[list[Any]] = [[] for _ in range(launch.programs)]
        self._spans = spans

    def observe(self, program: int, kind: Access, addresses: Any, mask: Any, size: int) -> None:
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
        self._listing.observe(x + nx * (y + ny * z), kind, addresses, mask, size)

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
    bases = list(revive(launch, folder).memory.base.values())
    spans = [
        (t.data_ptr(), t.data_ptr() + t.nbytes, base)
        for t, base in zip(tensors.values(), bases, strict=True)
    ]
    listing = Listing(launch, spans)
    ours, native = triton_interpreter.GridExecutor.__call__, triton_interpreter._interpreter
    triton_interpreter.GridExecutor.__call__ = PLAIN_LAUNCH
    triton_interpreter._interpreter = Overheard(native, listing)
    try:
        case.kernel[case.grid](**arguments)
    finally:
        triton_interpreter.GridExecutor.__call__ = ours
        triton_interpreter._interpreter = native
    return listing.accesses


def sequential_accesses(launch: Launch, folder: Path) -> list[list[Any]]:
    """What our sequential interpreter touches."""
    live = revive(launch, folder)
    memory = live.memory
    spans = list(
        zip(memory.begin.tolist(), memory.end.tolist(), memory.begin.tolist(), strict=True)
    )
    listing = Listing(launch, spans)
    run_sequential(live, observer=listing)
    return listing.accesses


def main(folder: Path) -> None:
    fix_interpreter()
    launches = {name: record(case, folder / name) for name, case in cases().items()}
    for name, launch in launches.items():  # all of them first: Triton 3.6 leaves its patches behind
        save_arrays(trace_here(launch, folder), folder / f"{name}.npz")
    alone = {
        name: run_sequential(revive(launch, folder)).arithmetic.tolist()
        for name, launch in launches.items()
    }
    (folder / "arithmetic.json").write_text(json.dumps(alone))
    for name, case in cases().items():
        launch = launches[name]
        if name in NOT_FOR_THE_PLAIN_INTERPRETER:
            accesses = sequential_accesses(launch, folder)
        else:
            accesses = plain_accesses(case, launch, folder)
        (folder / f"{name}.json").write_text(json.dumps(accesses))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
