# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A separate process that makes recorded launches again: `python -m … FOLDER`, of an order.

Integers hold what was recorded, and so do small floats; large ones are drawn, so that a mapping
that holds here is still to be confirmed in the application. If the order has `repeats`, each launch
is made so often unmodified, then with each candidate, for a profiler; else once, for the agent.
"""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from intelliperf_swizzle.frontends.triton.gpu import agent
from intelliperf_swizzle.frontends.triton.gpu.order import Task, load_order, take_gpu
from intelliperf_swizzle.frontends.triton.ir import render
from intelliperf_swizzle.records import TensorArgument

_TYPES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "int1": "bool",
    "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}  # fmt: skip
"""Triton's names that are not torch's."""


def main(folder: Path) -> None:
    """Makes the launches of a folder's order."""
    agent.remade = 0
    torch.empty(1, device="cuda")  # the GPU is started while the order is waited for
    order = load_order(folder)
    take_gpu(folder, alone=bool(order.repeats))
    size = 2 * order.cache_bytes if order.repeats else 0
    caches = torch.empty(size, dtype=torch.uint8, device="cuda")  # overwritten before each launch
    for number, task in enumerate(order.tasks):
        agent.remade = number
        launch, source = task.launch, task.launch.source
        texts = [{}, *order.candidates.values()] if order.repeats else [{}]
        memory: dict[int, torch.Tensor] = {}
        for edits in texts:
            functions = render.live_functions(source, folder / "rendered", edits)
            memory = memory or _memory(task)
            given = render.live_arguments(launch, functions, partial(_view, memory=memory))
            for _ in range(order.repeats or 1):
                caches.zero_()
                functions[source.kernel].run(
                    *given.values(), grid=launch.grid, warmup=False, **launch.options
                )
        torch.cuda.synchronize()


def _memory(task: Task) -> dict[int, torch.Tensor]:
    """uint8[bytes] of each storage of a launch, on the GPU."""
    types, memory = task.launch.element_types, {}
    for number, storage in task.launch.storages.items():
        held = memory[number] = torch.zeros(storage.bytes, dtype=torch.uint8, device="cuda")
        if storage.contents is not None:
            held.copy_(torch.from_numpy(np.load(storage.contents)))
        elif number in task.read and types[number].startswith("fp8"):
            held.random_(0, 256).bitwise_and_(0xBF)  # below 2 in every format, and no NaN
        elif number in task.read:
            dtype = _torch_type(types[number])
            held[: storage.bytes // dtype.itemsize * dtype.itemsize].view(dtype).normal_()
    return memory


def _view(tensor: TensorArgument, memory: Mapping[int, torch.Tensor]) -> torch.Tensor:
    """A tensor of a recorded launch, in other memory."""
    dtype = _torch_type(tensor.dtype)
    view = torch.empty(0, dtype=dtype, device="cuda")
    first, storage = tensor.offset_bytes // dtype.itemsize, memory[tensor.storage]
    return view.set_(storage.untyped_storage(), first, tensor.shape, tensor.strides)


def _torch_type(name: str) -> Any:
    return getattr(torch, _TYPES.get(name, name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
