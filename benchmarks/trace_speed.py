# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How long traces take, against the plain interpreter: `python benchmarks/trace_speed.py`.

Each row runs in processes of its own. `whole` is the wall time of `trace(launch)` with the start
of its child process; `trace` is the part inside the child, in CPU seconds; memory is the peak of a
process that traces. The ratio is that of Triton's own interpreter, without any hook, to the trace,
in one process. The last rows are programs of `benchmarks/hip`, recorded without a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "trace"))

import zoo

from intelliperf_swizzle.frontends.ports import Builder, KernelLanguage, RecordRequest, frontends
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import Launch, Storage, TensorArgument


def contiguous(storage: int, dtype: str, *shape: int) -> TensorArgument:
    """A tensor in C order over a whole storage."""
    strides = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    return TensorArgument(storage, dtype, shape, strides)


def launch_of(kernel: Any, grid: tuple[int, int, int], **arguments: Any) -> Launch:
    """A launch without contents, except that tensors of int32 are zero."""
    folder = Path(tempfile.mkdtemp())
    storages = {}
    for argument in arguments.values():
        if isinstance(argument, TensorArgument):
            size = int(np.prod(argument.shape)) * {"fp16": 2, "fp32": 4, "int32": 4}[argument.dtype]
            contents = None
            if argument.dtype == "int32":
                contents = str(folder / f"{argument.storage}.npy")
                np.save(contents, np.zeros(size, np.uint8))
            storages[argument.storage] = Storage(size, contents)
    return Launch(
        kernel.fn.__name__, zoo.source_of(kernel), grid, arguments,
        tuple(kernel.fn.__annotations__), {}, storages,
    )  # fmt: skip


def gemm(n: int, block: int, block_k: int) -> Launch:
    """The tutorial's GEMM, n x n x n in fp16."""
    return launch_of(
        zoo.gemm, ((n // block) ** 2, 1, 1),
        a_ptr=contiguous(0, "fp16", n, n), b_ptr=contiguous(1, "fp16", n, n),
        c_ptr=contiguous(2, "fp16", n, n), M=n, N=n, K=n, sam=n, sak=1, sbk=n, sbn=1, scm=n,
        scn=1, BM=block, BN=block, BK=block_k, GROUP=8,
    )  # fmt: skip


def stream_k(n: int, block: int, block_k: int, programs: int) -> Launch:
    """A persistent GEMM whose last tiles are shared out step by step."""
    tiles = (n // block) ** 2
    full = (tiles // programs - (tiles % programs == 0)) * programs
    steps = (tiles - full) * (n // block_k)
    return launch_of(
        zoo.stream_k, (programs, 1, 1),
        a_ptr=contiguous(0, "fp16", n, n), b_ptr=contiguous(1, "fp16", n, n),
        c_ptr=contiguous(2, "fp16", n, n), partial=contiguous(3, "fp32", programs, block, block),
        locks=contiguous(4, "int32", programs), M=n, N=n, K=n, full_tiles=full,
        steps_each=steps // programs, extra_steps=steps % programs, PROGRAMS=programs, BM=block,
        BN=block, BK=block_k,
    )  # fmt: skip


def transpose(n: int, block: int) -> Launch:
    """A transpose of n x n floats, a million small programs."""
    return launch_of(
        zoo.transpose, (n // block, n // block, 1),
        x=contiguous(0, "fp32", n, n), o=contiguous(1, "fp32", n, n), M=n, N=n, BM=block,
        BN=block,
    )  # fmt: skip


def hip(program: str, *sizes: int) -> Launch:
    """The first launch of a program of `benchmarks/hip`, which is built and not executed."""
    request = RecordRequest(
        command=[f"./{program}", *map(str, sizes)], cwd=Path(__file__).resolve().parent / "hip",
        folder=Path(tempfile.mkdtemp()), target=load_target("mi300x"),
        build_command=f"make {program}", compute="never",
    )  # fmt: skip
    return hip_frontend().record(request).launches[0]


def is_compiled(launch: Launch) -> bool:
    """Whether it is of a program in C++."""
    return "device_kernel" in launch.options


def hip_frontend() -> KernelLanguage:
    """The front end whose programs are built for AMD GPUs."""
    return next(
        frontend
        for frontend in frontends()
        if isinstance(frontend, Builder) and frontend.backend == "hip"
    )


ROWS: dict[str, tuple[Callable[[], Launch], bool, str]] = {
    "GEMM 1024^3, 64^3 tiles": (lambda: gemm(1024, 64, 64), True, "ratio >= 100"),
    "GEMM 8192^3, 128x128x64": (lambda: gemm(8192, 128, 64), False, "whole <= 2 s, <= 1 GB"),
    "stream-K 8192^3, 256x256x64, 304 programs": (
        lambda: stream_k(8192, 256, 64, 304), False, "whole <= 20 s",
    ),
    "transpose 32768^2, 32x32 tiles": (
        lambda: transpose(32768, 32), False, "whole <= 10 s, <= 2 GB",
    ),
    "HIP GEMM 8192^3": (lambda: hip("gemm", 8192, 8192, 8192), False, "whole <= 10 s, <= 1.5 GB"),
    "HIP transpose 16384^2": (lambda: hip("transpose", 16384), False, "whole <= 2 s"),
    "HIP stencil 8192^2": (lambda: hip("stencil", 8192, 1), False, "whole <= 4 s"),
}  # fmt: skip


def measure(name: str) -> dict[str, Any]:
    """One row, in this process and its children."""
    launch = ROWS[name][0]()
    trace = (hip_frontend() if is_compiled(launch) else frontends()[-1]).trace
    begun = time.perf_counter()
    found = trace(launch)
    whole = time.perf_counter() - begun
    return {
        "whole_s": whole,
        "lines_m": found.line_accesses / 1e6,
        "method": found.method,
        "load": os.getloadavg()[0],
    }


def measure_inside(name: str) -> dict[str, Any]:
    """The trace alone, the kernel's compilation included."""
    from intelliperf_swizzle.frontends.cpp.trace import trace_slices
    from intelliperf_swizzle.frontends.triton.tracing.execute import trace_here

    launch = ROWS[name][0]()
    with tempfile.TemporaryDirectory() as folder:
        trace_here(gemm(128, 32, 32), Path(folder))  # loads the compiled functions
        traced = trace_slices.trace_here if is_compiled(launch) else trace_here
        begun = time.process_time()
        traced(launch, Path(folder))
        seconds = {"trace_s": time.process_time() - begun}
        seconds["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return seconds


def measure_plain(name: str) -> dict[str, Any]:
    """Triton's own interpreter on the same launch, if that ends soon."""
    make, with_plain, _ = ROWS[name]
    return {"plain_s": _plain_seconds(make())} if with_plain else {}


def _plain_seconds(launch: Launch) -> float:
    import torch

    dtypes = {"fp16": torch.float16, "fp32": torch.float32, "int32": torch.int32}
    arguments = {
        name: torch.zeros(value.shape, dtype=dtypes[value.dtype])
        if isinstance(value, TensorArgument)
        else value
        for name, value in launch.arguments.items()
    }
    begun = time.perf_counter()
    getattr(zoo, launch.kernel)[launch.grid](**arguments)
    return time.perf_counter() - begun


def main() -> None:
    """Print the table, or one row's numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", choices=ROWS)
    parser.add_argument("--part", choices=PARTS, default="whole")
    options = parser.parse_args()
    if options.row:
        print(json.dumps(PARTS[options.part](options.row)))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    heads = ("launch", "whole s", "trace s", "plain s", "ratio", "peak MB", "M lines", "reach")
    print("{:<42}{:>8}{:>8}{:>8}{:>7}{:>9}{:>9}  {}".format(*heads))
    for name, (_, _, reach) in ROWS.items():
        row = {key: value for part in PARTS for key, value in _in_child(name, part).items()}
        plain_s, trace_s = row.get("plain_s"), row["trace_s"]
        plain = "" if plain_s is None else f"{plain_s:.2f}"
        ratio = "" if plain_s is None else f"{plain_s / trace_s:.0f}"
        print(
            f"{name:<42}{row['whole_s']:>8.2f}{trace_s:>8.3f}{plain:>8}{ratio:>7}"
            f"{row['peak_mb']:>9.0f}{row['lines_m']:>9.1f}  {reach} (load {row['load']:.1f})",
            flush=True,
        )


def _in_child(name: str, part: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--row", name, "--part", part]
    environment = {**os.environ, "TRITON_INTERPRET": str(int(part == "plain"))}
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    numbers: dict[str, Any] = json.loads(output.stdout.splitlines()[-1])
    return numbers


PARTS = {"whole": measure, "trace": measure_inside, "plain": measure_plain}


if __name__ == "__main__":
    main()
