// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// The threads of a workgroup, a fiber each if they wait for each other, and launches executed.
#pragma once

namespace {

enum State { READY, BARRIER, WAVE, DONE };
struct Accesses;
typedef std::vector<uint32_t> Place;  // in a kernel: position and iteration of each loop, position
struct Fiber {
  void* stack_pointer;
  State state;
  uint32_t thread[3];
  uint64_t put, turn;  // the lanes of a wave that are let go together have one turn
  uint8_t* stack;
  Place loops, at;  // of a thread that is traced
  uint64_t trail;
  std::pair<const Place, Accesses>* last;
};
std::vector<Fiber> fibers_;
Fiber* now_ = nullptr;
void* scheduler_;
uint64_t turns_ = 0, iterations_ = 0;  // iterations: of all loops of a workgroup
bool falling_ = false;                 // threads come in the order of falling numbers
bool stopped();
typedef void (*Entry)(void**);
Entry entry_;
void** arguments_;
constexpr size_t kStack = 128 << 10;

#if defined(__x86_64__)
constexpr bool kCanCompute = true;
extern "C" void sw_switch(void** save, void* load);
asm(R"(
.text
.globl sw_switch
.hidden sw_switch
.type sw_switch, @function
sw_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
#else
constexpr bool kCanCompute = false;
void sw_switch(void**, void*) { abort(); }
#endif

void fiber_body() {
  entry_(arguments_);
  now_->state = DONE;
  void* nowhere;
  sw_switch(&nowhere, scheduler_);
}

void wait_in(State state) {
  now_->state = state;
  sw_switch(&now_->stack_pointer, scheduler_);
}

void prepare(Fiber& fiber) {
  auto top = (uint64_t*)(fiber.stack + kStack);
  *--top = 0;  // alignment
  *--top = (uint64_t)fiber_body;
  for (int i = 0; i < 6; i++) *--top = 0;
  fiber.stack_pointer = top;
  fiber.state = READY;
  fiber.turn = fiber.trail = iterations_ = 0;
  fiber.loops.clear(), fiber.at.clear();
  fiber.last = nullptr;
}

// Of a wave's lanes that wait for others, those go on that are behind in the kernel.
void release_lanes(Fiber* first, Fiber* last) {
  const Place* behind = nullptr;
  for (Fiber* fiber = first; fiber < last; fiber++)
    if (fiber->state == WAVE && (!behind || fiber->at < *behind)) behind = &fiber->at;
  turns_++;
  for (Fiber* fiber = first; fiber < last; fiber++)
    if (fiber->state == WAVE && fiber->at == *behind) fiber->state = READY, fiber->turn = turns_;
}

// A workgroup whose threads wait for each other.
void run_fibers(uint32_t threads, dim3 block) {
  while (fibers_.size() < threads) {
    Fiber fiber{};
    fiber.stack =
        (uint8_t*)mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(fiber.stack, kPage, PROT_NONE);
    fibers_.push_back(fiber);
  }
  for (uint32_t t = 0; t < threads; t++) {
    uint32_t thread[3] = {t % block.x, t / block.x % block.y, t / block.x / block.y};
    memcpy(fibers_[t].thread, thread, sizeof thread);
    prepare(fibers_[t]);
  }
  for (;;) {
    for (uint32_t k = 0; k < threads; k++) {
      const uint32_t t = falling_ ? threads - 1 - k : k;
      if (fibers_[t].state != READY) continue;
      now_ = &fibers_[t];
      memcpy(sw_thread, now_->thread, sizeof sw_thread);
      sw_switch(&scheduler_, now_->stack_pointer);
      if (stopped()) return;
    }
    State awaited = DONE;  // lanes of a wave first, then the whole workgroup
    for (uint32_t t = 0; t < threads; t++)
      if (fibers_[t].state == WAVE || (fibers_[t].state == BARRIER && awaited == DONE))
        awaited = fibers_[t].state;
    if (awaited == DONE) return;
    Fiber* all = fibers_.data();
    if (awaited == WAVE)
      for (uint32_t t = 0; t < threads; t += kWave)
        release_lanes(all + t, all + std::min(t + kWave, threads));
    else
      for (uint32_t t = 0; t < threads; t++)
        if (fibers_[t].state == BARRIER) fibers_[t].state = READY;
  }
}

// --- execution
// ---------------------------------------------------------------------------------------------

void fill_implicit(const Configuration& how) {
  auto u32 = (uint32_t*)sw_implicit;
  auto u16 = (uint16_t*)sw_implicit;
  memset(sw_implicit, 0, sizeof sw_implicit);
  memset(sw_dispatch, 0, sizeof sw_dispatch);
  const dim3 &grid = how.grid, &block = how.block;
  u32[0] = grid.x, u32[1] = grid.y, u32[2] = grid.z;
  u16[6] = block.x, u16[7] = block.y, u16[8] = block.z;
  u16[32] = 3;
  u32[30] = how.shared;
  auto d16 = (uint16_t*)sw_dispatch;
  auto d32 = (uint32_t*)sw_dispatch;
  d16[2] = block.x, d16[3] = block.y, d16[4] = block.z;
  d32[3] = grid.x * block.x, d32[4] = grid.y * block.y, d32[5] = grid.z * block.z;
}

// Processor time of this thread.
double now() {
  timespec at;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return at.tv_sec + 1e-9 * at.tv_nsec;
}

// Whether so many workgroups would take longer than a budget, by those that are done: a few are
// slow.
struct Pace {
  double start = now(), last = start, slowest = 0;
  int64_t done = 0;

  void step() {
    const double at = now();
    slowest = std::max(slowest, at - last);
    last = at, done++;
  }
  double spent() const { return last - start; }
  double expected(int64_t groups) const {
    return done > 1 ? slowest + (spent() - slowest) / (done - 1) * (groups - 1) : 0;
  }
  bool too_slow(int64_t groups, double budget) const {
    return spent() > budget || (spent() > budget / 20 && expected(groups) > budget);
  }
};

struct Variable {
  uint8_t* at;
  int64_t bytes;  // -1: what a launch asks for
};
struct Native {  // a kernel for the host
  Entry entry;
  bool fibers;
  const Variable* shared;  // its shared memory, up to null
};

Native native_of(void* library, const std::string& symbol) {
  auto fibers = (const int*)symbol_of(library, "sw_fibers_" + symbol);
  return {(Entry)symbol_of(library, "sw_entry_" + symbol), fibers && *fibers,
          (const Variable*)symbol_of(library, "sw_shared_" + symbol)};
}

// Leaves in shared memory what other workgroups may have left: zeros, or what a seed says.
void fill_shared(const Native& kernel, const Configuration& how, uint64_t seed) {
  for (auto array = kernel.shared; array->at; array++) {
    const size_t bytes = array->bytes < 0 ? how.shared : array->bytes;
    for (size_t k = 0; k < bytes; k += 4) {
      const uint32_t word = seed * (k + 4) * 0x9E3779B97F4A7C15ull >> 32;
      memcpy(array->at + k, &word, std::min<size_t>(4, bytes - k));
    }
  }
}

void run_group(const Native& kernel, const Configuration& how, void** arguments, int64_t group) {
  const uint32_t threads = how.block.x * how.block.y * how.block.z;
  entry_ = kernel.entry, arguments_ = arguments;
  sw_group[0] = group % how.grid.x;
  sw_group[1] = group / how.grid.x % how.grid.y;
  sw_group[2] = group / how.grid.x / how.grid.y;
  if (kernel.fibers) return run_fibers(threads, how.block);
  for (uint32_t t = 0; t < threads; t++) {
    sw_thread[0] = t % how.block.x;
    sw_thread[1] = t / how.block.x % how.block.y;
    sw_thread[2] = t / how.block.x / how.block.y;
    entry_(arguments);
  }
}

// Executes a launch as far as the budget goes; says how much of it and why not more.
std::string execute(const Kernel& kernel, const Configuration& how, void** arguments) {
  if (compute_ == NEVER || !kCanCompute) return "\"computed\": false, \"why\": \"off\"";
  const Native native = native_of(library_, kernel.symbol);
  if (!native.entry) return "\"computed\": false, \"why\": \"not compiled\"";
  fill_implicit(how);
  const int64_t groups = (int64_t)how.grid.x * how.grid.y * how.grid.z;
  Pace pace;
  while (pace.done < groups && (compute_ != AUTO || !pace.too_slow(groups, budget_))) {
    run_group(native, how, arguments, pace.done);
    pace.step();
  }
  budget_ -= pace.spent();
  const bool whole = pace.done == groups;
  char text[160];
  snprintf(text, sizeof text, "\"computed\": %s, \"seconds\": %.3f, \"why\": \"%s\"",
           whole ? "true" : "false", pace.expected(groups), whole ? "" : "budget");
  return text;
}

}  // namespace
