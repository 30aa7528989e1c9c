// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Launches one kernel under several orders: ./timing SIZE ROUNDS LIBRARY...
// Each library is one of the measured kernels, built with -shared -DSHARED. With ROUNDS = 0 each is
// launched once, for a profiler. Else a line for each: how many words differ from the first one's
// output, and its milliseconds in every round, in turning order and each from a flushed L2.
#include <dlfcn.h>

#define SHARED
#include "problem.cuh"

constexpr size_t FLUSHED_BYTES = 256 << 20;

__global__ void differing(const uint32_t* a, const uint32_t* b, size_t words, unsigned long long* found) {
  unsigned long long own = 0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words; i += (size_t)gridDim.x * blockDim.x)
    own += a[i] != b[i];
  if (own) atomicAdd(found, own);
}

template <typename Function>
Function* symbol(void* library, const char* name) {
  void* found = library ? dlsym(library, name) : nullptr;
  if (!found) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return reinterpret_cast<Function*>(found);
}

int main(int argc, char** argv) {
  if (argc < 4) return fprintf(stderr, "usage: %s SIZE ROUNDS LIBRARY...\n", argv[0]), 2;
  const int size = atoi(argv[1]), rounds = atoi(argv[2]), orders = argc - 3;
  std::vector<decltype(launch)*> launches;
  Buffers buffers{};
  for (int i = 0; i < orders; i++) {
    void* library = dlopen(argv[3 + i], RTLD_NOW | RTLD_LOCAL);
    launches.push_back(symbol<decltype(launch)>(library, "launch"));
    if (i == 0) symbol<decltype(prepare)>(library, "prepare")(size, &buffers);
  }
  if (rounds == 0) {
    for (auto* one : launches) {
      one(size, &buffers);
      check(cudaDeviceSynchronize());
    }
    return 0;
  }
  void *first = allocated(buffers.out_bytes), *flushed = allocated(FLUSHED_BYTES);
  auto* count = static_cast<unsigned long long*>(allocated(sizeof(unsigned long long)));
  std::vector<unsigned long long> wrong(orders);
  for (int i = 0; i < orders; i++) {
    check(cudaMemset(buffers.out, 0xff, buffers.out_bytes));
    check(cudaMemset(count, 0, sizeof *count));
    launches[i](size, &buffers);
    if (i == 0) check(cudaMemcpy(first, buffers.out, buffers.out_bytes, cudaMemcpyDeviceToDevice));
    differing<<<1024, 256>>>(static_cast<uint32_t*>(first), static_cast<uint32_t*>(buffers.out), buffers.out_bytes / 4, count);
    check(cudaMemcpy(&wrong[i], count, sizeof wrong[i], cudaMemcpyDeviceToHost));
  }
  std::vector<std::vector<float>> times(orders, std::vector<float>(rounds));
  cudaEvent_t begun, ended;
  check(cudaEventCreate(&begun));
  check(cudaEventCreate(&ended));
  for (int round = 0; round < rounds; round++)
    for (int step = 0; step < orders; step++) {
      const int at = (round + step * (round % 2 ? orders - 1 : 1)) % orders;
      check(cudaMemset(flushed, 0, FLUSHED_BYTES));
      check(cudaEventRecord(begun));
      launches[at](size, &buffers);
      check(cudaEventRecord(ended));
      check(cudaEventSynchronize(ended));
      check(cudaEventElapsedTime(&times[at][round], begun, ended));
    }
  for (int i = 0; i < orders; i++) {
    printf("%llu", wrong[i]);
    for (float one : times[i]) printf(" %.6f", one);
    printf("\n");
  }
  return 0;
}
