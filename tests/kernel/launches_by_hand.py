# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Kernels written to a file and launches of them, as capture would record them."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.frontends.triton.capture.sources import read_source
from intelliperf_swizzle.records import (
    Access,
    DescriptorArgument,
    Launch,
    Segment,
    Storage,
    TensorArgument,
    Trace,
)

HEADER = "import triton\nimport triton.language as tl\n\n\n"
BYTES = {"fp16": 2, "fp32": 4, "int32": 4, "bf16": 2}
_numbers = itertools.count()


def write_kernel(folder: Path, text: str, header: str = HEADER) -> Path:
    path = folder / f"app_{next(_numbers)}.py"
    path.write_bytes((header + text).encode())
    return path


def launch_of(
    path: Path,
    kernel: str,
    grid: tuple[int, ...],
    arguments: dict[str, Any],
    constexprs: dict[str, Any] | None = None,
    **options: Any,
) -> Launch:
    """Tensors are given as ("fp32", shape), one storage each."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    source, _ = read_source(getattr(module, kernel))
    storages: dict[int, Storage] = {}
    bound = {
        name: _tensor(value, storages) if isinstance(value, tuple) else value
        for name, value in arguments.items()
    }
    return Launch(
        kernel=kernel,
        source=source,
        grid=(*grid, 1, 1)[:3],
        arguments={**bound, **(constexprs or {})},
        constexprs=tuple(constexprs or {}),
        options=options,
        storages=storages,
    )


def _tensor(value: tuple[str, tuple[int, ...]], storages: dict[int, Storage]) -> TensorArgument:
    dtype, shape = value
    strides = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    number = len(storages)
    storages[number] = Storage(int(np.prod(shape)) * BYTES[dtype])
    return TensorArgument(number, dtype, shape, strides)


def bare_trace(launch: Launch, read: tuple[str, ...], **flags: Any) -> Trace:
    """What `validate` looks at in a trace: tile 0 reads the first line of some tensors."""
    segments, line = [], 16
    for name, argument in launch.arguments.items():
        if isinstance(argument, DescriptorArgument):
            argument = argument.base
        if isinstance(argument, TensorArgument):
            size = launch.storages[argument.storage].bytes
            segments.append(Segment((name,), line, size))
            line += -(-size // 128)
    bases = [segment.first_line for segment in segments if set(segment.names) & set(read)]
    offsets = np.full(launch.programs + 1, len(bases), np.int64)
    offsets[0] = 0
    return Trace(
        grid=launch.grid,
        tile_offset=offsets,
        access_base=np.array(bases, np.int32),
        access_shape=np.zeros(len(bases), np.int32),
        shape_offset=np.array([0, 1], np.int64),
        shape_line=np.zeros(1, np.int32),
        shape_sectors=np.ones(1, np.uint8),
        shape_kind=np.array([Access.READ], np.uint8),
        segments=tuple(segments),
        method="sequential",
        **flags,
    )


GEMM = '''
@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr, GROUP_M: tl.constexpr):
    """C = A B."""
    pid = tl.program_id(axis=0)
    num_m = tl.cdiv(M, BLOCK)
    num_n = tl.cdiv(N, BLOCK)
    group = GROUP_M * num_n
    first = pid // group * GROUP_M
    size = min(num_m - first, GROUP_M)
    pid_m = first + (pid % group) % size
    pid_n = (pid % group) // size
    rows = pid_m * BLOCK + tl.arange(0, BLOCK)
    columns = pid_n * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK)
    accumulator = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK)):
        inner = step * BLOCK + k
        a = tl.load(
            a_ptr + rows[:, None] * K + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * N + columns[None, :],
            mask=(inner[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        accumulator = tl.dot(a, b, accumulator)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], accumulator.to(tl.float16), mask=mask)
'''

TRANSPOSE = """
@triton.jit
def transpose(x, y, M, N, B: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    rows = pid_m * B + tl.arange(0, B)
    columns = pid_n * B + tl.arange(0, B)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    v = tl.load(x + rows[:, None] * N + columns[None, :], mask=mask)
    tl.store(y + columns[None, :] * M + rows[:, None], v, mask=mask)
"""

VOLUME = """
@triton.jit
def volume(x, y, n, B: tl.constexpr):
    plane = tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)
    at = (plane * tl.num_programs(0) + tl.program_id(axis=0)).to(tl.int64) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2 + tl.program_id(2), mask=at < n)
"""

HELPER = """
@triton.jit
def my_row():
    return tl.program_id(0)


@triton.jit
def scale_rows(x, y, n, B: tl.constexpr):
    row = my_row()
    at = tl.arange(0, B)
    tl.store(y + row * n + at, tl.load(x + row * n + at, mask=at < n) * 3, mask=at < n)
"""

PERSISTENT = """
@triton.jit
def persistent(x, y, tiles, B: tl.constexpr):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        at = tile * B + tl.arange(0, B)
        tl.store(y + at, tl.load(x + at) + 1)
"""

HISTOGRAM = """
@triton.jit
def add_up(x, total, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(total + at % 4, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)
"""

DESCRIPTORS = """
@triton.jit
def descriptors(x, y, BM: tl.constexpr, BN: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    y.store([pid_m * BM, pid_n * BN], x.load([pid_m * BM, pid_n * BN]) * 2)
"""

INDENTED = '''
def made():
    @triton.jit
    def first(x, n, B: tl.constexpr):
        """First elements
        of rows."""
        tl.store(x + tl.program_id(0) * n, shifted(tl.program_id(axis=0), 2))

    return first


@triton.jit
def shifted(value, by):
    return value + by


indented = made()
'''

CONTIGUOUS = """
xcd = pid % num_xcds
slot = pid // num_xcds
pid = xcd * (num_pids // num_xcds) + min(xcd, num_pids % num_xcds) + slot
"""
REVERSED = "pid = num_pids - 1 - pid"
GROUPED = """
rows = cdiv(M, BLOCK)
cols = cdiv(N, BLOCK)
first = pid // (4 * cols) * 4
size = min(rows - first, 4)
pid = (first + pid % (4 * cols) % size) * cols + pid % (4 * cols) // size
"""
SWAPPED = """
pid = pid_0 * grid_1 + pid_1
"""


def gemm_launch(folder: Path, m: int = 80, n: int = 112, k: int = 48) -> Launch:
    return launch_of(
        write_kernel(folder, GEMM),
        "gemm",
        (-(-m // 16) * -(-n // 16),),
        {"a_ptr": ("fp16", (m, k)), "b_ptr": ("fp16", (k, n)), "c_ptr": ("fp16", (m, n)),
         "M": m, "N": n, "K": k},
        {"BLOCK": 16, "GROUP_M": 1},
        num_warps=4,
    )  # fmt: skip


def transpose_launch(folder: Path) -> Launch:
    return launch_of(
        write_kernel(folder, TRANSPOSE),
        "transpose",
        (5, 7),
        {"x": ("fp32", (75, 110)), "y": ("fp32", (110, 75)), "M": 75, "N": 110},
        {"B": 16},
    )


def volume_launch(folder: Path) -> Launch:
    return launch_of(
        write_kernel(folder, VOLUME),
        "volume",
        (4, 3, 5),
        {"x": ("fp32", (60 * 16,)), "y": ("fp32", (60 * 16,)), "n": 60 * 16 - 5},
        {"B": 16},
    )


def helper_launch(folder: Path) -> Launch:
    return launch_of(
        write_kernel(folder, HELPER),
        "scale_rows",
        (37,),
        {"x": ("fp32", (37, 20)), "y": ("fp32", (37, 20)), "n": 20},
        {"B": 32},
    )


def indented_launch(folder: Path) -> Launch:
    arguments = {"x": ("fp32", (30,)), "n": 3}
    return launch_of(write_kernel(folder, INDENTED), "indented", (10,), arguments, {"B": 1})


def persistent_launch(folder: Path) -> Launch:
    return launch_of(
        write_kernel(folder, PERSISTENT),
        "persistent",
        (12,),
        {"x": ("fp32", (50 * 8,)), "y": ("fp32", (50 * 8,)), "tiles": 50},
        {"B": 8},
    )


def atomics_launch(folder: Path) -> Launch:
    return launch_of(
        write_kernel(folder, HISTOGRAM),
        "add_up",
        (30,),
        {"x": ("fp32", (30 * 16,)), "total": ("fp32", (4,)), "n": 30 * 16 - 3},
        {"B": 16},
    )


def descriptors_launch(folder: Path) -> Launch:
    path = write_kernel(folder, DESCRIPTORS)
    launch = launch_of(path, "descriptors", (4, 2), {}, {"BM": 64, "BN": 32})
    matrices = {
        name: DescriptorArgument(
            TensorArgument(number, "fp16", (256, 64), (64, 1)), (256, 64), (64, 1), (64, 32)
        )
        for number, name in enumerate(("x", "y"))
    }
    storages = {number: Storage(256 * 64 * 2) for number in range(2)}
    return replace(launch, arguments={**matrices, **launch.arguments}, storages=storages)
