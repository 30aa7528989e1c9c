// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Attention without a mask: a block per head and 64 queries, a thread a query. SIZE keys a head.
#include "problem.cuh"

constexpr int HEADS = 128, DIMENSION = 64, QUERIES = 64, KEYS = 32;

__global__ void attention(const float* __restrict__ q, const float* __restrict__ k,
                          const float* __restrict__ v, float* __restrict__ out, int keys) {
  __shared__ float4 tile_k[KEYS][DIMENSION / 4], tile_v[KEYS][DIMENSION / 4];
  const size_t head = (size_t)blockIdx.y * keys * DIMENSION;
  const size_t row = head + (size_t)(blockIdx.x * QUERIES + threadIdx.x) * DIMENSION;
  float4 query[DIMENSION / 4], sum[DIMENSION / 4];
#pragma unroll
  for (int d = 0; d < DIMENSION / 4; d++) {
    query[d] = reinterpret_cast<const float4*>(q + row)[d];
    sum[d] = make_float4(0, 0, 0, 0);
  }
  float most = -1e30f, total = 0;
  for (int first = 0; first < keys; first += KEYS) {
    const float4* from_k = reinterpret_cast<const float4*>(k + head + (size_t)first * DIMENSION);
    const float4* from_v = reinterpret_cast<const float4*>(v + head + (size_t)first * DIMENSION);
    for (int i = threadIdx.x; i < KEYS * DIMENSION / 4; i += QUERIES) {
      tile_k[i / (DIMENSION / 4)][i % (DIMENSION / 4)] = from_k[i];
      tile_v[i / (DIMENSION / 4)][i % (DIMENSION / 4)] = from_v[i];
    }
    __syncthreads();
    for (int key = 0; key < KEYS; key++) {
      float score = 0;
#pragma unroll
      for (int d = 0; d < DIMENSION / 4; d++) {
        const float4 other = tile_k[key][d];
        score += query[d].x * other.x + query[d].y * other.y + query[d].z * other.z + query[d].w * other.w;
      }
      score *= 0.125f;
      const float now = fmaxf(most, score), kept = __expf(most - now), weight = __expf(score - now);
      most = now;
      total = total * kept + weight;
#pragma unroll
      for (int d = 0; d < DIMENSION / 4; d++) {
        const float4 other = tile_v[key][d];
        sum[d].x = sum[d].x * kept + weight * other.x;
        sum[d].y = sum[d].y * kept + weight * other.y;
        sum[d].z = sum[d].z * kept + weight * other.z;
        sum[d].w = sum[d].w * kept + weight * other.w;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int d = 0; d < DIMENSION / 4; d++) {
    const float4 s = sum[d];
    reinterpret_cast<float4*>(out + row)[d] =
        make_float4(s.x / total, s.y / total, s.z / total, s.w / total);
  }
}

void prepare(int size, Buffers* b) {
  const size_t count = (size_t)HEADS * size * DIMENSION;
  for (int i = 0; i < 3; i++) b->in[i] = filled(count);
  b->out = allocated(b->out_bytes = count * sizeof(float));
}

void launch(int size, const Buffers* b) {
  attention<<<dim3(size / QUERIES, HEADS), QUERIES>>>(
      (const float*)b->in[0], (const float*)b->in[1], (const float*)b->in[2], (float*)b->out, size);
}
