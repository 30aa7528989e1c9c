// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A stand-in for the HIP or CUDA runtime on a machine without a GPU: what both have, included by
// `hip.cpp` and `cuda.cpp`, which say how a call is named. Device memory is host memory at fixed
// low addresses; each launch is written down, and executed where the kernel's bitcode was compiled
// for the host: a workgroup at a time, a fiber for each thread that waits for others.
//
// SWIZZLE_HIP_FOLDER names the folder of the recording, with
//   kernels.txt     a line for each kernel: symbol, contents that decide ("-" none, "*" all, or
//                   "v" for variables and numbers of parameters), then offset:bytes of each parameter
//   globals.txt     a line for each device variable: name address bytes
//   kernels.so      the kernels for the host, if there are any
//   launches.jsonl  is written: a launch a line
//   contents/       is written: contents of buffers that decide addresses, by their hash
// SWIZZLE_HIP_COMPARE names a folder in which to compare these kernels with edited ones:
//   edited.so       the edited kernels for the host
//   compare.txt     a line for each launch: its hash, a file with the tile of each program (int64),
//                   and programs that must be compared, the most telling first
// SWIZZLE_HIP_COMPUTE is auto, always or never; SWIZZLE_HIP_BUDGET the seconds that auto may take;
// SWIZZLE_HIP_LINES a file for the lines of each executed workgroup.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "contents.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define CALL(name) EXPORT Error API(name)

typedef API(Error_t) Error;
typedef API(Stream_t) Stream;
typedef API(Event_t) Event;
typedef API(MemcpyKind) Direction;
constexpr Error kSuccess = API(Success);

// --- what the compiled kernels use -----------------------------------------------------------------

extern "C" {
__attribute__((visibility("default"))) uint32_t sw_thread[3], sw_group[3];
__attribute__((visibility("default"))) alignas(16) uint8_t sw_implicit[256];
__attribute__((visibility("default"))) alignas(16) uint8_t sw_dispatch[64];
__attribute__((visibility("default"))) alignas(128) uint8_t sw_dynamic_lds[1 << 18];
}

namespace {

constexpr uintptr_t kGlobals = 15ull << 30;  // device variables; kGlobals of native.py
constexpr uintptr_t kEnd = 256ull << 30;  // a line's number fits 31 bits

struct Parameter { size_t offset, bytes; };
struct Kernel {
  std::string symbol, contents;
  std::vector<Parameter> parameters;
};
struct Buffer { size_t bytes, room; };
struct Configuration { dim3 grid, block; size_t shared; Stream stream; };

std::recursive_mutex lock_;
std::unordered_map<std::string, Kernel> table_;
std::unordered_map<const void*, std::string> by_host_;
std::unordered_map<std::string, uintptr_t> globals_;
std::unordered_map<const void*, std::string> global_of_host_;
std::map<uintptr_t, Buffer> live_;
std::multimap<size_t, uintptr_t> freed_;
uintptr_t next_ = kBegin;
std::string folder_;
int log_ = -1, lines_ = -1;
void* library_ = nullptr;
enum { AUTO, ALWAYS, NEVER } compute_ = AUTO;
double budget_ = 20;
std::unordered_map<std::string, int> seen_;
thread_local std::vector<Configuration> configurations_;
thread_local Error last_ = kSuccess;

Error failed(Error error) { return last_ = error; }

void write_line(int file, const std::string& text) {
  if (file >= 0 && write(file, text.data(), text.size()) < 0) perror("swizzle: launches.jsonl");
}

void* symbol_of(const std::string& name) {
  return library_ ? dlsym(library_, name.c_str()) : nullptr;
}

bool map_at(uintptr_t at, size_t bytes) {
  return mmap((void*)at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED;
}

void read_tables() {
  std::ifstream kernels(folder_ + "/kernels.txt");
  for (std::string line; std::getline(kernels, line);) {
    std::istringstream words(line);
    Kernel one;
    words >> one.symbol >> one.contents;
    for (std::string word; words >> word;) {
      Parameter p{};
      if (sscanf(word.c_str(), "%zu:%zu", &p.offset, &p.bytes) == 2) one.parameters.push_back(p);
    }
    table_[one.symbol] = one;
  }
  std::ifstream globals(folder_ + "/globals.txt");
  std::string name;
  uintptr_t address;
  size_t bytes, end = kGlobals;
  while (globals >> name >> address >> bytes) {
    globals_[name] = address;
    live_[address] = {bytes, 0};
    end = std::max(end, address + bytes);
  }
  if (end > kGlobals) map_at(kGlobals, end - kGlobals);
}

void read_comparison(const std::string& folder);

void begin() {
  static bool begun = false;
  if (begun) return;
  begun = true;
  const char* folder = getenv("SWIZZLE_HIP_FOLDER");
  if (!folder) return;
  folder_ = folder;
  log_ = open((folder_ + "/launches.jsonl").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (const char* file = getenv("SWIZZLE_HIP_LINES"))
    lines_ = open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (const char* how = getenv("SWIZZLE_HIP_COMPUTE"))
    compute_ = !strcmp(how, "never") ? NEVER : !strcmp(how, "always") ? ALWAYS : AUTO;
  if (const char* seconds = getenv("SWIZZLE_HIP_BUDGET")) budget_ = atof(seconds);
  read_tables();
  const char* compare = getenv("SWIZZLE_HIP_COMPARE");
  if (compare) read_comparison(compare);
  if (compute_ != NEVER || compare) library_ = dlopen((folder_ + "/kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  for (auto& [name, address] : globals_) {
    auto initial = symbol_of("sw_initial_" + name);
    if (initial) memcpy((void*)address, initial, live_[address].bytes);
  }
}

// --- launches on disk --------------------------------------------------------------------------------

std::map<uintptr_t, Buffer>::iterator buffer_at(uintptr_t address) {
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return live_.end();
  --it;
  return address < it->first + std::max<size_t>(it->second.bytes, 1) ? it : live_.end();
}

// What is told of a launch: all that its programs' addresses may follow from, and the buffers that
// these may lead to: those that arguments point to, and those that kept contents do.
std::string describe(const Kernel& kernel, const Configuration& how, const std::vector<const uint8_t*>& values) {
  std::ostringstream text;
  text << "\"kernel\": \"" << kernel.symbol << "\", \"grid\": [" << how.grid.x << ", " << how.grid.y
       << ", " << how.grid.z << "], \"block\": [" << how.block.x << ", " << how.block.y << ", "
       << how.block.z << "], \"shared\": " << how.shared << ", \"arguments\": [";
  const bool all = kernel.contents == "*", variables = all || kernel.contents[0] == 'v';
  std::map<uintptr_t, bool> reached;  // whether its contents are kept
  std::vector<uintptr_t> kept;        // contents that pointers may be in
  auto reach = [&](uintptr_t word, bool decides) {
    auto it = word < kGlobals || word >= kEnd ? live_.end() : buffer_at(word);
    if (it == live_.end()) return;
    bool& known = reached[it->first];
    if (decides && !known) kept.push_back(it->first), known = true;
  };
  for (size_t i = 0; i < kernel.parameters.size(); i++) {
    text << (i ? ", \"" : "\"");
    for (size_t k = 0; k < kernel.parameters[i].bytes; k++) {
      char hex[3];
      snprintf(hex, sizeof hex, "%02x", values[i][k]);
      text << hex;
    }
    text << "\"";
    for (size_t k = 0; k + 8 <= kernel.parameters[i].bytes; k += 8) {
      uintptr_t word;
      memcpy(&word, values[i] + k, 8);
      reach(word, contents_decide(kernel.contents, i));
    }
  }
  for (auto it = live_.begin(); it != live_.end() && it->first < kBegin; ++it) reach(it->first, variables);
  while (!kept.empty()) {
    auto word = (const uintptr_t*)kept.back(), end = word + live_[kept.back()].bytes / 8;
    kept.pop_back();
    for (; word < end; word++) reach(*word, all);
  }
  text << "], \"buffers\": [";
  bool first = true;
  for (auto& [at, decides] : reached) {
    size_t bytes = live_[at].bytes;
    text << (first ? "[" : ", [") << at << ", " << bytes << ", \"" << (decides ? keep(folder_, (void*)at, bytes) : "") << "\"]";
    first = false;
  }
  text << "]";
  return text.str();
}

// --- threads of a workgroup, a fiber each ----------------------------------------------------------------

enum State { READY, BARRIER, WAVE, DONE };
struct Accesses;
typedef std::vector<uint32_t> Place;  // in a kernel: position and iteration of each loop, position
struct Fiber {
  void* stack_pointer;
  State state;
  uint32_t thread[3];
  uint64_t put, turn;  // the lanes of a wave that are let go together have one turn
  uint8_t* stack;
  Place loops, at;     // of a thread that is traced
  uint64_t iterations, trail;
  std::pair<const Place, Accesses>* last;
};
std::vector<Fiber> fibers_;
Fiber* now_ = nullptr;
void* scheduler_;
uint64_t turns_ = 0;
bool falling_ = false;  // threads come in the order of falling numbers
bool stopped();
typedef void (*Entry)(void**);
Entry entry_;
void** arguments_;
constexpr size_t kStack = 128 << 10, kPage = 4096;

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
  fiber.turn = fiber.iterations = fiber.trail = 0;
  fiber.loops.clear(), fiber.at.clear();
  fiber.last = nullptr;
}

// Of a wave's lanes that wait for others, those go on that are behind in the kernel.
void release_lanes(Fiber* first, Fiber* last) {
  const Place* behind = nullptr;
  for (Fiber* one = first; one < last; one++)
    if (one->state == WAVE && (!behind || one->at < *behind)) behind = &one->at;
  turns_++;
  for (Fiber* one = first; one < last; one++)
    if (one->state == WAVE && one->at == *behind) one->state = READY, one->turn = turns_;
}

// A workgroup whose threads wait for each other.
void run_fibers(uint32_t threads, dim3 block) {
  while (fibers_.size() < threads) {
    Fiber one{};
    one.stack = (uint8_t*)mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(one.stack, kPage, PROT_NONE);
    fibers_.push_back(one);
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

// --- the lines that a workgroup touches --------------------------------------------------------------------

struct Lines {  // distinct (line, kind) of one workgroup
  std::vector<uint64_t> slots = std::vector<uint64_t>(1 << 12), found;
  std::vector<uint32_t> stamps = std::vector<uint32_t>(1 << 12);
  uint32_t stamp = 0;

  void note(uint64_t key) {
    size_t mask = slots.size() - 1, at = (key * 0x9E3779B97F4A7C15ull >> 32) & mask;
    for (; stamps[at] == stamp; at = (at + 1) & mask)
      if (slots[at] == key) return;
    stamps[at] = stamp;
    slots[at] = key;
    found.push_back(key);
    if (2 * found.size() > slots.size()) grow();
  }
  void grow() {
    std::vector<uint64_t> keys = found;
    slots.assign(2 * slots.size(), 0);
    stamps.assign(slots.size(), stamp - 1);
    found.clear();
    for (uint64_t key : keys) note(key);
  }
} touched_;

void write_lines(int64_t ordinal, int64_t group) {
  std::sort(touched_.found.begin(), touched_.found.end());
  std::vector<int64_t> row{ordinal, group, (int64_t)touched_.found.size()};
  row.insert(row.end(), touched_.found.begin(), touched_.found.end());
  write_line(lines_, std::string((const char*)row.data(), row.size() * 8));
}

// --- execution ---------------------------------------------------------------------------------------------

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

// Whether so many workgroups would take longer than a budget, by those that are done: a few are slow.
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

struct Native {  // a kernel for the host
  Entry entry;
  bool fibers;
};

Native native_of(void* library, const std::string& symbol) {
  auto at = [&](const char* what) { return library ? dlsym(library, (what + symbol).c_str()) : nullptr; };
  auto fibers = (const int*)at("sw_fibers_");
  return {(Entry)at("sw_entry_"), fibers && *fibers};
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
std::string execute(const Kernel& kernel, const Configuration& how, void** arguments, int ordinal) {
  if (compute_ == NEVER || !kCanCompute) return "\"computed\": false, \"why\": \"off\"";
  const Native native = native_of(library_, kernel.symbol);
  if (!native.entry) return "\"computed\": false, \"why\": \"not compiled\"";
  fill_implicit(how);
  const int64_t groups = (int64_t)how.grid.x * how.grid.y * how.grid.z;
  Pace pace;
  while (pace.done < groups && (compute_ != AUTO || !pace.too_slow(groups, budget_))) {
    touched_.stamp++;
    touched_.found.clear();
    run_group(native, how, arguments, pace.done);
    if (lines_ >= 0) write_lines(ordinal, pace.done);
    pace.step();
  }
  budget_ -= pace.spent();
  const bool whole = pace.done == groups;
  char text[160];
  snprintf(text, sizeof text, "\"computed\": %s, \"seconds\": %.3f, \"why\": \"%s\"",
           whole ? "true" : "false", pace.expected(groups), whole ? "" : "budget");
  return text;
}

// --- a slice that is executed for its trace ------------------------------------------------------------------

struct Kind { int32_t bytes, kind, update, site; };
struct Accesses {  // of the threads that come to a place
  Kind kind;
  std::vector<int64_t> address;
  std::vector<uint32_t> lane;  // workgroup, of those executed together, times threads plus thread
  std::pair<const Place, Accesses>* following;  // where a thread has gone from here
};
struct Held { uintptr_t begin; int64_t bytes; const uint8_t* contents; uint8_t* read; };  // read: a byte for each sector
struct Variable { uint8_t* at; int64_t bytes; };
struct Tracing {
  Native kernel;
  void** arguments;
  Configuration how;
  bool repeats;  // workgroups are executed twice, as the order of their threads may show
  std::vector<Held> held;
  std::vector<Variable> shared;
};
enum Failure { NONE, NOT_HELD, NOT_GLOBAL, ORDER_SHOWS, TOO_MANY, ENDLESS, NOT_HERE };
constexpr int64_t kManyAccesses = 1 << 22, kMostAccesses = 1 << 25;  // of threads
constexpr uint64_t kMostIterations = 1 << 27;                        // of a thread
constexpr uint32_t kSector = 32;
Tracing* tracing_ = nullptr;
std::vector<std::pair<uintptr_t, size_t>> mapped_;
Failure failure_ = NONE;
int64_t failed_at_ = 0, accesses_ = 0;
uint32_t first_lane_ = 0;
std::map<Place, Accesses> found_;
std::map<Place, Accesses>::const_iterator told_;
std::pair<const Place, Accesses>* first_place_ = nullptr;
Place place_;

bool stopped() { return failure_ != NONE; }

void stop(Failure why, int64_t at) {
  failure_ = why, failed_at_ = at;
  wait_in(DONE);
}

void set_place(Place& place, uint32_t depth, uint32_t position) {
  const Place& loops = now_->loops;
  place.assign(loops.begin(), loops.begin() + std::min<size_t>(2 * depth, loops.size()));
  place.push_back(position);
}

// Memory that decides is read: it must be held.
void note_value(uintptr_t at, int64_t bytes, int32_t kind) {
  for (const Held& one : tracing_->held) {
    if (kind || at < one.begin || at + bytes > one.begin + one.bytes) continue;
    for (uintptr_t s = (at - one.begin) / kSector; s <= (at + bytes - 1 - one.begin) / kSector; s++) one.read[s] = 1;
    return;
  }
  stop(kind || at >= kEnd ? NOT_GLOBAL : NOT_HELD, at);
}

void note_access(uintptr_t at, const Kind& kind, uint32_t depth, uint32_t position) {
  Fiber& me = *now_;
  set_place(place_, depth, position);
  place_.push_back(kind.site);
  me.trail = hash_of(place_.data(), place_.size() * sizeof place_[0]) ^ (me.trail + at) * 0xD6E8FEB86659FD93ull;
  if (falling_) return;
  auto& guess = me.last ? me.last->second.following : first_place_;
  if (!guess || guess->first != place_) guess = &*found_.try_emplace(place_, Accesses{kind, {}, {}, nullptr}).first;
  me.last = guess;
  guess->second.address.push_back(at);
  guess->second.lane.push_back(first_lane_ + (now_ - fibers_.data()));
  if (++accesses_ > kMostAccesses) stop(TOO_MANY, 0);
}

// A workgroup's threads, by rising and by falling numbers: what they leave each other must not show it.
int64_t trace_groups(int64_t first, int64_t last) {
  const Configuration& how = tracing_->how;
  const uint32_t threads = how.block.x * how.block.y * how.block.z;
  std::vector<uint64_t> trails(threads);
  fill_implicit(how);
  found_.clear();
  first_place_ = nullptr, accesses_ = 0;
  int64_t done = 0;
  for (; first + done < last && accesses_ < kManyAccesses && !failure_; done++) {
    first_lane_ = done * threads;
    for (uint32_t repeat = 0; repeat <= tracing_->repeats && !failure_; repeat++) {
      falling_ = repeat;
      for (auto& one : tracing_->shared) memset(one.at, repeat ? 0x5a : 0, one.bytes);
      run_group(tracing_->kernel, how, tracing_->arguments, first + done);
      for (uint32_t t = 0; t < threads && !failure_; t++) {
        if (repeat && trails[t] != fibers_[t].trail) failure_ = ORDER_SHOWS;
        trails[t] = fibers_[t].trail;
      }
    }
  }
  falling_ = false;
  told_ = found_.begin();
  return done;
}

// --- an edited kernel beside this one ------------------------------------------------------------------------

struct Compared {
  std::string tiles;
  std::vector<int64_t> programs;
};
std::unordered_map<std::string, Compared> wanted_;  // by the hash of the launch
void* edited_ = nullptr;
double compare_budget_ = 0;

void read_comparison(const std::string& folder) {
  std::ifstream rows(folder + "/compare.txt");
  rows >> compare_budget_;
  for (std::string line; std::getline(rows, line);) {
    std::istringstream words(line);
    std::string key;
    Compared one;
    if (!(words >> key >> one.tiles)) continue;
    for (int64_t program; words >> program;) one.programs.push_back(program);
    wanted_[key] = one;
  }
  edited_ = dlopen((folder + "/edited.so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

// What a workgroup has written: places, and what they held before or hold now.
struct Changes {
  struct Place { uint8_t* at; size_t bytes; };
  std::vector<Place> places;
  std::vector<uint8_t> before, after;

  void add(uintptr_t at, size_t bytes) {
    places.push_back({(uint8_t*)at, bytes});
    before.insert(before.end(), (uint8_t*)at, (uint8_t*)at + bytes);
  }
  void end() {
    for (auto& one : places) after.insert(after.end(), one.at, one.at + one.bytes);
  }
  void undo() const {
    size_t from = before.size();
    for (size_t i = places.size(); i--;)
      memcpy(places[i].at, before.data() + (from -= places[i].bytes), places[i].bytes);
  }
  void redo() const {
    size_t from = 0;
    for (auto& one : places) memcpy(one.at, after.data() + from, one.bytes), from += one.bytes;
  }
  const uint8_t* first_difference() const {  // of memory from what they are to hold
    size_t from = 0;
    for (auto& one : places) {
      for (size_t k = 0; k < one.bytes; k++)
        if (one.at[k] != after[from + k]) return one.at + k;
      from += one.bytes;
    }
    return nullptr;
  }
};
Changes* noting_ = nullptr;

// Whether an edited workgroup leaves the bytes that an original one leaves; memory is as before.
const uint8_t* difference(const Native& original, const Native& edited, const Configuration& how,
                          void** arguments, int64_t tile, int64_t program, Changes& expected) {
  Changes found;
  noting_ = &expected;
  run_group(original, how, arguments, tile);
  expected.end();
  expected.undo();
  noting_ = &found;
  run_group(edited, how, arguments, program);
  noting_ = nullptr;
  found.end();
  const uint8_t* at = expected.first_difference();
  found.undo();
  expected.redo();
  if (!at) at = found.first_difference();
  expected.undo();
  return at;
}

// Compares a launch if that is wanted, in the order of its tiles; whether all of it is executed now.
bool compared(const std::string& key, const Kernel& kernel, const Configuration& how, void** arguments) {
  auto it = wanted_.find(key);
  if (it == wanted_.end()) return false;
  const Native original = native_of(library_, kernel.symbol), edited = native_of(edited_, kernel.symbol);
  const int64_t groups = (int64_t)how.grid.x * how.grid.y * how.grid.z;
  std::vector<int64_t> tile(groups), program(groups);
  std::ifstream file(it->second.tiles, std::ios::binary);
  file.read((char*)tile.data(), groups * 8);
  int64_t done = 0, last = 0;
  Pace pace;
  const uint8_t* at = nullptr;
  bool all = false;
  if (kCanCompute && original.entry && edited.entry && file) {
    fill_implicit(how);
    pace = Pace();
    auto compare = [&](int64_t t, int64_t p, bool keep) {
      Changes expected;
      at = difference(original, edited, how, arguments, t, p, expected);
      if (keep) expected.redo();
      done++, last = t;
      pace.step();
    };
    for (int64_t p : it->second.programs) {
      compare(tile[p], p, false);
      if (at || pace.spent() > compare_budget_) break;
    }
    all = !at && pace.expected(groups) < compare_budget_;
    if (all) {
      for (int64_t p = 0; p < groups; p++) program[tile[p]] = p;
      done = 0;
      for (int64_t t = 0; t < groups && !at; t++) compare(t, program[t], true);
    }
  }
  char text[200];
  snprintf(text, sizeof text, "{\"event\": \"compared\", \"key\": \"%s\", \"tiles\": %" PRId64 ", \"tile\": %" PRId64 ", \"differs_at\": %" PRIu64 "}\n",
           key.c_str(), done, last, (uint64_t)at);
  write_line(log_, text);
  wanted_.erase(it);
  if (wanted_.empty()) _exit(0);
  return all;
}

Error launch(const std::string& symbol, const Configuration& how, void** given, void** extra) {
  std::lock_guard<std::recursive_mutex> guard(lock_);
  auto it = table_.find(symbol);
  if (it == table_.end()) {
    write_line(log_, "{\"event\": \"refused\", \"kernel\": \"" + symbol + "\"}\n");
    return kSuccess;
  }
  const uint64_t threads = (uint64_t)how.block.x * how.block.y * how.block.z;
  if (!threads || threads > 1024 || !how.grid.x || !how.grid.y || !how.grid.z)
    return failed(API(ErrorInvalidConfiguration));
  const Kernel& kernel = it->second;
  std::vector<const uint8_t*> values;
  std::vector<void*> arguments;
  for (size_t i = 0; i < kernel.parameters.size(); i++) {
    auto at = given ? (uint8_t*)given[i] : (uint8_t*)extra[1] + kernel.parameters[i].offset;
    values.push_back(at);
    arguments.push_back(at);
  }
  arguments.push_back(nullptr);
  std::string text = describe(kernel, how, values);
  auto [place, fresh] = seen_.insert({text, (int)seen_.size()});
  std::string id = "\"id\": \"" + std::to_string(getpid()) + "-" + std::to_string(place->second) + "\", ";
  char key[24];
  snprintf(key, sizeof key, "%016" PRIx64, hash_of(text.data(), text.size()));
  if (fresh) write_line(log_, "{\"event\": \"new\", " + id + "\"key\": \"" + key + "\", " + text + "}\n");
  std::string how_far = compared(key, kernel, how, arguments.data())
                            ? "\"computed\": true, \"seconds\": 0, \"why\": \"\""
                            : execute(kernel, how, arguments.data(), place->second);
  write_line(log_, "{\"event\": \"ran\", " + id + how_far + "}\n");
  return kSuccess;
}

// --- memory --------------------------------------------------------------------------------------------------

Error allocate(void** out, size_t bytes) {
  std::lock_guard<std::recursive_mutex> guard(lock_);
  begin();
  if (!bytes) { *out = nullptr; return kSuccess; }
  size_t room = (bytes + kGranule - 1) / kGranule * kGranule;
  uintptr_t at;
  auto free_one = freed_.find(room);
  if (free_one != freed_.end()) {
    at = free_one->second;
    freed_.erase(free_one);
  } else {
    at = next_;
    if (at + room > kEnd || !map_at(at, room)) return failed(API(ErrorOutOfMemory));
    next_ += room + kGranule;
  }
  live_[at] = {bytes, room};
  *out = (void*)at;
  return kSuccess;
}

Error release(void* at) {
  std::lock_guard<std::recursive_mutex> guard(lock_);
  if (!at) return kSuccess;
  auto it = live_.find((uintptr_t)at);
  if (it == live_.end() || it->first < kBegin) return failed(API(ErrorInvalidValue));
  madvise(at, it->second.room, MADV_DONTNEED);
  freed_.insert({it->second.room, it->first});
  live_.erase(it);
  return kSuccess;
}

void* address_of(const void* host_variable) {
  auto it = global_of_host_.find(host_variable);
  if (it == global_of_host_.end()) return nullptr;
  auto global = globals_.find(it->second);
  return global == globals_.end() ? nullptr : (void*)global->second;
}

Error copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height) {
  for (size_t row = 0; row < height; row++)
    memmove((char*)to + row * to_pitch, (const char*)from + row * from_pitch, width);
  return kSuccess;
}

Error refuse(const char* what) {
  write_line(log_, std::string("{\"event\": \"note\", \"text\": \"") + what + "\"}\n");
  return failed(API(ErrorNotSupported));
}

template <typename T>
Error fill(void* at, T value, size_t count) {
  std::fill_n((T*)at, count, value);
  return kSuccess;
}

template <typename T>
Error made(T* out) {  // streams, events and other handles
  *out = (T)calloc(1, 8);
  return kSuccess;
}

template <typename T>
Error freed(T handle) {
  free((void*)handle);
  return kSuccess;
}

}  // namespace

// --- what kernels call -------------------------------------------------------------------------------------------

EXPORT void sw_barrier() { wait_in(BARRIER); }
EXPORT void sw_wave() { wait_in(WAVE); }
// How many lanes before this one have a bit set in a mask, and so many more.
EXPORT uint32_t sw_before(uint32_t low, uint32_t high, uint32_t more) {
  const uint64_t mask = (uint64_t)high << 32 | low;
  return more + __builtin_popcountll(mask & ((1ull << (now_ - fibers_.data()) % kWave) - 1));
}
// What the lane at `from` of this thread's wave puts; 0 from lanes that are not here. Source: AMD
// Instinct MI300 ISA, DS_BPERMUTE_B32.
EXPORT int32_t sw_bpermute(int32_t byte_lane, int32_t value) {
  Fiber* me = now_;
  me->put = (uint32_t)value;
  wait_in(WAVE);
  size_t first = (me - fibers_.data()) / kWave * kWave, at = first + ((uint32_t)byte_lane >> 2) % kWave;
  bool here = at < fibers_.size() && fibers_[at].turn == me->turn;
  int32_t got = here ? (int32_t)fibers_[at].put : 0;
  wait_in(WAVE);
  return got;
}
// The lanes of this thread's wave that are here with true, a bit each.
EXPORT uint64_t sw_ballot(bool vote) {
  Fiber* me = now_;
  size_t first = (me - fibers_.data()) / kWave * kWave;
  me->put = vote;
  wait_in(WAVE);
  uint64_t mask = 0;
  for (size_t lane = 0; lane < kWave && first + lane < fibers_.size(); lane++)
    mask |= (uint64_t)(fibers_[first + lane].turn == me->turn && fibers_[first + lane].put) << lane;
  wait_in(WAVE);
  return mask;
}
// What the first lane that is here has.
EXPORT int32_t sw_first(int32_t value) {
  return sw_bpermute(__builtin_ctzll(sw_ballot(true)) << 2, value);
}
// What a lane has that must be here: what another has left in its register is not known.
EXPORT int32_t sw_exchange(int32_t from, int32_t value) {
  uint64_t here = sw_ballot(true);
  if (tracing_ && !(here >> (from & (kWave - 1)) & 1)) stop(NOT_HERE, from);
  return sw_bpermute(from << 2, value);
}
// Kind 0 reads, 1 writes, 2 updates.
EXPORT void sw_move(const void* address, int64_t bytes, int32_t kind) {
  auto at = (uint64_t)address;
  if (tracing_) return note_value(at, bytes, kind);
  if (at < kGlobals || at >= kEnd || bytes <= 0) return;
  if (noting_ && kind) noting_->add(at, bytes);
  if (lines_ < 0) return;
  for (uint64_t line = at >> 7; line <= (at + bytes - 1) >> 7; line++) touched_.note(line << 2 | kind);
}
EXPORT void sw_touch(const void* address, int32_t bytes, int32_t kind) { sw_move(address, bytes, kind); }
// A loop's next iteration begins; so many loops are around it.
EXPORT void sw_loop(uint32_t position, uint32_t depth) {
  Place& loops = now_->loops;
  if (loops.size() > 2 * depth && loops[2 * depth] == position) {
    loops[2 * depth + 1]++;
    loops.resize(2 * depth + 2);
  } else {
    loops.resize(2 * depth);
    loops.push_back(position), loops.push_back(0);
  }
  if (++now_->iterations > kMostIterations && tracing_) stop(ENDLESS, 0);
}
// A thread is about to wait for the lanes of its wave.
EXPORT void sw_at(uint32_t position, uint32_t depth) {
  set_place(now_->at, depth, position);
}
EXPORT void sw_access(const void* address, int32_t bytes, int32_t kind, int32_t update, int32_t site, uint32_t depth, uint32_t position) {
  auto at = (uintptr_t)address;
  if (at < kEnd) note_access(at, {bytes, kind, update, site}, depth, position);
  else if (kind) stop(NOT_GLOBAL, at);
}
// How the slice of the next launch is to be executed; nothing else runs in this process. Words: entry,
// arguments, grid, block, shared memory, whether to repeat, how many buffers and variables, and these.
// False if there is no room for its memory.
EXPORT bool sw_trace(const int64_t* words) {
  const auto held = (const Held*)(words + 12);
  const auto shared = (const Variable*)(held + words[10]);
  const auto size = [&](int k) { return dim3(words[k], words[k + 1], words[k + 2]); };
  for (auto& [at, bytes] : mapped_) munmap((void*)at, bytes);
  mapped_.clear();
  failure_ = NONE;
  delete tracing_;
  tracing_ = new Tracing{{(Entry)words[0], true}, (void**)words[1], {size(2), size(5), (size_t)words[8], nullptr},
                         words[9] != 0, {held, held + words[10]}, {shared, shared + words[11]}};
  uintptr_t end = kGlobals;
  for (auto& one : tracing_->held) {
    if (one.begin < kBegin) end = std::max(end, one.begin + one.bytes);
    else mapped_.push_back({one.begin, std::max<size_t>(one.bytes, 1)});
  }
  if (end > kGlobals) mapped_.push_back({kGlobals, end - kGlobals});
  for (auto& [at, bytes] : mapped_)
    if (!map_at(at, bytes)) return false;
  for (auto& one : tracing_->held) memcpy((void*)one.begin, one.contents, one.bytes);
  return true;
}
// Executes workgroups until their accesses are many; returns how many it were.
EXPORT int64_t sw_trace_groups(int64_t first, int64_t last) { return trace_groups(first, last); }
// Tells why it was stopped, 0 if it was not, and at which address.
EXPORT void sw_trace_failure(int64_t* words) { words[0] = failure_, words[1] = failed_at_; }
// Tells accesses, in the order of the kernel: bytes, kind, update, site, how many threads, and where
// their addresses and lanes are; false if there are no more.
EXPORT bool sw_trace_next(int64_t* words) {
  if (told_ == found_.end()) return false;
  const Accesses& one = (told_++)->second;
  const int64_t told[] = {one.kind.bytes, one.kind.kind, one.kind.update, one.kind.site, (int64_t)one.address.size(),
                          (int64_t)one.address.data(), (int64_t)one.lane.data()};
  memcpy(words, told, sizeof told);
  return true;
}

// --- registration and launches --------------------------------------------------------------------------------------

EXPORT void** REGISTER(RegisterFatBinary)(const void*) {
  std::lock_guard<std::recursive_mutex> guard(lock_);
  static void* handle;
  begin();
  return &handle;
}
EXPORT void REGISTER(UnregisterFatBinary)(void**) {}
EXPORT void REGISTER(RegisterFunction)(void**, const void* host, char*, const char* name, unsigned, void*, void*, void*, void*, int*) {
  by_host_[host] = name;
}
EXPORT void REGISTER(RegisterVar)(void**, void* host, char*, char* name, int, size_t, int, int) {
  global_of_host_[host] = name;
}
EXPORT Error REGISTER(PushCallConfiguration)(dim3 grid, dim3 block, size_t shared, Stream stream) {
  configurations_.push_back({grid, block, shared, stream});
  return kSuccess;
}
EXPORT Error REGISTER(PopCallConfiguration)(dim3* grid, dim3* block, size_t* shared, Stream* stream) {
  Configuration one = configurations_.back();
  configurations_.pop_back();
  *grid = one.grid, *block = one.block, *shared = one.shared, *stream = one.stream;
  return kSuccess;
}
CALL(LaunchKernel)(const void* host, dim3 grid, dim3 block, void** arguments, size_t shared, Stream stream) {
  auto it = by_host_.find(host);
  if (it == by_host_.end()) return failed(API(ErrorInvalidDeviceFunction));
  return launch(it->second, {grid, block, shared, stream}, arguments, nullptr);
}
CALL(FuncSetAttribute)(const void*, API(FuncAttribute), int) { return kSuccess; }
CALL(FuncGetAttributes)(API(FuncAttributes)* out, const void*) {
  memset(out, 0, sizeof *out);
  out->maxThreadsPerBlock = 1024;
  out->numRegs = 32;
  return kSuccess;
}
CALL(OccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, const void*, int threads, size_t) {
  *blocks = std::max(1, 2048 / std::max(1, threads));
  return kSuccess;
}

// --- memory: calls ----------------------------------------------------------------------------------------------------

CALL(Malloc)(void** out, size_t bytes) { return allocate(out, bytes); }
CALL(MallocAsync)(void** out, size_t bytes, Stream) { return allocate(out, bytes); }
CALL(MallocManaged)(void** out, size_t bytes, unsigned) { return allocate(out, bytes); }
CALL(HostAlloc)(void** out, size_t bytes, unsigned) { return allocate(out, bytes); }
CALL(MallocHost)(void** out, size_t bytes) { return allocate(out, bytes); }
CALL(MallocPitch)(void** out, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 255) / 256 * 256;
  return allocate(out, *pitch * height);
}
CALL(Free)(void* at) { return release(at); }
CALL(FreeAsync)(void* at, Stream) { return release(at); }
CALL(FreeHost)(void* at) { return release(at); }
CALL(HostRegister)(void*, size_t, unsigned) { return kSuccess; }
CALL(HostUnregister)(void*) { return kSuccess; }
CALL(HostGetDevicePointer)(void** out, void* host, unsigned) { *out = host; return kSuccess; }
CALL(Memcpy)(void* to, const void* from, size_t bytes, Direction) { memmove(to, from, bytes); return kSuccess; }
CALL(MemcpyAsync)(void* to, const void* from, size_t bytes, Direction, Stream) { memmove(to, from, bytes); return kSuccess; }
CALL(Memcpy2D)(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, Direction) { return copy_rows(to, to_pitch, from, from_pitch, width, height); }
CALL(Memcpy2DAsync)(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, Direction, Stream) { return copy_rows(to, to_pitch, from, from_pitch, width, height); }
CALL(Memset)(void* at, int value, size_t bytes) { return fill<uint8_t>(at, value, bytes); }
CALL(MemsetAsync)(void* at, int value, size_t bytes, Stream) { return fill<uint8_t>(at, value, bytes); }
CALL(Memset2D)(void* at, size_t pitch, int value, size_t width, size_t height) {
  for (size_t row = 0; row < height; row++) memset((char*)at + row * pitch, value, width);
  return kSuccess;
}
CALL(MemGetInfo)(size_t* available, size_t* total) {
  *total = 192ull << 30;
  *available = *total - (next_ - kBegin);
  return kSuccess;
}
CALL(GetSymbolAddress)(void** out, const void* variable) {
  *out = address_of(variable);
  return *out ? kSuccess : failed(API(ErrorInvalidSymbol));
}
CALL(GetSymbolSize)(size_t* bytes, const void* variable) {
  auto at = (uintptr_t)address_of(variable);
  if (!at) return failed(API(ErrorInvalidSymbol));
  *bytes = live_[at].bytes;
  return kSuccess;
}
CALL(MemcpyToSymbol)(const void* variable, const void* from, size_t bytes, size_t offset, Direction) {
  auto at = (char*)address_of(variable);
  if (!at) return failed(API(ErrorInvalidSymbol));
  memmove(at + offset, from, bytes);
  return kSuccess;
}
CALL(MemcpyToSymbolAsync)(const void* variable, const void* from, size_t bytes, size_t offset, Direction kind, Stream) { return API(MemcpyToSymbol)(variable, from, bytes, offset, kind); }
CALL(MemcpyFromSymbol)(void* to, const void* variable, size_t bytes, size_t offset, Direction) {
  auto at = (char*)address_of(variable);
  if (!at) return failed(API(ErrorInvalidSymbol));
  memmove(to, at + offset, bytes);
  return kSuccess;
}
CALL(MemcpyFromSymbolAsync)(void* to, const void* variable, size_t bytes, size_t offset, Direction kind, Stream) { return API(MemcpyFromSymbol)(to, variable, bytes, offset, kind); }

// --- the device ---------------------------------------------------------------------------------------------------------

CALL(GetDeviceCount)(int* count) { *count = 1; return kSuccess; }
CALL(GetDevice)(int* device) { *device = 0; return kSuccess; }
CALL(SetDevice)(int device) { return device ? failed(API(ErrorInvalidDevice)) : kSuccess; }
CALL(SetDeviceFlags)(unsigned) { return kSuccess; }
CALL(DeviceReset)() { return kSuccess; }
CALL(DeviceSynchronize)() { return kSuccess; }
CALL(DriverGetVersion)(int* version) { *version = kVersion; return kSuccess; }
CALL(RuntimeGetVersion)(int* version) { *version = kVersion; return kSuccess; }
CALL(GetLastError)() { Error error = last_; last_ = kSuccess; return error; }
CALL(PeekAtLastError)() { return last_; }
EXPORT const char* API(GetErrorString)(Error error) { return error ? "an error of the stand-in" : "no error"; }
EXPORT const char* API(GetErrorName)(Error error) {
  static thread_local char name[32];
  snprintf(name, sizeof name, error ? "error %d" : "success", (int)error);
  return name;
}

// --- streams and events: everything is over when it returns ------------------------------------------------------------------

CALL(StreamCreate)(Stream* stream) { return made(stream); }
CALL(StreamCreateWithFlags)(Stream* stream, unsigned) { return made(stream); }
CALL(StreamCreateWithPriority)(Stream* stream, unsigned, int) { return made(stream); }
CALL(StreamDestroy)(Stream stream) { return freed(stream); }
CALL(StreamSynchronize)(Stream) { return kSuccess; }
CALL(StreamQuery)(Stream) { return kSuccess; }
CALL(StreamWaitEvent)(Stream, Event, unsigned) { return kSuccess; }
CALL(StreamAddCallback)(Stream stream, API(StreamCallback_t) call, void* with, unsigned) { call(stream, kSuccess, with); return kSuccess; }
CALL(LaunchHostFunc)(Stream, API(HostFn_t) call, void* with) { call(with); return kSuccess; }
CALL(DeviceGetStreamPriorityRange)(int* least, int* greatest) { *least = *greatest = 0; return kSuccess; }
CALL(EventCreate)(Event* event) { return made(event); }
CALL(EventCreateWithFlags)(Event* event, unsigned) { return made(event); }
CALL(EventDestroy)(Event event) { return freed(event); }
CALL(EventRecord)(Event, Stream) { return kSuccess; }
CALL(EventSynchronize)(Event) { return kSuccess; }
CALL(EventQuery)(Event) { return kSuccess; }
CALL(EventElapsedTime)(float* ms, Event, Event) { *ms = 1.0f; return kSuccess; }
