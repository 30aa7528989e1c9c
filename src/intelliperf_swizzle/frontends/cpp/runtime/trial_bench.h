// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// One launch for `trial_shim.cpp`: kernels run on its memory, compared and timed.
#pragma once
#include "trial_calls.h"

namespace {

// --- memory of a launch
// ------------------------------------------------------------------------------------

struct Region {
  uint8_t* at;
  size_t bytes;
  std::string name;
  size_t element = 1;
  std::string type = "-";
  int variable = -1;
  double least = 1;  // what the absolute part of the tolerance is of: the largest value, at most 1
  bool fresh = false, written = false;          // fresh: filled with poison before each run
  uint8_t *before = nullptr, *after = nullptr;  // on the host
  void* kept = nullptr;                         // on the GPU: a copy of `before`
};
struct Loaded {  // a kernel, and where its module has the program's variables
  Function function;
  std::vector<void*> variables;
};

double float_at(const uint8_t* at, const std::string& type) {
  if (type == "fp64") {
    double value;
    memcpy(&value, at, 8);
    return value;
  }
  float value;
  uint32_t bits = 0;
  memcpy(&bits, at, type == "fp32" ? 4 : 2);
  if (type == "bf16") bits <<= 16;
  if (type == "fp16") {
    const uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent     ? std::ldexp(1024.0 + fraction, (int)exponent - 25)
                                       : std::ldexp((double)fraction, -24);
    return bits >> 15 ? -size : size;
  }
  memcpy(&value, &bits, 4);
  return value;
}
double largest(const uint8_t* at, size_t bytes, size_t element, const std::string& type) {
  double most = 0;
  for (size_t k = 0; k + element <= bytes; k += element) {
    const double value = std::fabs(float_at(at + k, type));
    if (std::isfinite(value)) most = std::max(most, value);
  }
  return most;
}
bool beyond(const uint8_t* found, const uint8_t* expected, const std::string& type, double least) {
  const double a = float_at(found, type), b = float_at(expected, type);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) != std::isnan(b);
  return !(a == b || std::fabs(a - b) <= tolerance_ * (least + std::fabs(b)));
}

struct Difference {
  size_t first = 0, count = 0;
};

class Bench {  // one launch on the program's own memory, which is put back
 public:
  Bench(Task& task, Function original, const void* host, void** arguments, Stream stream)
      : task_(task), arguments_(arguments), stream_(stream) {
    original_.function = original;
    for (auto& known : state().managed)
      if (same_library(known.host, host)) managed_.push_back(&known);
    for (auto& known : state().variables)
      original_.variables.push_back(same_library(known.host, host) ? symbol(known.host) : nullptr);
  }
  ~Bench() {
    for (auto& region : regions_) {
      free(region.before), free(region.after);
      release(region.kept);
    }
    if (staging_) RUNTIME(FreeHost, void*)(staging_);
    if (flushed_) release(flushed_);
  }
  const Loaded& original() const { return original_; }
  double original_seconds = 0;
  // Variables of its library that host and GPU share, of which a candidate's module has its own.
  const std::vector<const Variable*>& managed() const { return managed_; }

  // Copies what is there and runs the original; returns why that fails, else an empty string.
  std::string prepare() {
    if (Error error = wait()) return "the application has failed before: " + words(error);
    find();
    size_t bytes = 0;
    for (auto& region : regions_) bytes += region.bytes;
    const size_t room = host_room();
    auto too_much = [&] {
      return "copies of " + std::to_string(bytes >> 20) +
             " MiB do not fit into the host's memory (" + std::to_string(room >> 20) + " MiB)";
    };
    if (bytes > room) return too_much();
    make_staging();
    for (auto& region : regions_) {
      region.before = (uint8_t*)malloc(region.bytes);
      if (Error error =
              read(region, region.at, [&](const uint8_t* chunk, size_t from, size_t size) {
                memcpy(region.before + from, chunk, size);
              }))
        return region.name + " cannot be read: " + words(error);
    }
    for (auto& region : regions_)
      if (region.fresh) fill(region);
    const double begun = now();
    if (Error error = run(original_)) {
      fprintf(stderr, "swizzle: the unmodified kernel: %s\n", words(error).c_str());
      _exit(kLost);
    }
    original_seconds = now() - begun;
    for (auto& region : regions_) {
      region.written = region.fresh;
      if (!region.fresh)
        region.written = difference(region, region.at, region.before, "-").count > 0;
      if (region.written) bytes += region.bytes;
    }
    if (bytes > room) {
      put_back();
      return too_much();
    }
    for (auto& region : regions_) {
      if (!region.written) continue;
      region.after = (uint8_t*)malloc(region.bytes);
      read(region, region.at, [&](const uint8_t* chunk, size_t from, size_t size) {
        memcpy(region.after + from, chunk, size);
      });
      if (region.type != "-")
        region.least =
            std::min(1.0, largest(region.after, region.bytes, region.element, region.type));
      if (region.fresh || region.variable >= 0) continue;
      if (allocate(&region.kept, region.bytes) || copy(region.kept, region.before, region.bytes))
        release(region.kept), region.kept = nullptr;
    }
    return "";
  }

  // Describes the first difference of what a kernel leaves; empty if all bytes agree.
  std::string compare(const Loaded& kernel) {
    restore(kernel);
    if (Error error = run(kernel)) return "!" + words(error);
    std::string what;
    for (auto& region : regions_) {
      const uint8_t* at =
          region.variable < 0 ? region.at : (uint8_t*)kernel.variables[region.variable];
      if (!at && region.written) what = "the patched program has no variable `" + region.name + "`";
      if (!at) continue;
      const Difference found = difference(region, at, region.written ? region.after : region.before,
                                          region.written ? region.type : "-");
      if (!found.count) continue;
      if (!region.written) {
        copy((void*)at, region.before, region.bytes);
        what = "it writes to `" + region.name + "`, which is an input";
      } else if (what.empty()) {
        what = "`" + region.name + "` differs in " + std::to_string(found.count) +
               (region.type == "-" ? " bytes" : " elements") + ", first at element " +
               std::to_string(found.first / region.element);
      }
    }
    return what;
  }

  void put_back() {
    wait();
    for (auto& region : regions_)
      if (region.written) copy(region.at, region.before, region.bytes);
    wait();
  }

  bool loose() const {
    return std::any_of(regions_.begin(), regions_.end(),
                       [](auto& region) { return region.type != "-" && region.written; });
  }

  // Times in ns of one round: memory put back and caches flushed before each launch.
  std::string round(const std::vector<const Loaded*>& kernels, const std::vector<int>& order,
                    std::vector<long>& ns) {
    make_events(2 * kernels.size());
    Error error = 0;
    for (int i : order) {
      restore(*kernels[i]);
      flush();
      RUNTIME(EventRecord, Event, Stream)(events_[2 * i], stream_);
      error = error ? error : launch(*kernels[i]);
      RUNTIME(EventRecord, Event, Stream)(events_[2 * i + 1], stream_);
    }
    if (Error late = wait()) error = late;
    for (size_t i = 0; i < kernels.size() && !error; i++)
      ns[i] = elapsed(events_[2 * i], events_[2 * i + 1], &error);
    return error ? words(error) : "";
  }

 private:
  void make_staging() {
    if (RUNTIME(HostAlloc, void**, size_t, unsigned)((void**)&staging_, kChunk, 0)) {
      RUNTIME(GetLastError)();
      staging_ = nullptr;
      pageable_.resize(kChunk);
    }
  }
  void make_events(size_t count) {
    while (events_.size() < count) {
      events_.push_back(nullptr);
      RUNTIME(EventCreate, Event*)(&events_.back());
    }
  }
  void flush() {
    for (size_t bytes = 2 * cache_bytes_; !flushed_ && bytes > (1 << 20); bytes /= 2)
      if (!allocate(&flushed_, bytes)) flush_bytes_ = bytes;
    if (flushed_)
      RUNTIME(MemsetAsync, void*, int, size_t, Stream)(flushed_, 0, flush_bytes_, stream_);
  }
  static size_t host_room() {
    std::ifstream lines("/proc/meminfo");
    size_t kilobytes = 0;
    for (std::string line; std::getline(lines, line);)
      if (sscanf(line.c_str(), "MemAvailable: %zu", &kilobytes) == 1)
        return kilobytes * 1024 / 5 * 4;
    return (size_t)8 << 30;
  }
  static long elapsed(Event from, Event to, Error* error) {
    float ms = 0;
    *error = RUNTIME(EventElapsedTime, float*, Event, Event)(&ms, from, to);
    return std::max(1L, std::lround(1e6 * ms));
  }
  // All memory that the program has, and what arguments point to besides.
  void find() {
    std::map<uintptr_t, size_t> found = state().memory;
    auto holding = [&](uintptr_t word) {
      auto it = found.upper_bound(word);
      return it != found.begin() && word < std::prev(it)->first + std::prev(it)->second
                 ? std::prev(it)
                 : found.end();
    };
    auto range = driver<Error(uintptr_t*, size_t*, uintptr_t)>(
        DRIVER(cuMemGetAddressRange_v2, hipMemGetAddressRange));
    std::vector<std::pair<uintptr_t, const Parameter*>> pointed;
    for (size_t i = 0; i < task_.parameters.size(); i++)
      for (size_t k = 0; k + 8 <= task_.parameters[i].bytes; k += 8) {
        uintptr_t word, base = 0;
        size_t bytes = 0;
        memcpy(&word, (char*)arguments_[i] + k, 8);
        if (!word) continue;
        const bool pointer = task_.parameters[i].value.compare(2 * k, 2, "..") == 0;
        if (holding(word) == found.end() && pointer && range && !range(&base, &bytes, word) &&
            bytes)
          found[base] = bytes;
        auto it = holding(word);
        if (it != found.end()) pointed.push_back({it->first, &task_.parameters[i]});
      }
    for (auto& [at, bytes] : found) {
      Region region{(uint8_t*)at, bytes, "an allocation"};
      for (auto& [base, p] : pointed) {
        if (base != at) continue;
        region.name = region.name == "an allocation" ? p->name : region.name + " and " + p->name;
        region.element = std::max<size_t>(p->element, 1);
        region.type = p->type;
        region.fresh = p->fresh == bytes;
      }
      regions_.push_back(region);
    }
    for (auto* known : managed_)
      regions_.push_back({*(uint8_t**)known->host, known->bytes, known->name});
    for (size_t i = 0; i < state().variables.size(); i++) {
      if (!original_.variables[i]) continue;
      Region region{(uint8_t*)original_.variables[i], state().variables[i].bytes,
                    state().variables[i].name};
      region.variable = (int)i;
      regions_.push_back(region);
    }
  }
  template <typename Take>
  Error read(const Region& region, const uint8_t* at, Take take) {
    uint8_t* chunk = staging_ ? staging_ : pageable_.data();
    for (size_t from = 0; from < region.bytes; from += kChunk) {
      const size_t size = std::min(kChunk, region.bytes - from);
      if (Error error = copy(chunk, at + from, size)) return error;
      take(chunk, from, size);
    }
    return 0;
  }
  Difference difference(const Region& region, const uint8_t* at, const uint8_t* expected,
                        const std::string& type) {
    Difference found;
    Error error = read(region, at, [&](const uint8_t* chunk, size_t from, size_t size) {
      if (!memcmp(chunk, expected + from, size)) return;
      const size_t step = type == "-" ? 1 : region.element;
      for (size_t k = 0; k + step <= size; k += step) {
        if (!memcmp(chunk + k, expected + from + k, step)) continue;
        if (type != "-" && !beyond(chunk + k, expected + from + k, type, region.least)) continue;
        if (!found.count++) found.first = from + k;
      }
    });
    if (error && !found.count) found.count = region.bytes;
    return found;
  }
  void fill(const Region& region) {
    RUNTIME(MemsetAsync, void*, int, size_t, Stream)(region.at, kPoison, region.bytes, stream_);
  }
  void restore(const Loaded& kernel) {
    for (auto& region : regions_) {
      void* at = region.variable < 0 ? region.at : kernel.variables[region.variable];
      const bool own = region.variable >= 0 && at != region.at;  // a candidate's module has its own
      if (!at || !(region.written || own)) continue;
      if (region.fresh)
        fill(region);
      else
        RUNTIME(MemcpyAsync, void*, const void*, size_t, int, Stream)(
            at, region.kept ? region.kept : region.before, region.bytes, kAnyDirection, stream_);
    }
  }
  Error launch(const Loaded& kernel) {
    static auto call =
        driver<Error(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     Stream, void**, void**)>(DRIVER(cuLaunchKernel, hipModuleLaunchKernel));
    const Dim3 &g = task_.grid, &b = task_.block;
    return call(kernel.function, g.x, g.y, g.z, b.x, b.y, b.z, task_.shared, stream_, arguments_,
                nullptr);
  }
  Error run(const Loaded& kernel) {
    Error error = launch(kernel), late = wait();
    return error ? error : late;
  }

  Task& task_;
  void** arguments_;
  Stream stream_;
  Loaded original_;
  std::vector<const Variable*> managed_;
  std::vector<Region> regions_;
  std::vector<Event> events_;
  std::vector<uint8_t> pageable_;
  uint8_t* staging_ = nullptr;
  void* flushed_ = nullptr;
  size_t flush_bytes_ = 0;
};

}  // namespace
