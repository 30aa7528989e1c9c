// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// What `trial_shim.cpp` calls by name, its journal, its order, and what the program registers.
#pragma once
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <random>

#include "contents.h"

#ifdef FOR_HIP
#define API(name) hip##name
#define REGISTER(name) __hip##name
#define DRIVER(cuda, hip) QUOTED(hip)
constexpr const char* kLibrary = "libamdhip64.so";
constexpr const char* kRuntimes[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                     kLibrary};
#else
#define API(name) cuda##name
#define REGISTER(name) __cuda##name
#define DRIVER(cuda, hip) QUOTED(cuda)
constexpr const char* kLibrary = "libcuda.so.1";
constexpr const char* kRuntimes[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                     "libcudart.so"};
#endif

typedef int Error;  // of the runtime and of the driver: 0 is success
typedef void *Stream, *Event, *Module, *Function;
struct Dim3 {
  unsigned x, y, z;
};

namespace {

constexpr int kAnyDirection = 4;  // cudaMemcpyDefault
constexpr uint8_t kPoison = 0xa5;
constexpr size_t kChunk = 64 << 20;
constexpr double kBuildSeconds = 180, kTimesOriginal = 200;
constexpr int kFewestRounds = 11, kMostRounds = 200, kWarmUp = 3;
constexpr int kLost = 70;  // exit status where a candidate has ruined the process

// --- what the program has loaded
// -------------------------------------------------------------------

template <typename F>
F* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  for (const char* library : kRuntimes)  // that was loaded for itself
    if (void* loaded = found ? nullptr : dlopen(library, RTLD_NOW | RTLD_NOLOAD))
      found = dlsym(loaded, name);
  if (!found) fprintf(stderr, "swizzle: the runtime has no %s\n", name);
  return (F*)found;
}
template <typename F>
F* driver(const char* name) {
  static void* library = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  void* found = library ? dlsym(library, name) : nullptr;
  return (F*)(found ? found : dlsym(RTLD_DEFAULT, name));
}
#define RUNTIME(name, ...) (*next<Error(__VA_ARGS__)>(QUOTED(API(name))))

Error copy(void* to, const void* from, size_t bytes) {
  return RUNTIME(Memcpy, void*, const void*, size_t, int)(to, from, bytes, kAnyDirection);
}
Error wait() { return RUNTIME(DeviceSynchronize)(); }
Error allocate(void** at, size_t bytes) {
  Error error = RUNTIME(Malloc, void**, size_t)(at, bytes);
  if (error) RUNTIME(GetLastError)();
  return error;
}
void release(void* at) {
  if (at) RUNTIME(Free, void*)(at);
}
std::string words(Error error) {
  auto text = next<const char*(Error)>(QUOTED(API(GetErrorString)));
  return text ? text(error) : "error " + std::to_string(error);
}
double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// --- the journal
// -------------------------------------------------------------------------------------

std::string folder_,
    stop_;  // stop_: the process ends at the first launch of a kernel from below it
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c < 32 ? ' ' : (char)c;
  }
  return out + "\"";
}
void tell(const std::string& event, const std::string& fields = "",
          const char* to = "/journal.jsonl") {
  const std::string line = "{\"event\": \"" + event + "\"" + fields + "}\n";
  int file = open((folder_ + to).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0 || write(file, line.data(), line.size()) < 0) perror("swizzle: journal");
  if (file >= 0) close(file);
}
std::string field(const char* name, const std::string& json) {
  return std::string(", \"") + name + "\": " + json;
}
template <typename T>
std::string number(const char* name, T value) {
  std::ostringstream text;
  text.precision(9);
  text << value;
  return field(name, text.str());
}

// --- the order
// -----------------------------------------------------------------------------------------

struct Parameter {
  size_t bytes, element;   // of an element of the buffer that it points to; 0 = no buffer
  std::string name, type;  // of the elements that atomics add up in any order; "-" = bit for bit
  std::string value;       // as hexadecimal, two dots for a byte of a pointer
  size_t fresh;            // bytes of a buffer that is written and not read; 0 = it is another
};
struct Task {
  std::string symbol, plain;
  Dim3 grid, block;
  size_t shared;
  long index;  // of the launches of this kernel and form
  std::vector<Parameter> parameters;
  bool done = false;
};
double race_seconds_ = 0, run_seconds_ = 20, tolerance_ = 0;
size_t cache_bytes_ = 0;
std::vector<Task> tasks_;
std::map<int, std::vector<std::string>> candidates_;  // files of device code
std::vector<Kernel> recorded_;                        // whose launches are written down
Variables placed_;
std::set<std::pair<int, int>> checked_;
std::set<int> failed_, raced_;

void read_order() {
  std::ifstream lines(folder_ + "/order.txt");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string what;
    in >> what;
    int first, second;
    if (what == "race_seconds") in >> race_seconds_;
    if (what == "run_seconds") in >> run_seconds_;
    if (what == "tolerance") in >> tolerance_;
    if (what == "cache_bytes") in >> cache_bytes_;
    if (what == "checked" && in >> first >> second) checked_.insert({first, second});
    if (what == "failed" && in >> first) failed_.insert(first);
    if (what == "raced" && in >> first) raced_.insert(first);
    if (what == "candidate" && in >> first)
      for (std::string file; in >> file;) candidates_[first].push_back(file);
    if (what == "task") {
      Task t;
      in >> t.symbol >> t.plain >> t.grid.x >> t.grid.y >> t.grid.z >> t.block.x >> t.block.y >>
          t.block.z >> t.shared >> t.index;
      tasks_.push_back(t);
    }
    if (what == "parameter") {
      Parameter p;
      in >> p.bytes >> p.element >> p.name >> p.type >> p.fresh >> p.value;
      tasks_.back().parameters.push_back(p);
    }
  }
}

// --- what the program registers and allocates
// ------------------------------------------------------------

struct Variable {
  const void* host;
  std::string name;
  size_t bytes;
};
struct State {  // made before any other constructor may need it
  std::recursive_mutex lock;
  std::unordered_map<const void*, std::string> kernels;  // device name by the host's function
  std::unordered_map<const void*, const void*> handles;  // host's function by what stands for it
  std::vector<Variable> variables;
  std::map<uintptr_t, size_t> memory;
  std::map<std::string, long> launched;  // by name and form
  std::vector<Variable> managed;
};
State& state() {
  static State* state = new State;
  return *state;
}
thread_local bool busy_ = false;

void begin() {
  static bool begun = false;
  if (begun) return;
  begun = true;
  if (const char* below = getenv("SWIZZLE_TRIAL_STOP")) stop_ = below;
  const char* folder = getenv("SWIZZLE_TRIAL_FOLDER");
  if (!folder) return;
  folder_ = folder;
  read_order();
  recorded_ = read_kernels(folder_), placed_ = read_variables(folder_);
}
Error noted(Error error, void** at, size_t bytes) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  if (!error && *at && bytes) state().memory[(uintptr_t)*at] = bytes;
  return error;
}
void forget(void* at) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  state().memory.erase((uintptr_t)at);
}

// Whether two functions or variables of the host are of one library: PyTorch has thousands of its
// own.
bool same_library(const void* one, const void* other) {
  Dl_info a{}, b{};
  return dladdr(one, &a) && dladdr(other, &b) && a.dli_fbase == b.dli_fbase;
}
void* symbol(Module module, const std::string& name, size_t bytes) {
  static auto find = driver<Error(void**, size_t*, Module, const char*)>(
      DRIVER(cuModuleGetGlobal_v2, hipModuleGetGlobal));
  void* at = nullptr;
  size_t found = 0;
  return !find(&at, &found, module, name.c_str()) && found == bytes ? at : nullptr;
}
void* symbol(const void* host) {
  void* at = nullptr;
  if (RUNTIME(GetSymbolAddress, void**, const void*)(&at, host)) {
    RUNTIME(GetLastError)();
    return nullptr;
  }
  return at;
}

}  // namespace
