# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A process of our own that makes recorded launches again: `python -m … FOLDER`, of an order.

Integers hold what was recorded, and so do small floats; large ones are drawn, so that a mapping
that holds here is still to be confirmed in the application. If the order has `repeats`, each launch
is made so often unmodified, then with each candidate, for a profiler; else once, for the agent.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton.language as tl

from intelliperf_swizzle import records
from intelliperf_swizzle.frontends.triton.gpu import agent
from intelliperf_swizzle.frontends.triton.gpu.memory import Arguments
from intelliperf_swizzle.frontends.triton.gpu.order import Task, load_order
from intelliperf_swizzle.frontends.triton.ir.render import import_functions, render_module

_TYPES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "int1": "bool",
    "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}  # fmt: skip
"""Triton's names that are not torch's."""


def main(folder: Path) -> None:
    """Makes the launches of a folder's order."""
    order = load_order(folder)
    size = 2 * order.cache_bytes if order.repeats else 0
    caches = torch.empty(size, dtype=torch.uint8, device="cuda")  # overwritten before each launch
    for number, task in enumerate(order.tasks):
        agent.remade = number
        launch, source = task.launch, task.launch.source
        texts = [{}, *order.candidates.values()] if order.repeats else [{}]
        memory: dict[int, torch.Tensor] = {}
        for edits in texts:
            functions = import_functions(render_module(source, folder / "rendered", edits))
            memory = memory or _memory(task)
            args, kwargs = _arguments(launch, memory, functions)
            for _ in range(order.repeats or 1):
                caches.zero_()
                functions[source.kernel].run(*args, grid=launch.grid, warmup=False, **kwargs)
        torch.cuda.synchronize()


def _memory(task: Task) -> dict[int, torch.Tensor]:
    """uint8[bytes] of each storage of a launch, on the GPU."""
    types = {one.storage: one.dtype for _, one in reversed([*task.launch.tensors()])}
    memory = {}
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


def _arguments(
    launch: records.Launch, memory: Mapping[int, torch.Tensor], functions: Mapping[str, Any]
) -> Arguments:
    """Those of a recorded launch, on other memory."""

    def made(value: records.Argument) -> Any:
        if isinstance(value, records.TensorArgument):
            dtype = _torch_type(value.dtype)
            view = torch.empty(0, dtype=dtype, device="cuda")
            first = value.offset_bytes // dtype.itemsize
            storage = memory[value.storage].untyped_storage()
            return view.set_(storage, first, value.shape, value.strides)
        if isinstance(value, records.DescriptorArgument):
            from triton.tools.tensor_descriptor import TensorDescriptor

            extents = map(list, (value.shape, value.strides, value.block_shape))
            return TensorDescriptor(made(value.base), *extents)
        if isinstance(value, records.DtypeArgument):
            return tl.dtype(value.name)
        if isinstance(value, records.FunctionArgument):
            return functions[value.key]
        return tuple(map(made, value)) if isinstance(value, tuple) else value

    return tuple(map(made, launch.arguments.values())), dict(launch.options)


def _torch_type(name: str) -> Any:
    return getattr(torch, _TYPES.get(name, name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
