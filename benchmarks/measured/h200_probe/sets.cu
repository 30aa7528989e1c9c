// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// How full an H200's L2 gets before it forgets: one SM reads the same lines twice.
//
//   nvcc -O3 -arch=sm_90 -o sets sets.cu
//   ncu -k regex:k_twice --csv ... ./sets > sets.csv
//
// Which lines: all of a region, or some that a larger one is strewn with.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); exit(1); } } while (0)

constexpr uint32_t LINES = 1u << 24;  // of 128 bytes: 2 GiB
constexpr const char *CHOICES[] = {"one after the other", "every 2nd", "every 16th", "every 256th",
                                   "pairs, 256 apart", "random"};

__device__ uint32_t chosen(int choice, uint32_t i) {
    switch (choice) {
        case 0: return i;
        case 1: return 2 * i % LINES;
        case 2: return (16 * i) % LINES + 16 * i / LINES;
        case 3: return uint32_t((256ull * i) % LINES + 256ull * i / LINES);
        case 4: return uint32_t((i / 2 * 256ull) % LINES + (i / 2 * 256ull) / LINES * 2 + i % 2);
    }
    uint64_t x = i + 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return (x ^ (x >> 31)) % LINES;
}

// A warp reads a line; the second time begins when the first has ended.
__global__ void k_twice(const unsigned *memory, int choice, uint32_t lines) {
    unsigned sum = 0;
    for (int time = 0; time < 2; ++time) {
        for (uint32_t i = threadIdx.x / 32; i < lines; i += blockDim.x / 32)
            sum += __ldcg(memory + size_t(chosen(choice, i)) * 32 + threadIdx.x % 32);
        __syncthreads();
    }
    if (sum == 0x12345678u) printf("%u", sum);
}

int main() {
    unsigned *memory;
    CHECK(cudaMalloc(&memory, size_t(LINES) * 128));
    for (int choice = 0; choice < 6; ++choice)
        for (int mebibytes : {8, 12, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 44}) {
            fprintf(stderr, "%s,%d\n", CHOICES[choice], mebibytes);
            k_twice<<<1, 1024>>>(memory, choice, mebibytes * 8192);
            CHECK(cudaDeviceSynchronize());
        }
}
