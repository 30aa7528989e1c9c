# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How blocks start: where, and how long after a block of the same SM has ended.

    python starts.py > starts.csv              # with nvcc, on a GPU of compute capability 9.0

Blocks that spin for known clocks, and a stencil's, write down their SM, the clock of their start
and the clocks that they take. Blocks of a cluster tell which SMs share a GPC.
"""

from __future__ import annotations

import csv
import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = r"""
typedef unsigned int u32; typedef unsigned long long u64;
__device__ __forceinline__ u32 smid() {
  u32 v; asm volatile("mov.u32 %0, %%smid;" : "=r"(v) :: "memory"); return v;
}
__device__ __forceinline__ u64 now() {
  u64 v; asm volatile("mov.u64 %0, %%clock64;" : "=l"(v) :: "memory"); return v;
}
__device__ __forceinline__ void note(uint4* stamps, u64 begun) {
  if (threadIdx.x + threadIdx.y == 0)
    stamps[blockIdx.x] = make_uint4(smid(), (u32)begun, (u32)(now() - begun), 0);
}

extern "C" __global__ void spin(uint4* stamps, u32 clocks, float spread) {
  const u64 begun = now();
  u32 h = blockIdx.x * 2654435761u; h ^= h >> 15; h *= 2246822519u; h ^= h >> 13;
  const float part = (h >> 8) * (2.0f / 16777216.0f) - 1.0f;
  const u64 wanted = (u64)(clocks * (1.0f + spread * part));
  while (now() - begun < wanted) {}
  note(stamps, begun);
}

#define CLUSTERED(N) extern "C" __global__ void __cluster_dims__(N, 1, 1) \
  clustered_##N(uint4* stamps, u32 clocks) { \
    const u64 begun = now(); while (now() - begun < clocks) {} note(stamps, begun); }
CLUSTERED(2) CLUSTERED(4) CLUSTERED(8)

extern "C" __global__ void stencil_2d(uint4* stamps, const float* __restrict__ in, float* out,
                                      int size, u32 stride) {
  const u64 begun = now();
  const u32 block = (u32)((u64)blockIdx.x * stride % gridDim.x), columns = size / 32;
  const int x = block % columns * 32 + threadIdx.x, y = block / columns * 8 + threadIdx.y;
  if (!(x < 4 || y < 4 || x >= size - 4 || y >= size - 4)) {
    const float* own = in + (size_t)y * size + x;
    float sum = 0.5f * *own;
#pragma unroll
    for (int i = 1; i <= 4; i++)
      sum += (own[-i] + own[i] + own[-(long long)i * size] + own[(long long)i * size]) / (16 * i);
    out[(size_t)y * size + x] = sum;
  }
  note(stamps, begun);
}
"""
COLUMNS = ("kernel", "threads", "residents", "clocks", "spread", "blocks", "started_per_clock",
           "gap_10", "gap_50", "gap_90", "next_same_gpc", "next_same_tpc", "ascending")  # fmt: skip
SIZE = 8192


def call(name: str, *arguments: Any) -> None:
    """Call the driver; raises RuntimeError."""
    if status := getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments):
        raise RuntimeError(f"{name}: {status}")


class Gpu:
    """The first GPU, with the kernels loaded."""

    def __init__(self) -> None:
        context, device, sms = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
        call("cuInit", 0)
        call("cuDeviceGet", ctypes.byref(device), 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        call("cuCtxSetCurrent", context)
        call("cuDeviceGetAttribute", ctypes.byref(sms), 16, device)
        self.sms = sms.value
        with tempfile.TemporaryDirectory() as folder:
            source, built = Path(folder, "starts.cu"), Path(folder, "starts.cubin")
            source.write_text(SOURCE, encoding="utf-8")
            flags = ("-O3", "-std=c++17", "-arch=sm_90", "-cubin")
            subprocess.run(["nvcc", *flags, str(source), "-o", str(built)], check=True)
            self._module = ctypes.c_void_p()
            call("cuModuleLoadData", ctypes.byref(self._module), built.read_bytes())
        self.stamps = self.memory(16 << 20)

    def memory(self, size: int) -> ctypes.c_uint64:
        """So many bytes, all zero."""
        found = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(found), ctypes.c_size_t(size))
        call("cuMemsetD8_v2", found, 0, ctypes.c_size_t(size))
        return found

    def run(
        self, kernel: str, blocks: int, threads: tuple[int, int], shared: int, *arguments: Any
    ) -> tuple[int, Any]:
        """Blocks that fit an SM, and what each of the second launch's wrote down."""
        function, residents = ctypes.c_void_p(), ctypes.c_int()
        call("cuModuleGetFunction", ctypes.byref(function), self._module, kernel.encode())
        call("cuFuncSetAttribute", function, 8, shared)  # the most that it may ask for
        call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(residents), function,
             threads[0] * threads[1], ctypes.c_size_t(shared))  # fmt: skip
        passed = [self.stamps, *arguments]
        places = (ctypes.c_void_p * len(passed))(
            *(ctypes.addressof(argument) for argument in passed)
        )
        for _ in range(2):
            call("cuLaunchKernel", function, blocks, 1, 1, *threads, 1, shared, None, places, None)
            call("cuCtxSynchronize")
        stamps = np.empty((blocks, 4), np.uint32)
        size = ctypes.c_size_t(stamps.nbytes)
        call("cuMemcpyDtoH_v2", stamps.ctypes.data_as(ctypes.c_void_p), self.stamps, size)
        return residents.value, stamps[:, :3].astype(np.int64)


def groups(gpu: Gpu) -> list[int]:
    """A number for each SM that those of its GPC share, as far as clusters of blocks tell."""
    found = list(range(gpu.sms))
    for size in (2, 4, 8):
        blocks = gpu.sms * 4 // size * size
        _, stamps = gpu.run(f"clustered_{size}", blocks, (64, 1), 100 << 10, ctypes.c_uint32(3000))
        for cluster in stamps[:, 0].reshape(-1, size):
            least = min(found[sm] for sm in cluster)
            joined = {found[sm] for sm in cluster}
            found = [least if number in joined else number for number in found]
    return found


def summary(residents: int, stamps: Any, gpc: Any) -> list[float]:
    """What the last columns hold; the first blocks of each SM and the last few are left out."""
    sm, begun, took = stamps.T
    gaps: list[int] = []
    rate = 0.0
    for sm_ in range(len(gpc)):
        mine = np.flatnonzero(sm == sm_)
        starts = (begun[mine] - begun[mine[0]] + (1 << 31)) % (1 << 32) - (1 << 31)
        ends, starts = np.sort(starts + took[mine]), np.sort(starts)
        gaps += (starts[residents:] - ends[: len(starts) - residents]).tolist()
        rate += (len(starts) - 1) / (starts[-1] - starts[0])
    later = sm[residents * len(gpc) : -200]
    same = gpc[later[1:]] == gpc[later[:-1]]
    pairs = (later[1:] // 2 == later[:-1] // 2).mean()
    rising = (later[1:] > later[:-1])[same].mean()
    return [round(rate, 4), *np.percentile(gaps, (10, 50, 90)).round().astype(int).tolist(),
            *(round(float(value), 3) for value in (same.mean(), pairs, rising))]  # fmt: skip


def launches(sms: int) -> list[tuple[int, int, int, float, int]]:
    """Threads, bytes of shared memory, clocks, spread and blocks of each that spins."""
    found = []
    for residents in (1, 2, 4, 8, 16):
        shared = min(227 << 10, ((228 << 10) // residents - 1024) // 256 * 256)
        for clocks in (0, 500, 2000, 10000, 40000):
            for spread in (0, 0.3) if clocks > 500 else (0,):
                found.append((128, shared, clocks, spread, min(8 * sms * residents, 12000)))
    for clocks in (0, 1000, 2000, 4000, 10000):
        for spread in (0, 0.3) if clocks else (0,):
            found.append((256, 0, clocks, spread, 96 * sms))
    return found


def main() -> None:
    """Print a line a launch."""
    gpu = Gpu()
    gpc = np.array(groups(gpu))
    out = csv.writer(sys.stdout)
    out.writerow(COLUMNS)
    for threads, shared, clocks, spread, blocks in launches(gpu.sms):
        residents, stamps = gpu.run("spin", blocks, (threads, 1), shared,
                                    ctypes.c_uint32(clocks), ctypes.c_float(spread))  # fmt: skip
        told = (threads, residents, clocks, spread, blocks)
        out.writerow(("spin", *told, *summary(residents, stamps, gpc)))
    field, sums = (gpu.memory(4 * SIZE**2) for _ in range(2))
    for name, stride in (("stencil_2d", 1), ("stencil_2d, strided", 1019)):
        blocks = SIZE // 32 * SIZE // 8
        residents, stamps = gpu.run("stencil_2d", blocks, (32, 8), 0, field, sums,
                                    ctypes.c_int(SIZE), ctypes.c_uint32(stride))  # fmt: skip
        clocks = int(np.median(stamps[:, 2]))
        out.writerow((name, 256, residents, clocks, "", blocks, *summary(residents, stamps, gpc)))


if __name__ == "__main__":
    main()
