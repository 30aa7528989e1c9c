// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A stand-in for the HIP or CUDA runtime on a machine without a GPU: what both have, included by
// `hip.cpp` and `cuda.cpp`, which say how a call is named. Device memory is host memory at fixed
// low addresses; each launch is written down, and executed where the kernel's bitcode was compiled
// for the host: a workgroup at a time, a fiber for each thread that waits for others.
//
// SWIZZLE_HIP_FOLDER names the folder of the recording, with
//   kernels.txt     a line for each kernel: symbol, name in the source ("-" if that is not
//                   known), contents that decide ("-" none, "*" all, or "v" for variables and
//                   numbers of parameters), then bytes of each parameter
//   globals.txt     a line for each device variable: name address bytes
//   kernels.so      the kernels for the host, if there are any
//   launches.jsonl  is written: a launch a line
//   contents/       is written: contents of buffers that decide addresses, by their hash
// SWIZZLE_HIP_COMPARE names a folder in which to compare these kernels with edited ones:
//   edited.so       the edited kernels for the host
//   compare.txt     a line for each launch: its hash, a file with the tile of each program (int64),
//                   and programs that must be compared, the most telling first
// SWIZZLE_HIP_COMPUTE is auto, always or never; SWIZZLE_HIP_BUDGET the seconds that auto may take.
#include <sys/mman.h>

#include <ctime>

#include "contents.h"

#define CALL(name) EXPORT Error API(name)
// A call that does here what another function does, whatever more it is given.
#define SAME(name, as) asm(".globl " QUOTED(API(name)) "\n.set " QUOTED(API(name)) ", " QUOTED(as))

typedef API(Error_t) Error;
typedef API(Stream_t) Stream;
typedef API(Event_t) Event;
typedef API(MemcpyKind) Direction;
constexpr Error kSuccess = API(Success);

// --- what the compiled kernels use
// -----------------------------------------------------------------

extern "C" {
__attribute__((visibility("default"))) uint32_t sw_thread[3], sw_group[3];
__attribute__((visibility("default"))) alignas(16) uint8_t sw_implicit[256];
__attribute__((visibility("default"))) alignas(16) uint8_t sw_dispatch[64];
__attribute__((visibility("default"))) alignas(128) uint8_t sw_dynamic_lds[1 << 18];
}

namespace {

constexpr uintptr_t kGlobals = 15ull << 30;  // device variables; kGlobals of native.py
constexpr uintptr_t kEnd = 256ull << 30;     // a line's number fits 31 bits
constexpr size_t kPage = 4096;

struct Buffer {
  size_t bytes, room;
};
struct Configuration {
  dim3 grid, block;
  size_t shared;
  Stream stream;
};

// Device code of a translation unit: the program's or library's name, and where it lies.
typedef std::pair<std::string, const void*> Module;
struct Named {
  std::string name;
  const Module* module;
};

std::recursive_mutex lock_;
std::set<Module> modules_;
std::unordered_map<std::string, Kernel> table_;
std::unordered_map<const void*, Named> by_host_;
std::unordered_map<std::string, uintptr_t> globals_;
std::unordered_map<const void*, Named> global_of_host_;
std::map<uintptr_t, Buffer> live_;
std::multimap<size_t, uintptr_t> freed_;
uintptr_t next_ = kBegin;
std::string folder_;
int log_ = -1;
void* library_ = nullptr;
enum { AUTO, ALWAYS, NEVER } compute_ = AUTO;
double budget_ = 20;
std::unordered_map<std::string, int> seen_;
thread_local std::vector<Configuration> configurations_;
thread_local Error last_ = kSuccess;

Error failed(Error error) { return last_ = error; }

template <typename T, typename U>
Error put(T* out, U value) {
  *out = value;
  return kSuccess;
}

void write_line(int file, const std::string& text) {
  if (file >= 0 && write(file, text.data(), text.size()) < 0) perror("swizzle: launches.jsonl");
}

// What a table has of a name: several modules may have that name, each for something else.
template <typename Table>
typename Table::iterator find(Table& table, const Named& named) {
  const auto& [file, code] = *named.module;
  auto number = std::distance(modules_.lower_bound({file, nullptr}), modules_.find({file, code}));
  auto own = table.find(named.name + ".of." + file + "." + std::to_string(number));
  return own == table.end() ? table.find(named.name) : own;
}

void* symbol_of(void* library, const std::string& name) {
  return library ? dlsym(library, name.c_str()) : nullptr;
}

bool map_at(uintptr_t at, size_t bytes) {
  const size_t before = at % kPage;
  return mmap((void*)(at - before), bytes + before, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
              0) != MAP_FAILED;
}

void read_tables() {
  for (auto& kernel : read_kernels(folder_)) table_[kernel.symbol] = kernel;
  size_t end = kGlobals;
  for (auto& [name, place] : read_variables(folder_)) {
    auto [address, bytes] = place;
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
  if (const char* how = getenv("SWIZZLE_HIP_COMPUTE"))
    compute_ = !strcmp(how, "never") ? NEVER : !strcmp(how, "always") ? ALWAYS : AUTO;
  if (const char* seconds = getenv("SWIZZLE_HIP_BUDGET")) budget_ = atof(seconds);
  read_tables();
  const char* compare = getenv("SWIZZLE_HIP_COMPARE");
  if (compare) read_comparison(compare);
  if (compute_ != NEVER || compare)
    library_ = dlopen((folder_ + "/kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  for (auto& [name, address] : globals_) {
    auto initial = symbol_of(library_, "sw_initial_" + name);
    if (initial) memcpy((void*)address, initial, live_[address].bytes);
  }
}

// --- launches on disk
// --------------------------------------------------------------------------------

std::map<uintptr_t, Buffer>::iterator buffer_at(uintptr_t address) {
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return live_.end();
  --it;
  return address < it->first + std::max<size_t>(it->second.bytes, 1) ? it : live_.end();
}

// What is recorded of a launch: all that its programs' addresses may follow from, and the buffers
// that these may lead to: those that arguments point to, and those that kept contents do.
std::string describe(const Kernel& kernel, const Configuration& how, const uint8_t* const* values) {
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
    text << (i ? ", \"" : "\"") << hexadecimal(values[i], kernel.parameters[i]) << "\"";
    for (size_t k = 0; k + 8 <= kernel.parameters[i]; k += 8) {
      uintptr_t word;
      memcpy(&word, values[i] + k, 8);
      reach(word, contents_decide(kernel.contents, i));
    }
  }
  for (auto it = live_.begin(); it != live_.end() && it->first < kBegin; ++it)
    reach(it->first, variables);
  while (!kept.empty()) {
    auto word = (const uintptr_t*)kept.back(), end = word + live_[kept.back()].bytes / 8;
    kept.pop_back();
    for (; word < end; word++) reach(*word, all);
  }
  text << "], \"buffers\": [";
  bool first = true;
  for (auto& [at, decides] : reached) {
    size_t bytes = live_[at].bytes;
    text << (first ? "[" : ", [") << at << ", " << bytes << ", \""
         << (decides ? keep(folder_, (void*)at, bytes) : "") << "\"]";
    first = false;
  }
  text << "]";
  return text.str();
}

}  // namespace

#include "standin_threads.h"
#include "standin_tracing.h"

namespace {

Error launch(const Named& named, const Configuration& how, void** given) {
  std::lock_guard<std::recursive_mutex> guard(lock_);
  auto it = find(table_, named);
  if (it == table_.end()) {
    write_line(log_, "{\"event\": \"refused\", \"kernel\": \"" + named.name + "\"}\n");
    return kSuccess;
  }
  const uint64_t threads = (uint64_t)how.block.x * how.block.y * how.block.z;
  if (!threads || threads > 1024 || !how.grid.x || !how.grid.y || !how.grid.z)
    return failed(API(ErrorInvalidConfiguration));
  const Kernel& kernel = it->second;
  std::string text = describe(kernel, how, (const uint8_t**)given);
  auto [place, fresh] = seen_.insert({text, (int)seen_.size()});
  std::string id =
      "\"id\": \"" + std::to_string(getpid()) + "-" + std::to_string(place->second) + "\", ";
  char key[24];
  snprintf(key, sizeof key, "%016" PRIx64, hash_of(text.data(), text.size()));
  if (fresh)
    write_line(log_, "{\"event\": \"new\", " + id + "\"key\": \"" + key + "\", " + text + "}\n");
  std::string how_far = compared(key, kernel, how, given)
                            ? "\"computed\": true, \"seconds\": 0, \"why\": \"\""
                            : execute(kernel, how, given);
  write_line(log_, "{\"event\": \"ran\", " + id + how_far + "}\n");
  return kSuccess;
}

// --- memory
// --------------------------------------------------------------------------------------------------

Error allocate(void** out, size_t bytes) {
  std::lock_guard<std::recursive_mutex> guard(lock_);
  begin();
  if (!bytes) return put(out, nullptr);
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
  return put(out, (void*)at);
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
  auto global = find(globals_, it->second);
  return global == globals_.end() ? nullptr : (void*)global->second;
}

Error move(void* to, const void* from, size_t bytes) {
  memmove(to, from, bytes);
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

}  // namespace

// --- what kernels call
// -------------------------------------------------------------------------------------------

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
  size_t first = (me - fibers_.data()) / kWave * kWave,
         at = first + ((uint32_t)byte_lane >> 2) % kWave;
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
}
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
  if (++iterations_ > kMostIterations && tracing_) stop(ENDLESS, 0);
}
// A thread is about to wait for the lanes of its wave.
EXPORT void sw_at(uint32_t position, uint32_t depth) { set_place(now_->at, depth, position); }
EXPORT void sw_access(const void* address, int32_t bytes, int32_t kind, int32_t update,
                      int32_t site, uint32_t depth, uint32_t position) {
  auto at = (uintptr_t)address;
  if (at < kEnd)
    note_access(at, {bytes, kind, update, site}, depth, position);
  else if (kind)
    stop(NOT_GLOBAL, at);
}
// How the slice of the next launch is to be executed; nothing else runs in this process. Words:
// entry, arguments, grid, block, shared memory: how much and where, how many buffers, and these.
// False if there is no room for its memory.
EXPORT bool sw_trace(const int64_t* words) {
  const auto held = (const Held*)(words + 11);
  const auto size = [&](int k) { return dim3(words[k], words[k + 1], words[k + 2]); };
  for (auto& [at, bytes] : mapped_) munmap((void*)(at - at % kPage), bytes + at % kPage);
  mapped_.clear();
  failure_ = NONE;
  delete tracing_;
  tracing_ = new Tracing{{(Entry)words[0], true, (const Variable*)words[9]},
                         (void**)words[1],
                         {size(2), size(5), (size_t)words[8], nullptr},
                         {held, held + words[10]}};
  uintptr_t end = kGlobals;
  for (auto& buffer : tracing_->held) {
    if (buffer.begin < kBegin)
      end = std::max(end, buffer.begin + buffer.bytes);
    else
      mapped_.push_back({buffer.begin, std::max<size_t>(buffer.bytes, 1)});
  }
  if (end > kGlobals) mapped_.push_back({kGlobals, end - kGlobals});
  for (auto& [at, bytes] : mapped_)
    if (!map_at(at, bytes)) return false;
  for (auto& buffer : tracing_->held) memcpy((void*)buffer.begin, buffer.contents, buffer.bytes);
  return true;
}
// Executes workgroups until their accesses are many; returns how many it were.
EXPORT int64_t sw_trace_groups(int64_t first, int64_t last) { return trace_groups(first, last); }
// Tells why it was stopped, 0 if it was not, and at which address.
EXPORT void sw_trace_failure(int64_t* words) { words[0] = failure_, words[1] = failed_at_; }
// Tells accesses, in the order of the kernel: bytes, kind, update, site, how many threads, and
// where their addresses and lanes are; false if there are no more.
EXPORT bool sw_trace_next(int64_t* words) {
  if (batch_ == found_.end()) return false;
  const Accesses& batch = (batch_++)->second;
  const int64_t fields[] = {batch.kind.bytes,
                            batch.kind.kind,
                            batch.kind.update,
                            batch.kind.site,
                            (int64_t)batch.address.size(),
                            (int64_t)batch.address.data(),
                            (int64_t)batch.lane.data()};
  memcpy(words, fields, sizeof fields);
  return true;
}

#include "standin_calls.h"
