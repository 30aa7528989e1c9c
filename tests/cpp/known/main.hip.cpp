// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Kernels of which a whole is only partly in their arguments, or partly recorded.
#include <hip/hip_runtime.h>

#include <cstdlib>
#include <vector>

#include "width.h"

struct Rows {
  float* const* at;
};

__global__ void chained(float* out, int** table) {
  out[blockIdx.x * WIDTH + threadIdx.x] = 1.0f;
  if (threadIdx.x == 0) table[1][blockIdx.x + 1] = table[1][blockIdx.x] + 1;
}

__global__ void batched(const float* const* in, Rows out) {
  out.at[blockIdx.y][blockIdx.x * WIDTH + threadIdx.x] =
      in[blockIdx.y][blockIdx.x * WIDTH + threadIdx.x];
}

__global__ void by_number(unsigned long long at, int* out) {
  reinterpret_cast<int*>(at)[blockIdx.x + 1] = reinterpret_cast<int*>(at)[blockIdx.x] + 1;
  out[blockIdx.x * WIDTH + threadIdx.x] = 1;
}

__global__ void beyond(const float* in, float* out) {
  out[blockIdx.x * WIDTH + threadIdx.x] = in[blockIdx.x * WIDTH + threadIdx.x + WIDTH];
}

__constant__ unsigned step = 0;  // libc has a function of that name
enum class Mode { plain, chain };
template <typename T, int Size, Mode mode>
__global__ void moved(const T* in, T* out, float min, float max) {
  const T found = in[blockIdx.x * Size + threadIdx.x];
  out[blockIdx.x * Size + threadIdx.x + step] = found < T(min) ? T(min) : found > T(max) ? T(max) : found;
  if (mode == Mode::chain && blockIdx.x) out[blockIdx.x * Size] = out[blockIdx.x * Size - 1];
}

struct Here {
  int value;
};
template <typename... T>
__global__ void packed(int* out, T... more) {
  out[blockIdx.x * WIDTH + threadIdx.x] = (0 + ... + more.value);
}

__global__ void beside(int* cells) {
  const unsigned at = blockIdx.x * 3 + threadIdx.x;
  if (threadIdx.x < 3) cells[at] = cells[at] * 2;
}

__device__ bool is_chained(const float* in, float* out, int how) {
  const auto at = reinterpret_cast<unsigned long long>(out);
  return how == 0 ? in > out : how == 1 ? at % 4096 == 512 : at * 0x9E3779B97F4A7C15ull >> 62 == 3;
}
template <int how>
__device__ void place(const float* in, float* out) {
  out[blockIdx.x * WIDTH + threadIdx.x] = in[blockIdx.x * WIDTH + threadIdx.x];
  if (blockIdx.x && is_chained(in, out, how)) out[blockIdx.x * WIDTH] = out[blockIdx.x * WIDTH - 1];
}
__global__ void by_order(const float* in, float* out) { place<0>(in, out); }
__global__ void by_page(const float* in, float* out) { place<1>(in, out); }
__global__ void by_hash(const float* in, float* out) { place<2>(in, out); }
__global__ void by_alignment(const float* in, float* out) {
  if (reinterpret_cast<unsigned long long>(in) % 16) return;
  const float *at = in + blockIdx.x * WIDTH, *end = at + WIDTH;
  float sum = 0;
  for (; at < end; at += 1 + threadIdx.x) sum += *at;
  out[blockIdx.x * WIDTH + threadIdx.x] = sum;
}

__global__ void claimed(int* cells) {
  const unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  if (cells[at] + cells[0] == cells[WIDTH - 1] && at % WIDTH % (WIDTH - 1) != 0) cells[at] = 1;
}
__global__ void pushed(int* cells) {
  const unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  if (cells[at] == 0) cells[(at + 1) % (gridDim.x * WIDTH)] = 1;
}
__global__ void claimed_twice(int* cells, int* alias) {
  const unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  if (cells[at] == 0) alias[at] = 1;
  if (cells[at] == 1) alias[at] = 2;
}

__global__ void counted(unsigned* cell) {
  if (threadIdx.x == 0) atomicInc(cell, blockIdx.x % 7 + 3);
}
__global__ void counted_alike(unsigned* cell) {
  if (threadIdx.x == 0) atomicInc(cell, 5);
}
__global__ void counted_wide(unsigned* cell) {
  if (threadIdx.x == 0 && blockIdx.x % 2) atomicAdd(cell + 1, 1u);
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(cell), 1ull);
}
__global__ void counted_apart(unsigned* cell) {  // an update that is atomic in a workgroup alone
  if (threadIdx.x == 0)
    __hip_atomic_fetch_add(cell, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
__global__ void counted_and_read(unsigned* cell, unsigned* out) {
  if (threadIdx.x == 0) atomicAdd(cell, 1u);
  if (blockIdx.x > 99) out[blockIdx.x] = cell[0];
}

// The compiler copies the loop's body; of which copies a launch makes some is seen.
__global__ void gated(int* cells, int* out, int chain, int each) {
  const int at = int(blockIdx.x * WIDTH + threadIdx.x);
  for (int i = 0; i < each; i++) out[at * 8 + i] = out[at * 8 + i] * 3 + i;
  if (chain && threadIdx.x == 0) cells[blockIdx.x + 1] = cells[blockIdx.x] + 1;
}

__global__ void voted(int* cells) {
  const unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  cells[at] = __syncthreads_count(cells[at] == 0) + __syncthreads_or(cells[at]);
}

// What brings workgroups together beyond the recorded size alone.
#define PLACED(NAME, PLACE)                               \
  __global__ void NAME(int* cells) {                      \
    const int x = int(blockIdx.x), y = int(blockIdx.y);   \
    const int at = y * int(gridDim.x) + x;                \
    cells[PLACE] = at;                                    \
  }
PLACED(apart, at)
PLACED(clamped, min(at, 4000))
PLACED(chosen, at > 4000 ? 7 : at + 8)
PLACED(pitched, y * 1024 + x)
PLACED(crossed, x ^ (y << 10))
PLACED(branched, (at < 4000 ? at + 1 : cells[4095] > 5 ? 3 : cells[4095]))

__global__ void rounded_up(int* cells, int count) {
  const int at = int(blockIdx.x * WIDTH + threadIdx.x);
  if (at < count) cells[at % 2040] = at;
}

__global__ void in_place(const int* in, int* out) {
  const unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  out[at] = in[at % 4096] + 1;
}

struct Both {
  const int* in;
  int* out;
};
__global__ void in_place_of_struct(Both both) {
  const unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  both.out[at] = both.in[at % 4096] + 1;
}

__device__ int held[2048];
__global__ void in_place_of_variable(int* out) {
  const unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  out[at] = held[at % 4096] + 1;
}

__global__ void stored_by_float(const float* in, int* out) {
  out[unsigned(sqrtf(in[blockIdx.x])) + blockIdx.x * WIDTH] = 1;
}
__global__ void loaded_by_float(const float* in, float* out) {
  out[blockIdx.x * WIDTH + threadIdx.x] = in[unsigned(sqrtf(in[blockIdx.x])) + threadIdx.x];
}

extern __shared__ int left[];  // by the workgroup before, on a GPU
__global__ void finds_left(const int* in, int* out) {
  const unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  if (in[at]) left[threadIdx.x] = in[at];
  __syncthreads();
  out[at] = left[WIDTH - 1 - threadIdx.x];
}
__global__ void goes_by_left(const int* in, int* out) {
  const unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  if (in[at]) left[threadIdx.x] = 1;
  __syncthreads();
  if (left[WIDTH - 1 - threadIdx.x] < 0) out[at] = 1;
}
__global__ void leaves_out(const int* in, int* out) {
  const unsigned at = blockIdx.x * WIDTH + threadIdx.x;
  if (threadIdx.x % 2) left[threadIdx.x] = in[at];
  __syncthreads();
  const int other = left[WIDTH - 1 - threadIdx.x];
  out[at] = threadIdx.x % 2 ? 0 : other;
}

template <typename T>
T* allocated(size_t count) {
  void* at = nullptr;
  if (hipMalloc(&at, count * sizeof(T)) != hipSuccess) exit(1);
  if (hipMemset(at, 0, count * sizeof(T)) != hipSuccess) exit(1);
  return static_cast<T*>(at);
}

template <typename T>
T** on_gpu(const std::vector<T*>& table) {
  T** at = allocated<T*>(table.size());
  const auto way = hipMemcpyHostToDevice;
  if (hipMemcpy(at, table.data(), table.size() * sizeof(T*), way) != hipSuccess) exit(1);
  return at;
}

int main(int argc, char**) {
  constexpr unsigned groups = 32, all = groups * WIDTH;
  int* chain = allocated<int>(groups + 1);
  float *in = allocated<float>(all), *out = allocated<float>(all);
  int* cells = allocated<int>(all);
  chained<<<groups, WIDTH>>>(out, on_gpu<int>({chain, chain}));
  batched<<<dim3(groups, 2), WIDTH>>>(on_gpu<float>({in, in}), {on_gpu<float>({out, allocated<float>(all)})});
  by_number<<<groups, WIDTH>>>(reinterpret_cast<unsigned long long>(chain), cells);
  beyond<<<groups, WIDTH>>>(in, out);
  moved<float, WIDTH, Mode::plain><<<groups, WIDTH>>>(in, out, -1.0f, 1.0f);
  packed<<<groups, WIDTH>>>(cells, Here{1});
  if (argc > 1) {
    moved<float, WIDTH, Mode::chain><<<groups, WIDTH>>>(in, out, -1.0f, 1.0f);
    moved<double, WIDTH, Mode::plain><<<groups, WIDTH>>>(nullptr, nullptr, -1.0f, 1.0f);
    packed<<<groups, WIDTH>>>(cells, Here{1}, Here{2});
  }
  beside<<<groups, WIDTH>>>(cells);
  by_order<<<groups, WIDTH>>>(in, out);
  by_page<<<groups, WIDTH>>>(in, out);
  by_hash<<<groups, WIDTH>>>(in, out);
  by_alignment<<<groups, WIDTH>>>(in, out);
  claimed<<<groups, WIDTH>>>(allocated<int>(all));
  pushed<<<groups, WIDTH>>>(allocated<int>(all));
  int* twice = allocated<int>(all);
  claimed_twice<<<groups, WIDTH>>>(twice, twice);
  voted<<<groups, WIDTH>>>(allocated<int>(all));
  gated<<<groups, WIDTH>>>(cells, allocated<int>(all * 8), 0, 3);
  unsigned* cell = allocated<unsigned>(4);
  counted<<<groups, WIDTH>>>(cell);
  counted_alike<<<groups, WIDTH>>>(cell);
  counted_wide<<<groups, WIDTH>>>(cell);
  counted_apart<<<groups, WIDTH>>>(cell);
  counted_and_read<<<groups, WIDTH>>>(cell, cell + 1);
  int* placed = allocated<int>(4096);
  for (auto* kernel : {apart, clamped, chosen, pitched, crossed, branched})
    kernel<<<dim3(groups, 2), WIDTH>>>(placed);
  rounded_up<<<groups, WIDTH>>>(placed, 2030);
  in_place<<<groups, WIDTH>>>(placed, placed);
  in_place_of_struct<<<groups, WIDTH>>>({placed, placed});
  void* variable = nullptr;
  if (hipGetSymbolAddress(&variable, HIP_SYMBOL(held)) != hipSuccess) return 1;
  in_place_of_variable<<<groups, WIDTH>>>(static_cast<int*>(variable));
  stored_by_float<<<groups, WIDTH>>>(in, cells);
  loaded_by_float<<<groups, WIDTH>>>(in, out);
  int *zeros = allocated<int>(all), *more = allocated<int>(all + 2);
  finds_left<<<groups, WIDTH, 4 * WIDTH>>>(zeros, more);
  goes_by_left<<<groups, WIDTH, 4 * WIDTH>>>(zeros, more);
  leaves_out<<<groups, WIDTH, 4 * WIDTH>>>(zeros, more);
  return hipDeviceSynchronize() != hipSuccess;
}
