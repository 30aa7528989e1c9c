# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What threads compute is counted while a kernel of C++ is traced."""

from __future__ import annotations

import pytest
from recorded_programs import Recorded, record

import intelliperf_swizzle.frontends.cpp.compile.cuda_toolchain as tools
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.frontends.cpp.language import CUDA

pytestmark = pytest.mark.hip
THREADS = 64
PROGRAM = """
#include <cuda_runtime.h>
#define EACH for (int k = 0; k < 100; k++)
#define KERNEL(name) __global__ void name(float* data, const float* factor)
#define MINE data[blockIdx.x * blockDim.x + threadIdx.x]

KERNEL(fused) { float sum = MINE; EACH sum = sum * *factor + 1.5f; MINE = sum; }
KERNEL(apart) { float sum = MINE; EACH sum = __fadd_rn(__fmul_rn(sum, *factor), 1.5f); MINE = sum; }
KERNEL(doubles) { double sum = MINE; EACH sum = sum * *factor + 1.5; MINE = sum; }
KERNEL(roots) { float sum = MINE; EACH sum = rsqrtf(sum); MINE = sum; }
KERNEL(some) {
  float sum = MINE;
  if (threadIdx.x < 16) EACH sum = sum * *factor + 1.5f;
  MINE = sum;
}
KERNEL(until) { float sum = *factor; while (sum < 1e6f) sum = sum * 1.5f + 1.5f; MINE = sum; }
KERNEL(none) { MINE = *factor; }

__shared__ double table[164];
#define FILL for (int i = threadIdx.x; i < 164; i += 64) table[i] = *factor; __syncthreads()
KERNEL(own) { FILL; double sum = 0; EACH sum += table[threadIdx.x + k]; MINE = sum; }
KERNEL(same) { FILL; double sum = 0; EACH sum += table[k]; MINE = sum; }

int main() {
  float *data, *factor;
  cudaMalloc(&data, 4 * 64 * 4);
  cudaMalloc(&factor, 4);
  cudaMemset(data, 0, 4 * 64 * 4);
  cudaMemset(factor, 0, 4);
#define LAUNCH(name) name<<<4, 64>>>(data, factor);
  LAUNCH(fused) LAUNCH(apart) LAUNCH(doubles) LAUNCH(roots) LAUNCH(some) LAUNCH(until)
  LAUNCH(none) LAUNCH(own) LAUNCH(same)
  return cudaDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    try:
        tools.CudaToolchain.find()
    except SwizzleError as error:
        if "does not compile" in error.fact:  # what we ship
            raise
        pytest.skip(f"{error.fact}: {error.hint}")
    folder = tmp_path_factory.mktemp("arithmetic")
    (project := folder / "project").mkdir()
    (project / "main.cu").write_text(PROGRAM)
    return record(project, folder, ["./app"], "nvcc -O3 -arch=sm_90 main.cu -o app", CUDA)


@pytest.mark.parametrize(
    ("kernel", "a_lane"),
    [
        ("fused", 100 * 2), ("apart", 100 * 4), ("doubles", 100 * 4), ("roots", 100 * 16),
        ("some", 100 * 2 / 4), ("own", 100 * 16 + 42), ("same", 100 * 5 + 5),
    ],
)  # fmt: skip
def test_the_most_loaded_unit_of_a_lane(recorded: Recorded, kernel: str, a_lane: float) -> None:
    """Of 100 rounds, each a multiply-add, …, or a sum and 8 bytes of shared memory."""
    trace = recorded.trace(kernel)
    assert trace.notes == ()
    assert trace.waves == THREADS // 32
    assert trace.tile_arithmetic is not None
    assert trace.tile_arithmetic[:, :2].tolist() == [[0, 0]] * 4
    counted = trace.tile_arithmetic[:, 2] / THREADS
    assert counted.tolist() == [pytest.approx(a_lane, rel=0.05)] * 4


@pytest.mark.parametrize("kernel", ["until", "none"])
def test_what_cannot_be_counted_is_traced_without(recorded: Recorded, kernel: str) -> None:
    """A loop whose end only the arithmetic knows; and a kernel that computes nothing."""
    trace = recorded.trace(kernel)
    assert (trace.tiles, trace.tile_arithmetic) == (4, None)
