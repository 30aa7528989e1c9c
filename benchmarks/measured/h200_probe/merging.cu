// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Which reads of SMs are merged into one before the L2.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -o merging merging.cu
//   ncu -k reads --cache-control none ... ./merging partitions.csv warm
//   ncu -k reads --cache-control all ... ./merging partitions.csv cold
//
// Some SMs read the same chunks of memory, one every 6 us by the global timer, each some time after
// the first; and each reads as much again that is its own, if told so. Prints a line a launch.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); exit(1); } } while (0)

constexpr int SMS = 132, CHUNKS = 64, PERIOD_NS = 6000;

__device__ unsigned arrived[2];
__device__ unsigned long long begin;

__device__ unsigned long long timer() {
    unsigned long long t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t;
}

__device__ void fetch(unsigned shared, const char *at) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared), "l"(at) : "memory");
}

__global__ void prepare() { arrived[0] = arrived[1] = 0; }

__global__ void warm(const uint4 *data, size_t items, unsigned *sink) {  // both sides of the L2
    unsigned sum = 0;
    for (size_t i = blockIdx.x / 2 * blockDim.x + threadIdx.x; i < items; i += gridDim.x / 2 * blockDim.x)
        sum += __ldcg(data + i).x;
    if (sum == 12345) *sink = sum;
}

// lag: ns by SM, -1 = it reads nothing.
__global__ void __launch_bounds__(1024) reads(const char *data, const int *lag, int chunk, int own) {
    extern __shared__ char buffer[];
    unsigned shared = __cvta_generic_to_shared(buffer);
    int sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) {
        atomicAdd(&arrived[0], 1);
        while (*(volatile unsigned *)&arrived[0] < gridDim.x) {}
        if (blockIdx.x == 0) { begin = timer() + 200000; __threadfence(); }
        atomicAdd(&arrived[1], 1);
        while (*(volatile unsigned *)&arrived[1] < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    if (lag[sm] < 0) return;
    unsigned long long start = *(volatile unsigned long long *)&begin + lag[sm];
    for (size_t i = 0; i < CHUNKS; ++i) {
        while (timer() < start + i * PERIOD_NS) {}
        for (int o = threadIdx.x * 16; o < chunk; o += blockDim.x * 16) {
            fetch(shared + o, data + i * chunk + o);
            if (own) fetch(shared + chunk + o, data + ((1 + sm) * CHUNKS + i) * chunk + o);
        }
        asm volatile("cp.async.wait_all;");
        __syncthreads();
    }
}

static char *memory;
static int *lags;
static unsigned *sink;
static bool cold;

static void launch(const char *name, const std::vector<int> &sms, int apart_ns, int chunk, int own) {
    for (int s = 0; s < SMS; ++s) lags[s] = -1;
    for (size_t i = 0; i < sms.size(); ++i) lags[sms[i]] = i ? apart_ns : 0;
    prepare<<<1, 1>>>();
    size_t items = size_t(chunk) * CHUNKS / 16;
    if (!cold) warm<<<2 * SMS, 512>>>((uint4 *)memory, items, sink);
    if (!cold && own) for (int s : sms) warm<<<2 * SMS, 512>>>((uint4 *)memory + (1 + s) * items, items, sink);
    CHECK(cudaDeviceSynchronize());
    reads<<<SMS, 1024, 200 * 1024>>>(memory, lags, chunk, own);
    CHECK(cudaDeviceSynchronize());
    printf("%s,%s,%zu,%d,%d,%d,%zu\n", name, cold ? "memory" : "L2", sms.size(), apart_ns, chunk, own,
           sms.size() * items * (1 + own) / 2);
}

int main(int count, char **arguments) {
    cold = count > 2 && !strcmp(arguments[2], "cold");
    std::vector<std::vector<int>> gpc(12);
    std::ifstream file(arguments[1]);
    for (int sm, group, side; file >> sm && file.ignore() && file >> group && file.ignore() && file >> side;)
        gpc[group].push_back(sm);
    size_t bytes = size_t(SMS + 1) * CHUNKS * 16384;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemset(memory, 1, bytes));
    CHECK(cudaMallocManaged(&lags, SMS * 4));
    CHECK(cudaMalloc(&sink, 4));
    CHECK(cudaFuncSetAttribute(reads, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
    const auto &one = gpc[1];  // of 16 SMs
    for (size_t i = 1; i < one.size(); ++i) launch("one GPC", {one[0], one[i]}, 0, 16384, 0);
    for (int g : {2, 3, 5}) launch("two GPCs", {one[0], gpc[g][0]}, 0, 16384, 0);
    for (int chunk : {2048, 16384})
        for (int ns : {0, 32, 64, 96, 128, 160, 192, 256, 320, 384, 448, 512})
            launch("one GPC", {one[0], one[15]}, ns, chunk, 0);
    for (int own : {0, 1}) for (int chunk : {2048, 16384}) for (int sms : {2, 4, 6, 8, 12, 16})
        launch("one GPC", {one.begin(), one.begin() + sms}, 0, chunk, own);
}
