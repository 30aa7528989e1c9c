// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Preloaded into a CUDA or HIP program (-DFOR_HIP) on a machine with a GPU: it writes launches
// down, where the stand-in cannot (PyTorch's extensions); and at launches that were recorded,
// edited kernels are loaded beside the original, launched with the same arguments on the same
// memory, compared byte for byte and timed in interleaved rounds. Then all memory is as it was
// before, and the program makes its own launch and goes on.
//
// SWIZZLE_TRIAL_FOLDER names a folder with
//   order.txt      a line each, words as `read_order` takes them
//   kernels.txt, globals.txt
//                  where launches are written down: of what, as for `standin.h`
//   journal.jsonl  is written: what is being done and what came of it, as `frontends/trials`
//                  reads it
//   launches.jsonl, contents/  are written, as by `standin.h`
// SWIZZLE_TRIAL_STOP names a folder: the first launch of a kernel from a library below it ends the
// process. Needs no header of a vendor: what is called is looked up by name in what the program has
// loaded. Source: CUDA Runtime API, CUDA Driver API, HIP Runtime API (public documentation).
#include "trial_bench.h"
#include "trial_record.h"

namespace {

// --- one launch
// ----------------------------------------------------------------------------------------------

std::string at_work(int task, int candidate) {
  return number("launch", task) +
         field("candidate", candidate < 0 ? "null" : std::to_string(candidate));
}
void working(int task, int candidate, const char* what, double seconds) {
  tell("working",
       at_work(task, candidate) + field("what", quoted(what)) + number("limit_seconds", seconds));
}
void fail(int task, int candidate, const char* kind, const std::string& text) {
  failed_.insert(candidate);
  tell("failed", at_work(task, candidate) + ", \"failure\": {\"kind\": " + quoted(kind) +
                     field("text", quoted(text)) + "}");
}

// The kernel of a candidate from its device code, once; or the reason why there is none.
std::string load(int candidate, const std::string& name, Function original,
                 std::map<int, Loaded>& loaded) {
  static std::map<std::pair<int, std::string>, Loaded> known;
  auto key = std::make_pair(candidate, name);
  if (known.count(key)) {
    loaded[candidate] = known[key];
    return "";
  }
  auto load_data = driver<Error(Module*, const void*)>(DRIVER(cuModuleLoadData, hipModuleLoadData));
  auto get = driver<Error(Function*, Module, const char*)>(
      DRIVER(cuModuleGetFunction, hipModuleGetFunction));
  if (!load_data || !get) return std::string("there is no ") + kLibrary + " that loads modules";
  std::string why;
  for (auto& file : candidates_[candidate]) {
    std::ifstream in(folder_ + "/" + file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    auto* data = new std::string(text.str());  // kept as long as the module
    Module module = nullptr;
    if (Error error = load_data(&module, data->data())) {
      why = "its device code cannot be loaded (error " + std::to_string(error) + ")";
      continue;
    }
    Loaded kernel{};
    if (get(&kernel.function, module, name.c_str())) continue;
    for (auto& variable : state().variables)
      kernel.variables.push_back(symbol(module, variable.name, variable.bytes));
#ifndef FOR_HIP
    auto ask = driver<Error(int*, int, Function)>("cuFuncGetAttribute");
    auto set = driver<Error(Function, int, int)>("cuFuncSetAttribute");
    for (int which : {8, 9}) {  // most dynamic shared memory, and its share of the L1
      int value = 0;
      if (ask && set && !ask(&value, which, original)) set(kernel.function, which, value);
    }
#endif
    loaded[candidate] = known[key] = kernel;
    return "";
  }
  return why.empty() ? "the patched program has no kernel `" + name + "`" : why;
}

void race(int task, Bench& bench, const std::vector<int>& racing, std::map<int, Loaded>& loaded) {
  const double seconds = race_seconds_ / tasks_.size();
  working(task, -1, "timing", 10 * seconds + kBuildSeconds);
  std::vector<const Loaded*> kernels{&bench.original()};
  std::vector<int> order{0};
  for (int candidate : racing)
    order.push_back(kernels.size()), kernels.push_back(&loaded[candidate]);
  std::vector<long> ns(kernels.size());
  std::string rows, why;
  double begun = now();
  int rounds = kFewestRounds;
  std::mt19937 draw(0);
  for (int i = -kWarmUp; i < rounds && why.empty(); i++) {
    if (i == -1) begun = now();
    std::shuffle(order.begin(), order.end(), draw);
    why = bench.round(kernels, order, ns);
    if (i == -1)
      rounds =
          std::clamp((int)(seconds / std::max(1e-6, now() - begun)), kFewestRounds, kMostRounds);
    if (i < 0) continue;
    rows += i ? ", [" : "[";
    for (size_t k = 0; k < ns.size(); k++) rows += (k ? ", " : "") + std::to_string(ns[k]);
    rows += "]";
  }
  if (!why.empty()) {
    tell("not raced", number("launch", task) + field("text", quoted("timing failed: " + why)));
    _exit(kLost);
  }
  std::string numbers;
  for (int candidate : racing) numbers += (numbers.empty() ? "" : ", ") + std::to_string(candidate);
  tell("raced", number("launch", task) + field("candidates", "[" + numbers + "]") +
                    field("rounds_ns", "[" + rows + "]"));
}

void check(int task, int candidate, Bench& bench, const Loaded& kernel) {
  working(task, candidate, "running",
          std::max(run_seconds_, kTimesOriginal * bench.original_seconds));
  std::string difference = bench.compare(kernel);
  if (difference[0] == '!') {
    fail(task, candidate, "faulted", difference.substr(1));
    _exit(kLost);
  }
  if (!difference.empty() && !bench.compare(bench.original()).empty())
    difference += "; but the unmodified kernel does not leave the same bytes twice either";
  if (!difference.empty()) failed_.insert(candidate);
  tell("checked", at_work(task, candidate) +
                      ", \"check\": {\"same\": " + (difference.empty() ? "true" : "false") +
                      field("difference", difference.empty() ? "null" : quoted(difference)) +
                      field("loose", bench.loose() ? "true" : "false") + "}");
}

void work(int number_of_task, const std::string& name, const void* host, void** arguments,
          Stream stream) {
  Task& task = tasks_[number_of_task];
  working(number_of_task, -1, "preparing", kBuildSeconds);
  std::map<int, Loaded> loaded;
  Function original = nullptr;
  std::string why;
  auto function = next<Error(Function*, const void*)>(QUOTED(API(GetFuncBySymbol)));
  if (!function || function(&original, host))
    why = "the runtime does not tell the kernel's handle (CUDA 11.1 or newer does)";
  Bench bench(task, original, host, arguments, stream);
  for (auto* variable : bench.managed())
    why = "the program has a __managed__ variable (`" + variable->name + "`)";
  if (why.empty()) why = bench.prepare();
  for (auto& [candidate, _] : candidates_) {
    if (failed_.count(candidate)) continue;
    if (!why.empty()) {
      fail(number_of_task, candidate, "not validated", why);
      continue;
    }
    working(number_of_task, candidate, "building", kBuildSeconds);
    const std::string gap = load(candidate, name, original, loaded);
    if (!gap.empty())
      fail(number_of_task, candidate, "does not build", gap);
    else if (!checked_.count({number_of_task, candidate}))
      check(number_of_task, candidate, bench, loaded[candidate]);
  }
  std::vector<int> racing;
  for (auto& [candidate, _] : loaded)
    if (!failed_.count(candidate)) racing.push_back(candidate);
  if (!raced_.count(number_of_task) && race_seconds_ > 0 && !racing.empty())
    race(number_of_task, bench, racing, loaded);
  if (why.empty()) bench.put_back();
  tell("idle");
}

// Whether a registered kernel is the recorded one; compilers name what a file has for itself in
// ways of their own.
template <typename One>
bool is_kernel(const One& recorded, const std::string& name) {
  if (name == recorded.symbol) return true;
  const std::string part = std::to_string(recorded.plain.size()) + recorded.plain;
  if (name.find(part) == std::string::npos) return false;
  int alike = 0;
  for (auto& [_, symbol] : state().kernels) {
    if (symbol == recorded.symbol) return false;
    alike += symbol.find(part) != std::string::npos;
  }
  return alike == 1;
}

bool same_values(const Task& task, void** arguments) {
  for (size_t i = 0; i < task.parameters.size(); i++) {
    const Parameter& p = task.parameters[i];
    const std::string found = hexadecimal((uint8_t*)arguments[i], p.bytes);
    for (size_t k = 0; k < std::min(found.size(), p.value.size()); k++)
      if (p.value[k] != '.' && p.value[k] != found[k]) return false;
  }
  return true;
}

void before_launch(const void* given, Dim3 grid, Dim3 block, void** arguments, size_t shared,
                   Stream stream) {
  begin();
  if ((folder_.empty() && stop_.empty()) || busy_ || !arguments) return;
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  auto handle = state().handles.find(given);
  const void* host = handle == state().handles.end() ? given : handle->second;
  Dl_info where;
  if (!stop_.empty() && dladdr(host, &where) &&
      !strncmp(where.dli_fname, stop_.c_str(), stop_.size()))
    _exit(0);
  auto known = state().kernels.find(host);
  int capturing = 0;  // into a graph: it is launched later, and by another call
  if (known == state().kernels.end() ||
      RUNTIME(StreamIsCapturing, Stream, int*)(stream, &capturing) || capturing)
    return;
  for (auto& kernel : recorded_)
    if (kernel.plain != "-" && is_kernel(kernel, known->second))
      record(kernel, host, grid, block, arguments, shared);
  std::ostringstream form;
  form << known->second << ' ' << grid.x << ' ' << grid.y << ' ' << grid.z << ' ' << block.x << ' '
       << block.y << ' ' << block.z << ' ' << shared;
  const long index = state().launched[form.str()]++;
  for (size_t i = 0; i < tasks_.size(); i++) {
    Task& t = tasks_[i];
    const bool wanted = !t.done && t.index == index && t.shared == shared &&
                        !memcmp(&t.grid, &grid, sizeof grid) &&
                        !memcmp(&t.block, &block, sizeof block) && is_kernel(t, known->second);
    if (!wanted) continue;
    t.done = true;
    if (!same_values(t, arguments)) {
      tell("note", field("text", quoted("launch " + std::to_string(index + 1) + " of `" + t.plain +
                                        "` has other arguments than the recorded one")));
      continue;
    }
    const int claim = open((folder_ + "/claimed-" + std::to_string(i)).c_str(),
                           O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (claim < 0) continue;  // another process of the program tries it
    close(claim);
    busy_ = true;
    work((int)i, known->second, host, arguments, stream);
    busy_ = false;
  }
}

// What was seen, where something did not come.
struct Farewell {
  ~Farewell() {
    if (folder_.empty() || state().kernels.empty()) return;
    std::string forms;
    for (auto& [form, count] : state().launched)
      if (forms.size() < 4000)
        forms += (forms.empty() ? "" : ", ") + quoted(form + " x" + std::to_string(count));
    tell("seen",
         number("registered", state().kernels.size()) + field("launched", "[" + forms + "]"));
  }
} farewell_;

}  // namespace

// --- what stands before the runtime
// -----------------------------------------------------------------------------

// What the runtime has by this name, of the type that stands here.
#define PASS(name) (*next<decltype(name)>(QUOTED(name)))
// Calls of one kind, some of which take a further argument, of a type that is given then.
#define ALLOCATE(name, ...)                                                   \
  EXPORT Error name(void** at, size_t bytes __VA_OPT__(, __VA_ARGS__ with)) { \
    return noted(PASS(name)(at, bytes __VA_OPT__(, with)), at, bytes);        \
  }
#define RELEASE(name, ...)                                     \
  EXPORT Error name(void* at __VA_OPT__(, __VA_ARGS__ with)) { \
    forget(at);                                                \
    return PASS(name)(at __VA_OPT__(, with));                  \
  }
#define LAUNCH(name)                                                                          \
  EXPORT Error name(const void* host, Dim3 grid, Dim3 block, void** arguments, size_t shared, \
                    Stream stream) {                                                          \
    before_launch(host, grid, block, arguments, shared, stream);                              \
    return PASS(name)(host, grid, block, arguments, shared, stream);                          \
  }
LAUNCH(API(LaunchKernel))
#ifdef FOR_HIP
LAUNCH(hipLaunchKernel_spt)
ALLOCATE(hipHostAlloc, unsigned)
ALLOCATE(hipHostMalloc, unsigned)
RELEASE(hipHostFree)
#else
LAUNCH(cudaLaunchKernel_ptsz)
LAUNCH(__cudaLaunchKernel)
LAUNCH(__cudaLaunchKernel_ptsz)
struct Configuration {
  Dim3 grid, block;
  size_t shared;
  Stream stream;
  void* attributes;
  unsigned count;
};
#define LAUNCH_EX(name)                                                              \
  EXPORT Error name(const Configuration* how, const void* host, void** arguments) {  \
    before_launch(host, how->grid, how->block, arguments, how->shared, how->stream); \
    return PASS(name)(how, host, arguments);                                         \
  }
LAUNCH_EX(cudaLaunchKernelExC)
LAUNCH_EX(cudaLaunchKernelExC_ptsz)
EXPORT Error __cudaGetKernel(const void** kernel, const void* host) {
  Error error = PASS(__cudaGetKernel)(kernel, host);
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  if (!error) state().handles[*kernel] = host;
  return error;
}
ALLOCATE(cudaHostAlloc, unsigned)
RELEASE(cudaFreeHost)
ALLOCATE(cudaMallocAsync_ptsz, Stream)
RELEASE(cudaFreeAsync_ptsz, Stream)
#endif
ALLOCATE(API(Malloc))
ALLOCATE(API(MallocHost))
ALLOCATE(API(MallocManaged), unsigned)
ALLOCATE(API(MallocAsync), Stream)
EXPORT Error API(MallocPitch)(void** at, size_t* pitch, size_t width, size_t height) {
  Error error = PASS(API(MallocPitch))(at, pitch, width, height);
  return noted(error, at, *pitch * height);
}
EXPORT Error API(HostRegister)(void* at, size_t bytes, unsigned flags) {
  return noted(PASS(API(HostRegister))(at, bytes, flags), &at, bytes);
}
RELEASE(API(HostUnregister))
RELEASE(API(Free))
RELEASE(API(FreeAsync), Stream)

EXPORT void REGISTER(RegisterFunction)(void** module, const void* host, char* device,
                                       const char* name, int threads, void* a, void* b, void* c,
                                       void* d, int* e) {
  begin();
  {
    std::lock_guard<std::recursive_mutex> guard(state().lock);
    state().kernels[host] = name;
  }
  PASS(REGISTER(RegisterFunction))(module, host, device, name, threads, a, b, c, d, e);
}
EXPORT void REGISTER(RegisterVar)(void** module, void* host, char* device, const char* name,
                                  int external, size_t bytes, int constant, int global) {
  {
    std::lock_guard<std::recursive_mutex> guard(state().lock);
    state().variables.push_back({host, name, bytes});
  }
  PASS(REGISTER(RegisterVar))(module, host, device, name, external, bytes, constant, global);
}
#ifdef FOR_HIP
EXPORT void __hipRegisterManagedVar(void* module, void** host, void* initial, const char* name,
                                    size_t bytes, unsigned align) {
  state().managed.push_back({host, name, bytes});
  PASS(__hipRegisterManagedVar)(module, host, initial, name, bytes, align);
}
#else
EXPORT void __cudaRegisterManagedVar(void** module, void** host, char* device, const char* name,
                                     int external, size_t bytes, int constant, int global) {
  state().managed.push_back({host, name, bytes});
  PASS(__cudaRegisterManagedVar)(module, host, device, name, external, bytes, constant, global);
}
#endif
