// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Heat in a box: seven points, two buffers, coefficients in constant memory. ./heat N STEPS
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

__constant__ float weights[2];

struct Box {
  int n;
  __host__ __device__ size_t at(int x, int y, int z) const { return ((size_t)z * n + y) * n + x; }
  __host__ __device__ bool inside(int x, int y, int z) const {
    return x > 0 && y > 0 && z > 0 && x < n - 1 && y < n - 1 && z < n - 1;
  }
};

template <typename T>
__host__ __device__ T step(Box box, const T* in, int x, int y, int z, T own, T other) {
  T sum = in[box.at(x - 1, y, z)] + in[box.at(x + 1, y, z)] + in[box.at(x, y - 1, z)] +
          in[box.at(x, y + 1, z)] + in[box.at(x, y, z - 1)] + in[box.at(x, y, z + 1)];
  return own * in[box.at(x, y, z)] + other * sum;
}

template <typename T>
__global__ void heat(const T* __restrict__ in, T* __restrict__ out, Box box) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z;
  if (box.inside(x, y, z)) out[box.at(x, y, z)] = step(box, in, x, y, z, weights[0], weights[1]);
}

int main(int argc, char** argv) {
  const Box box{argc > 1 ? atoi(argv[1]) : 128};
  const int n = box.n, steps = argc > 2 ? atoi(argv[2]) : 2;
  std::vector<float> now((size_t)n * n * n), next, found;
  for (size_t i = 0; i < now.size(); i++) now[i] = (i * 7919 % 1000) / 1000.0f;
  next = found = now;
  const size_t bytes = now.size() * sizeof(float);
  const float used[2] = {0.4f, 0.1f};
  float *a, *b;
  if (cudaMalloc(&a, bytes) || cudaMalloc(&b, bytes) || cudaMemcpyToSymbol(weights, used, sizeof used)) return 1;
  if (cudaMemcpy(a, now.data(), bytes, cudaMemcpyHostToDevice) || cudaMemcpy(b, a, bytes, cudaMemcpyDeviceToDevice)) return 1;
  const dim3 block(32, 8), grid((n + 31) / 32, (n + 7) / 8, n);
  for (int s = 0; s < steps; s++, std::swap(a, b)) heat<<<grid, block>>>(a, b, box);
  if (cudaMemcpy(found.data(), a, bytes, cudaMemcpyDeviceToHost)) return 1;
  for (int s = 0; s < steps; s++, std::swap(now, next))
    for (int z = 1; z < n - 1; z++)
      for (int y = 1; y < n - 1; y++)
        for (int x = 1; x < n - 1; x++) next[box.at(x, y, z)] = step(box, now.data(), x, y, z, used[0], used[1]);
  size_t wrong = 0;
  for (size_t i = 0; i < now.size(); i++) wrong += !(fabsf(now[i] - found[i]) < 1e-6f);
  printf("%s after %d steps, %zu wrong\n", wrong ? "FAILED" : "PASSED", steps, wrong);
  return wrong ? 2 : 0;
}
