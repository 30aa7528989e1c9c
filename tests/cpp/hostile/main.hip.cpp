// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Kernels that a patch may easily get wrong.
#include "elsewhere.h"

#define TILE(width) (blockIdx.y * gridDim.x + hipBlockIdx_x) * (width)

__device__ int shared_helper() { return blockIdx.x * blockDim.x; }
__device__ int weight() { return blockIdx.x * 3 + 1; }  // decides values only
__device__ int first() { return blockIdx.x * 64; }
template <typename T>
__device__ T of_template(T by) { return blockIdx.x * by; }

__global__ void uses_helper(int* out) { out[shared_helper() + threadIdx.x] = 1; }
__global__ void uses_it_too(int* out) { out[shared_helper() + threadIdx.x] = 2; }

__global__ void in_macro(int* out) {  // TILE
  const int at = TILE(64) + threadIdx.x;
  out[at] = at ^ blockIdx.x;
}

__global__ void in_lambda(int* out, int width) {
  auto place = [&](int k) {
    const dim3 tile(blockIdx);
    return tile.x * width + k;
  };
  out[place(threadIdx.x)] = place(1);
}

__global__ void in_another_file(int* out) { out[row_of(64u) * 64 + threadIdx.x] = 1; }

__global__ void striding(const int* in, int* out, int count) {
  for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x)
    out[at] = in[at] + 1;
}

__global__ void in_place(int* cells) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  cells[at + 64] = cells[at] + 1;
}

__global__ void ticket(int* counter, int* out) {
  __shared__ int mine;
  if (threadIdx.x == 0) mine = atomicAdd(counter, 1);
  __syncthreads();
  out[mine * 64 + threadIdx.x] = blockIdx.x;
}

__global__ void last_block(const float* in, float* part, float* sum, unsigned* done) {
  __shared__ bool last;
  part[blockIdx.x] = in[blockIdx.x * 64];
  __threadfence();
  if (threadIdx.x == 0) last = atomicInc(done, gridDim.x) == gridDim.x - 1;
  __syncthreads();
  if (last && threadIdx.x == 0)
    for (unsigned k = 0; k < gridDim.x; k++) *sum += part[k];
}

template <typename T, int Width>
struct Tile { struct Storage { T at[Width]; }; };  // whose name in LLVM has a blank
template <typename T, int Width>
__global__ void __launch_bounds__(64, 4) twice(const T* in, T* out) {
  __shared__ typename Tile<T, Width>::Storage tile;
  T(&kept)[Width] = tile.at;
  kept[threadIdx.x] = in[blockIdx.x * Width + threadIdx.x];
  __syncthreads();
  T sum = kept[Width - 1 - threadIdx.x];
  for (int offset = warpSize / 2; offset; offset /= 2) sum += SHUFFLE_XOR(sum, offset);
  atomicAdd(out + blockIdx.x * Width + threadIdx.x % 4, sum + T(weight() + __popcll(BALLOT(threadIdx.x & 1))));
}

__global__ void by_intrinsic(int* out) { out[NUMBER_BY_INTRINSIC() * 64 + threadIdx.x] = 1; }

__global__ void two_readers(int* out) { out[first() + threadIdx.x] = blockIdx.x; }

__global__ void uses_template(int* out) { out[of_template(64) + threadIdx.x] = 1; }
template <typename T>
__global__ void never_made(T* out) { out[of_template(1)] = 1; }

// Where a key goes follows from shared memory and from the lanes of the wave.
__global__ void sorted(const int* in, int* out) {
  __shared__ int taken[64];
  const int key = in[blockIdx.x * 64 + threadIdx.x] & 3;
  taken[threadIdx.x] = __popcll(BALLOT(key == (threadIdx.x & 3)));
  __syncthreads();
  int at = 0;
  for (int k = 0; k < key; k++) at += taken[k];
  for (int k = 0; k < threadIdx.x; k++) at += SHUFFLE(key, k % warpSize) == key;
  out[blockIdx.x * 64 + at] = in[blockIdx.x * 64 + threadIdx.x];
}

__global__ void in_struct(int* out) {  // nothing but this kernel can name its `place`
  struct Tile {
    static __device__ int place(int k) { return blockIdx.x * 64 + k; }
  };
  out[Tile::place(threadIdx.x)] = blockIdx.x;
}

__global__ void captures_nothing(int* out) {
  int (*place)(int) = [](int k) { return (int)blockIdx.x * 64 + k; };
  out[place(threadIdx.x)] = place(1);
}

namespace own { __device__ int kept[64]; }
__global__ void to_variable(int* out) {
  out[blockIdx.x * 64 + threadIdx.x] = 1;
  own::kept[threadIdx.x] = blockIdx.x;
}

static __device__ int base[64] = {1, 2, 3};
__global__ void reads_own(int* out) { out[blockIdx.x * 64 + threadIdx.x] += base[blockIdx.x]; }
void launch_other(int* a);

__global__ void shares_a_header(int* out) { out[row_of_others() * 64 + threadIdx.x] = 1; }

#define NAME low
#define VALUE 1
#include "body.h"
#undef NAME
#undef VALUE
#define NAME high
#define VALUE 2
#include "body.h"

__global__ void turnstile(volatile int* turn, float* sum) {
  while (*turn != blockIdx.x) {}
  if (threadIdx.x == 0) *sum = *sum / 2 + blockIdx.x;
  __syncthreads();
  *turn = blockIdx.x + 1;
}

__global__ void jumps(long* list) {  // by what the launch itself stores
  const int at = blockIdx.x * 64 + threadIdx.x;
  for (long node; (node = list[at]) != -1 && list[node] != -1;) list[at] = list[node];
}
struct Begins {
  int at;
  __device__ Begins() : at(blockIdx.x * 64) {}
};
struct Given {
  int at = blockIdx.x * 64;
};
__device__ int by_default(int block = blockIdx.x) { return block * 64; }
__global__ void begins(int* out) { out[Begins().at + threadIdx.x] = 1; }
__global__ void given(int* out) { out[Given().at + threadIdx.x] = 1; }
__global__ void defaults(int* out) { out[by_default() + threadIdx.x] = blockIdx.x; }
template <typename Index>
__device__ void handed_on(Index block, int* out) {
  out[block.x * 64 + threadIdx.x] = block.x;
}
#ifdef __HIP__  // CUDA's cannot be handed on
__global__ void hands_over(int* out) { handed_on(blockIdx, out); }
#else
__global__ void hands_over(int* out) { handed_on(dim3(blockIdx), out); }
#endif

int main() {
  int* a;
  float *b, *c;
  if (hipMalloc(&a, 1 << 16) || hipMalloc(&b, 1 << 16) || hipMalloc(&c, 1 << 16)) return 1;
  int values[12 * 64];
  for (int k = 0; k < 12 * 64; k++) values[k] = k * k * 7 / 3;
  (void)hipMemcpy(b, values, sizeof values, hipMemcpyHostToDevice);
  sorted<<<12, 64>>>((int*)b, a);
  uses_helper<<<12, 64>>>(a);
  uses_it_too<<<12, 64>>>(a);
  in_macro<<<dim3(3, 4), 64>>>(a);
  in_lambda<<<12, 64>>>(a, 64);
  in_another_file<<<12, 64>>>(a);
  striding<<<12, 64>>>((int*)b, a, 2000);
  in_place<<<12, 64>>>(a);
  ticket<<<12, 64>>>(a, (int*)b);
  last_block<<<12, 64>>>(b, c, c + 64, (unsigned*)a);
  twice<float, 64><<<12, 64>>>(b, c);
  twice<int, 64><<<10, 64>>>((int*)b, a);
  by_intrinsic<<<12, 64>>>(a);
  launch_own(a, (int*)b);
  two_readers<<<12, 64>>>(a);
  uses_template<<<12, 64>>>(a);
  in_struct<<<12, 64>>>(a);
  captures_nothing<<<12, 64>>>(a);
  to_variable<<<12, 64>>>(a);
  reads_own<<<12, 64>>>(a);
  shares_a_header<<<12, 64>>>(a);
  low<<<12, 64>>>(a, 64);
  high<<<12, 64>>>(a, 60);
  launch_other(a);
  (void)hipMemcpy(a, values, 4, hipMemcpyHostToDevice);
  turnstile<<<12, 64>>>(a, b);
  long list[12 * 64];
  for (int k = 0; k < 12 * 64; k++) list[k] = k + 1 < 12 * 64 ? k + 1 : -1;
  (void)hipMemcpy(c, list, sizeof list, hipMemcpyHostToDevice);
  jumps<<<12, 64>>>((long*)c);
  begins<<<12, 64>>>(a);
  given<<<12, 64>>>(a);
  defaults<<<12, 64>>>(a);
  hands_over<<<12, 64>>>(a);
  return hipDeviceSynchronize() != hipSuccess;
}
