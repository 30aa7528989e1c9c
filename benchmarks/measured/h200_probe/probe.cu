// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Micro-benchmarks that settle how an H200's L2 keeps, copies and counts lines.
//
//   nvcc -O3 -arch=sm_90 -o probe probe.cu
//   ./probe map > map.csv && python cluster_map.py map.csv > partitions.csv
//   ncu -k regex:k_phases --csv ... ./probe phases partitions.csv
//
// A test is a list of phases. In a phase some SMs read (or write) some sectors of a region of
// memory. Phases begin at fixed times of the global timer, so that SMs need not talk to each other
// and nothing but the test's own sectors is counted.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); exit(1); } } while (0)

constexpr int SMS = 132, LINES = 256, MOST_PHASES = 3;
constexpr size_t MiB = 1 << 20;

__device__ unsigned smid() { unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); return s; }
__device__ uint64_t timer() { uint64_t t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }

// Latency of an atomic to each of LINES lines from each SM: atomics are done where the line is at home.
__global__ void k_latency(unsigned *lines, unsigned *best, int turn) {
    if (smid() != turn || threadIdx.x) return;
    for (int i = 0; i < LINES; ++i) {
        unsigned least = ~0u;
        for (int k = 0; k < 9; ++k) {
            long long t0 = clock64();
            unsigned old = atomicAdd(lines + size_t(i) * 1056, 1);
            asm volatile("" :: "r"(old) : "memory");
            if (old == 0xffffffffu) lines[0] = 1;
            long long t1 = clock64();
            least = min(least, unsigned(t1 - t0));
        }
        best[turn * LINES + i] = least;
    }
}

struct Phase {
    uint8_t acts[SMS];     // 0 = idle, else 1
    int share;             // 1 = the acting SMs divide the region, 0 = each takes all of it
    int rotate;            // shares are handed to the acting SMs this many places further on
    int write;
    size_t bytes;          // of the region, from its beginning
    int first, step;       // 4-byte words: the first, and from one access to the next
};
struct Test { int phases; Phase phase[MOST_PHASES]; };

__global__ void k_phases(const Test *test, unsigned *memory) {
    uint64_t begin = ((timer() >> 22) + 1) << 22;
    unsigned sum = 0;
    for (int p = 0; p < test->phases; ++p) {
        const Phase &phase = test->phase[p];
        unsigned me = smid();
        int acting = 0, mine = 0;
        for (int s = 0; s < SMS; ++s) { if (s == me) mine = acting; acting += phase.acts[s]; }
        size_t accesses = phase.bytes / 4 / phase.step, from = 0, to = accesses;
        if (phase.share) {
            mine = (mine + phase.rotate) % acting;
            from = accesses * mine / acting; to = accesses * (mine + 1) / acting;
        }
        bool go = phase.acts[me];
        int write = phase.write, first = phase.first, step = phase.step;
        while (timer() < begin + (uint64_t(p) << 22)) {}
        if (!go) continue;
        for (size_t i = from + threadIdx.x; i < to; i += blockDim.x) {
            unsigned *at = memory + first + i * step;
            if (write) { __stcg(at, unsigned(i)); }
            else sum += __ldcg(at);
        }
    }
    if (sum == 0x12345678) memory[0] = sum;
}

static std::vector<int> gpc(SMS), half(SMS);

static void map() {
    unsigned *lines, *best;
    CHECK(cudaMalloc(&lines, size_t(LINES) * 1056 * 4 + 4096));
    CHECK(cudaMallocManaged(&best, SMS * LINES * 4));
    for (int s = 0; s < SMS; ++s) for (int k = 0; k < 2; ++k) k_latency<<<SMS * 4, 32>>>(lines, best, s);
    CHECK(cudaDeviceSynchronize());
    printf("# latency: sm, then clocks of an atomic to each of %d lines\n", LINES);
    for (int s = 0; s < SMS; ++s) {
        printf("L,%d", s);
        for (int i = 0; i < LINES; ++i) printf(",%u", best[s * LINES + i]);
        printf("\n");
    }
}

extern "C" __global__ void k_big_cluster(unsigned *sm) {
    sm[blockIdx.x] = smid();
    uint64_t end = timer() + 300000;
    while (timer() < end) {}
}

static void clusters() {
    unsigned *sm;
    CHECK(cudaMallocManaged(&sm, 1024 * 4));
    CHECK(cudaFuncSetAttribute(k_big_cluster, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    CHECK(cudaFuncSetAttribute(k_big_cluster, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
    for (int size : {16, 12, 10, 8, 6, 4, 2}) {
        int blocks = SMS / size * size;
        cudaLaunchConfig_t config = {};
        config.gridDim = blocks; config.blockDim = 32; config.dynamicSmemBytes = 200 * 1024;
        cudaLaunchAttribute a; a.id = cudaLaunchAttributeClusterDimension;
        a.val.clusterDim.x = size; a.val.clusterDim.y = a.val.clusterDim.z = 1;
        config.attrs = &a; config.numAttrs = 1;
        if (cudaLaunchKernelEx(&config, k_big_cluster, sm) != cudaSuccess) { cudaGetLastError(); continue; }
        if (cudaDeviceSynchronize() != cudaSuccess) { cudaGetLastError(); continue; }
        for (int b = 0; b < blocks; b += size) {
            printf("C,%d", size);
            for (int i = 0; i < size; ++i) printf(",%u", sm[b + i]);
            printf("\n");
        }
    }
}

static void add(Test &t, const std::vector<int> &sms, size_t bytes, int first, int step,
                int share = 0, int write = 0, int rotate = 0) {
    Phase &p = t.phase[t.phases++];
    memset(&p, 0, sizeof p);
    for (int s : sms) p.acts[s] = 1;
    p.share = share; p.rotate = rotate; p.write = write; p.bytes = bytes; p.first = first; p.step = step;
}

static Test *device_test;
static unsigned *memory;

static void launch(const Test &t, const std::string &name) {
    CHECK(cudaMemcpy(device_test, &t, sizeof t, cudaMemcpyHostToDevice));
    k_phases<<<SMS, 1024, 100 * 1024>>>(device_test, memory);
    CHECK(cudaDeviceSynchronize());
    fprintf(stderr, "T,%s\n", name.c_str());
}

// partitions file: lines "sm,gpc,half"
static void phases(const char *file) {
    FILE *f = fopen(file, "r");
    int s, g, h;
    while (fscanf(f, "%d,%d,%d\n", &s, &g, &h) == 3) { gpc[s] = g; half[s] = h; }
    fclose(f);
    CHECK(cudaMalloc(&device_test, sizeof(Test)));
    CHECK(cudaMalloc(&memory, 256 * MiB));
    CHECK(cudaMemset(memory, 0, 256 * MiB));
    CHECK(cudaFuncSetAttribute(k_phases, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
    auto where = [&](auto keep) { std::vector<int> v; for (int s = 0; s < SMS; ++s) if (keep(s)) v.push_back(s); return v; };
    int a = 20;                                                      // a reader, and others as seen from it
    int twin = a ^ 1;
    int mate = where([&](int s) { return gpc[s] == gpc[a] && s / 2 != a / 2; }).back();
    int near = where([&](int s) { return half[s] == half[a] && gpc[s] != gpc[a]; }).front();
    int far = where([&](int s) { return half[s] != half[a]; }).front();
    std::vector<int> all = where([](int) { return true; });
    std::vector<int> side = where([&](int s) { return half[s] == half[a]; });
    std::vector<int> other = where([&](int s) { return half[s] != half[a]; });
    std::vector<int> pack = where([&](int s) { return gpc[s] == gpc[a]; });
    fprintf(stderr, "# a %d twin %d mate %d near %d far %d; %zu SMs on a's side, %zu in its GPC\n", a, twin, mate, near, far, side.size(), pack.size());
    size_t R = 8 * MiB;
    for (int second : {0, 1, 2, 3}) {
        Test t = {}; add(t, {a}, R, 0, 32); add(t, {a}, R, 8 * second, 32);
        launch(t, "a reads sector 0 of each line; a reads sector " + std::to_string(second));
    }
    for (auto [name, who] : {std::pair{"a", a}, {"twin", twin}, {"mate", mate}, {"near", near}, {"far", far}}) {
        Test t = {}; add(t, {a}, R, 0, 8); add(t, {who}, R, 0, 8);
        launch(t, std::string("a reads all; then all: ") + name);
    }
    { Test t = {}; add(t, {a}, R, 0, 8); add(t, {far}, R, 0, 32); add(t, {far}, R, 8, 32); launch(t, "a reads all; far reads sector 0; far reads sector 1"); }
    { Test t = {}; add(t, {a}, R, 0, 32); add(t, {far}, R, 8, 32); launch(t, "a reads sector 0; far reads sector 1"); }
    { Test t = {}; add(t, {a}, R, 0, 8); add(t, {far}, R, 0, 8); add(t, {far}, R, 0, 8); launch(t, "a reads all; far reads all; far reads all"); }
    for (auto [name, who] : {std::pair{"a", a}, {"twin", twin}, {"mate", mate}, {"near", near}, {"far", far}}) {
        Test t = {}; add(t, {a, who}, R, 0, 8); launch(t, std::string("cold, at once: a and ") + name);
    }
    { Test t = {}; add(t, pack, R, 0, 8); launch(t, "cold, at once: a's GPC"); }
    { Test t = {}; add(t, side, R, 0, 8); launch(t, "cold, at once: a's side"); }
    { Test t = {}; add(t, all, R, 0, 8); launch(t, "cold, at once: all"); }
    for (auto [name, who] : {std::pair{"twin", twin}, {"mate", mate}, {"near", near}, {"far", far}}) {
        Test t = {}; add(t, {a}, R, 0, 8); add(t, {a, who}, R, 0, 8); launch(t, std::string("a reads all; at once: a and ") + name);
    }
    { Test t = {}; add(t, {a}, R, 0, 8); add(t, pack, R, 0, 8); launch(t, "a reads all; at once: a's GPC"); }
    { Test t = {}; add(t, {a}, R, 0, 8); add(t, side, R, 0, 8); launch(t, "a reads all; at once: a's side"); }
    { Test t = {}; add(t, {a}, R, 0, 8); add(t, all, R, 0, 8); launch(t, "a reads all; at once: all"); }
    for (int mib : {12, 16, 20, 22, 24, 26, 28, 30, 32, 34, 36, 40, 44, 48, 52, 56, 60, 64, 72}) {
        Test t = {}; add(t, {a}, mib * MiB, 0, 8); add(t, {a}, mib * MiB, 0, 8);
        launch(t, "a reads twice MiB " + std::to_string(mib));
    }
    for (int mib : {16, 20, 24, 26, 28, 30, 32, 36, 44, 52, 60}) {
        Test t = {}; add(t, all, mib * MiB, 0, 8, 1); add(t, all, mib * MiB, 0, 8, 1, 0, 66); add(t, all, mib * MiB, 0, 8, 1);
        launch(t, "all, shared out, thrice, second time half way round, MiB " + std::to_string(mib));
    }
    for (int mib : {16, 24, 28, 32, 40, 48, 52, 56, 60, 64}) {
        Test t = {}; add(t, all, mib * MiB, 0, 8, 1); add(t, all, mib * MiB, 0, 8, 1);
        launch(t, "all, shared out, twice MiB " + std::to_string(mib));
    }
    for (int step : {8, 1}) {
        Test t = {}; add(t, {a}, R, 0, step, 0, 1); add(t, {a}, R, 0, 8); launch(t, "a writes, words apart " + std::to_string(step) + "; a reads all");
        Test u = {}; add(u, {a}, R, 0, step, 0, 1); add(u, {far}, R, 0, 8); launch(u, "a writes, words apart " + std::to_string(step) + "; far reads all");
        Test v = {}; add(v, {a}, R, 0, 8); add(v, {a}, R, 0, step, 0, 1); add(v, {far}, R, 0, 8); launch(v, "a reads; a writes, words apart " + std::to_string(step) + "; far reads all");
    }
    { Test t = {}; add(t, {a}, R, 0, 32, 0, 1); add(t, {a}, R, 8, 32); launch(t, "a writes a word of sector 0; a reads sector 1"); }
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "map")) { map(); clusters(); }
    else if (argc > 2 && !strcmp(argv[1], "phases")) phases(argv[2]);
    else { fprintf(stderr, "usage: probe map | probe phases PARTITIONS.csv\n"); return 1; }
}
