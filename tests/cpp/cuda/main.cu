// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Kernels whose addresses come from all that a slice must follow, and some that it cannot follow.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <vector>

#include "second.h"

struct View {
  float* cells;
  int pitch, rows;
};
__constant__ int shift[2];
__device__ int counts[4] = {3, 1, 2, 0};

__device__ int cell(int pitch) { return blockIdx.y * pitch + blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void through_structure(View view, const float* in) {
  int at = cell(view.pitch);
  view.pitch = 0;  // a kernel's copy is its own
  if ((int)blockIdx.y < view.rows) view.cells[at] = in[at + shift[1]] + view.pitch;
}

// Loaded trip counts, and a template.
template <typename T>
__global__ void sparse(const int* begin, const int* column, const T* value, const T* x, T* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  T sum = 0;
  for (int at = begin[row]; at < begin[row + 1]; at++) sum += value[at] * __ldg(x + column[at]);
  y[row] = sum;
}

// All warps read one line.
__global__ void one_line(const float* in, float* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[blockIdx.x * 32];
}

__global__ void by_variables(float* out, unsigned stride) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < counts[i & 3]; k++) out[(i * stride + k * 64) % 4096u] = 1.0f;
}

__device__ const int steps[4] = {0, 96, 32, 64};

// Constants, the number of the lane, and a function of libdevice that decides values alone.
__global__ void by_lane(const float* in, float* out) {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  const int table[5] = {4, 0, 7, 1, 9};
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  out[at + 256 * table[blockIdx.x % 5] + steps[threadIdx.x % 4]] = sinf(in[at]) + lane;
}

// Sums of a warp by every shuffle, votes and barriers.
__global__ void warp_sums(const float* in, float* sum) {
  __shared__ float parts[4];
  float value = in[blockIdx.x * blockDim.x + threadIdx.x];
  const unsigned all = __activemask();
  for (int offset = warpSize / 2; offset; offset /= 2) value += __shfl_xor_sync(all, value, offset);
  value += __shfl_up_sync(all, value, 1) + __shfl_down_sync(all, value, 3, 8) + __shfl_sync(all, value, 5, 16);
  if (__any_sync(all, threadIdx.x % 32 == 7) && __popc(__ballot_sync(all, threadIdx.x & 1)) == 16) value += 1;
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum + blockIdx.x, parts[0] + parts[1] + parts[2] + parts[3]);
}

__global__ void gather(const int* in, int* out) {
  __shared__ int order[64];
  order[threadIdx.x] = (threadIdx.x * 7 + 3) % 64;
  __syncthreads();
  out[threadIdx.x] = in[order[63 - threadIdx.x]];
}

// Where a warp writes follows from what its lanes hold, and from votes of the whole workgroup.
__global__ void packed(const unsigned* in, int* out) {
  const int lane = threadIdx.x % 32, length = in[blockIdx.x * 128 + threadIdx.x] % 4;
  int end = length;
  for (int by = 1; by < 32; by *= 2) {
    const int more = __shfl_up_sync(~0u, end, by);
    if (lane >= by) end += more;
  }
  out[blockIdx.x * 8192 + (threadIdx.x / 32 * 128 + end) * 16 + __syncthreads_count(length > 1) % 16] = 1;
}

__global__ void votes(int* out) {
  const int odd = __syncthreads_count(threadIdx.x & 1), all = __syncthreads_and(threadIdx.x < 50);
  out[blockIdx.x * 64 + threadIdx.x] = 4 * odd + 2 * all + !!__syncthreads_or(threadIdx.x == 9);
}

// Half precision is PTX in CUDA's headers; where a row goes is a number in it.
__global__ void shorts(const __nv_bfloat162* in, float* out) {
  __nv_bfloat162 sum = __hfma2(in[threadIdx.x], __float2bfloat162_rn(2), __floats2bfloat162_rn(1, 3));
  sum = __hmax2(sum, __float2bfloat162_rn(-2));
  const __nv_bfloat16 one = __hsub(__hmul(sum.x, __float2bfloat16(.5f)), sum.y);
  out[blockIdx.x * 64 + threadIdx.x] = __bfloat162float(__hgt(one, __float2bfloat16(20)) ? __hneg(one) : one);
}

__global__ void halves(const __half2* in, float* out) {
  __half2 sum = __hfma2(__ldg(in + threadIdx.x), __float2half2_rn(2), __floats2half2_rn(1, 3));
  for (int by = 16; by; by /= 2) sum = __hadd2(sum, __shfl_xor_sync(~0u, sum, by));
  const float both = __high2float(sum) + (__hgt(__low2half(sum), __float2half(.5f)) ? __low2float(sum) : 0);
  out[blockIdx.x * 4096 + __half2int_rz(__low2half(in[threadIdx.x])) * 32 + threadIdx.x] = both;
}

// Hints for caches, read and written by four; a load that nothing uses.
__global__ void streamed(const float4* in, float4* out) {
  const float4* from = in + blockIdx.x * 64 + threadIdx.x;
  float4 v;
  asm volatile("ld.global.cs.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
  asm volatile("ld.global.cv.f32 %0, [%1];" : "=f"(v.x) : "l"(&from[512].x) : "memory");
  asm("{ .reg .pred p; setp.gt.f32 p, %0, 0f3F000000; selp.f32 %0, %1, %0, p; }" : "+f"(v.y) : "f"(v.z));
  asm volatile("st.global.wt.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(out + (from - in)), "f"(v.y), "f"(v.y), "f"(v.z), "f"(v.w));
}

// A helper that is given a vector by value; a pointer that may be null.
__device__ void put(float* at, float4 value) { *reinterpret_cast<float4*>(at) = value; }
__global__ void by_value(float* out, const float4* in, const float* bias) {
  const int at = blockIdx.x * 64 + threadIdx.x;
  put(out + 4 * at, in[at]);
  out[4096 + at] = in[at].x + (bias != nullptr ? bias[threadIdx.x] : 0.0f);
}

__global__ void by_assembly(const float* in, float* out) {
  float value;
  asm volatile("ld.global.relaxed.gpu.f32 %0, [%1];" : "=f"(value) : "l"(in + blockIdx.x));
  out[blockIdx.x] = value;
}

__global__ void __cluster_dims__(2, 1, 1) clustered(float* out) { out[blockIdx.x] = 1; }

extern "C" __global__ void passed(float* out, short offset, double, float4 view) {
  out[blockIdx.x * blockDim.x + threadIdx.x + offset + (int)view.z] = view.w;
}

template <typename T>
T* device(size_t count, const std::vector<T>& from = {}) {
  T* at = nullptr;
  if (cudaMalloc(&at, count * sizeof(T)) != cudaSuccess) abort();
  if (!from.empty() && cudaMemcpy(at, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice) != cudaSuccess) abort();
  return at;
}

int main() {
  const int rows = max(200, min(7, 9));  // nvcc declares them for the host
  std::vector<int> begin{0}, column;
  for (int row = 0; row < rows; row++) {
    for (int k = 0; k < (row * 5) % 9; k++) column.push_back((row * 37 + k * 101) % rows);
    begin.push_back((int)column.size());
  }
  std::vector<float> ones(1 << 16, 1.0f);
  float *a = device<float>(1 << 16, ones), *b = device<float>(1 << 16), *sums = device<float>(4);
  int shifts[2] = {0, 5};
  cudaMemcpyToSymbol(shift, shifts, sizeof shifts);
  through_structure<<<dim3(3, 5), 96>>>(View{b + 16, 300, 4}, a);
  sparse<float><<<4, 64>>>(device<int>(begin.size(), begin), device<int>(column.size(), column), a, a, b, rows);
  one_line<<<4, 256>>>(a, b);
  by_variables<<<6, 64>>>(b, 3);
  by_lane<<<4, 64>>>(a, b);
  cudaMemset(sums, 0, 16);
  warp_sums<<<4, 128>>>(a, sums);
  float found[4];
  cudaMemcpy(found, sums, sizeof found, cudaMemcpyDeviceToHost);
  cudaLaunchConfig_t how = {};
  how.gridDim = dim3(2), how.blockDim = dim3(64);
  cudaLaunchKernelEx(&how, one_line, (const float*)a, b);
  cudaLaunchAttribute clusters = {};
  clusters.id = cudaLaunchAttributeClusterDimension;
  clusters.val.clusterDim.x = 2, clusters.val.clusterDim.y = clusters.val.clusterDim.z = 1;
  how.attrs = &clusters, how.numAttrs = 1;
  cudaLaunchKernelEx(&how, one_line, (const float*)a, b);
  gather<<<1, 64>>>(device<int>(64), device<int>(64));
  std::vector<unsigned> mixed(512);
  for (unsigned k = 0; k < 512; k++) mixed[k] = k * k * 7 / 3;
  packed<<<4, 128>>>(device<unsigned>(512, mixed), device<int>(1 << 15));
  int *voted = device<int>(128), votes_of_last;
  votes<<<2, 64>>>(voted);
  cudaMemcpy(&votes_of_last, voted + 127, sizeof(int), cudaMemcpyDeviceToHost);
  std::vector<__half2> pairs(64);
  for (int k = 0; k < 64; k++) pairs[k] = __floats2half2_rn(k % 7, k / 8);
  std::vector<__nv_bfloat162> shorter(64);
  std::vector<float> shortened(64);
  for (int k = 0; k < 64; k++) shorter[k] = __floats2bfloat162_rn(k * 37 % 211 * .37f, k * 53 % 97 - 40.f);
  shorts<<<2, 64>>>(device<__nv_bfloat162>(64, shorter), b);
  cudaMemcpy(shortened.data(), b, 64 * sizeof(float), cudaMemcpyDeviceToHost);
  auto rounded = [](float x) { return float(__nv_bfloat16(x)); };
  for (int k = 0; k < 64; k++) {
    const float x = rounded(2 * float(shorter[k].x) + 1), y = rounded(2 * float(shorter[k].y) + 3);
    const float one = rounded(rounded(fmaxf(x, -2) * .5f) - fmaxf(y, -2));
    if (shortened[k] != (one > 20 ? -one : one)) return 3;
  }
  halves<<<2, 64>>>(device<__half2>(64, pairs), b);
  float halved;
  cudaMemcpy(&halved, b, sizeof halved, cudaMemcpyDeviceToHost);
  streamed << <4, 64>> >((float4*)a, (float4*)b);
  by_value<<<3, 64>>>(b, (float4*)a, isfinite(halved) ? nullptr : a);  // nvcc declares that, too
  clustered<<<2, 64>>>(b);
  by_assembly<<<2, 1>>>(a, b);
  passed<<<2, 64>>>(b, 3, 0, float4{0, 0, 32, 2.5f});
  cudaTextureObject_t texture;
  const bool refused = cudaCreateTextureObject(&texture, nullptr, nullptr, nullptr) != cudaSuccess;
  launch_second(a, b);
  printf("%g %g %d %g %s\n", found[0], found[3], votes_of_last, halved, refused ? "refused" : "made");
  return cudaDeviceSynchronize() != cudaSuccess;
}
