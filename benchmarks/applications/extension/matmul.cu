// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A product of square matrices by tiles of 32 x 32 in shared memory. Without PyTorch's headers, so that
// it compiles in a few seconds.
constexpr int TILE = 32, ROWS = 8;

__global__ void matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int size) {
  __shared__ float of_a[TILE][TILE], of_b[TILE][TILE];
  const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  float sums[TILE / ROWS] = {};
  for (int k = 0; k < size; k += TILE) {
    for (int i = 0; i < TILE; i += ROWS) {
      of_a[threadIdx.y + i][threadIdx.x] = a[(size_t)(y + i) * size + k + threadIdx.x];
      of_b[threadIdx.y + i][threadIdx.x] = b[(size_t)(k + threadIdx.y + i) * size + x];
    }
    __syncthreads();
    for (int j = 0; j < TILE; j++)
      for (int i = 0; i < TILE / ROWS; i++) sums[i] += of_a[threadIdx.y + i * ROWS][j] * of_b[j][threadIdx.x];
    __syncthreads();
  }
  for (int i = 0; i < TILE / ROWS; i++) c[(size_t)(y + i * ROWS) * size + x] = sums[i];
}

void launch_matmul(const float* a, const float* b, float* c, int size, cudaStream_t stream) {
  matmul_kernel<<<dim3(size / TILE, size / TILE), dim3(TILE, ROWS), 0, stream>>>(a, b, c, size);
}
