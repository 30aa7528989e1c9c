// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A launch on a GPU, written down for `trial_shim.cpp` as `standin.h` writes those on the stand-in:
// buffers are recorded at low addresses, in the order of the arguments, whose pointers lead
// there.
#pragma once
#include "trial_calls.h"

namespace {

// What a buffer on the GPU holds, kept; empty if it cannot be read.
std::string keep_from(const void* at, size_t bytes) {
  std::vector<uint8_t> held(bytes);
  return wait() || copy(held.data(), at, bytes) ? "" : keep(folder_, held.data(), bytes);
}

class BufferMap {  // buffers of a launch
 public:
  // The bytes of an argument as hexadecimal, pointers moved.
  std::string argument(const void* at, size_t bytes, bool kept) {
    std::vector<uint8_t> value((const uint8_t*)at, (const uint8_t*)at + bytes);
    for (size_t k = 0; k + 8 <= bytes; k += 8) {
      uintptr_t word;
      memcpy(&word, &value[k], 8);
      auto it = state().memory.upper_bound(word);
      if (it == state().memory.begin() || word >= std::prev(it)->first + std::prev(it)->second)
        continue;
      word += place(*--it, kept) - it->first;
      memcpy(&value[k], &word, 8);
    }
    return quoted(hexadecimal(value.data(), bytes));
  }
  // A device variable of the library that a kernel is of.
  void variable(const std::string& name, bool kept, const void* host) {
    auto [at, bytes] = placed_[name];
    void* found = nullptr;
    for (auto& other : state().variables)
      if (kept && other.name == name && other.bytes == bytes && same_library(other.host, host))
        found = symbol(other.host);
    add(at, bytes, found ? keep_from(found, bytes) : "");
  }
  std::string buffers() {
    for (auto& buffer : places_)
      add(buffer.at, buffer.bytes, buffer.kept ? keep_from((void*)buffer.real, buffer.bytes) : "");
    return "[" + text_ + "]";
  }

 private:
  struct Place {
    uintptr_t real, at;
    size_t bytes;
    bool kept;
  };
  uintptr_t place(const std::pair<const uintptr_t, size_t>& buffer, bool kept) {
    auto it = std::find_if(places_.begin(), places_.end(),
                           [&](auto& known) { return known.real == buffer.first; });
    if (it == places_.end()) {
      it = places_.insert(it, {buffer.first, next_, buffer.second, false});
      next_ += (buffer.second + 2 * kGranule - 1) / kGranule * kGranule;
    }
    it->kept |= kept;
    return it->at;
  }
  void add(uintptr_t at, size_t bytes, const std::string& contents) {
    text_ += (text_.empty() ? "[" : ", [") + std::to_string(at) + ", " + std::to_string(bytes) +
             ", " + quoted(contents) + "]";
  }
  std::vector<Place> places_;
  uintptr_t next_ = kBegin;
  std::string text_;
};

void record(const Kernel& kernel, const void* host, Dim3 grid, Dim3 block, void** arguments,
            size_t shared) {
  static std::map<std::string, int> seen;
  BufferMap map;
  std::ostringstream text;
  auto three = [&](const char* name, Dim3 size) {
    text << ", \"" << name << "\": [" << size.x << ", " << size.y << ", " << size.z << "]";
  };
  text << field("kernel", quoted(kernel.symbol));
  three("grid", grid), three("block", block);
  text << ", \"shared\": " << shared << ", \"arguments\": [";
  for (size_t i = 0; i < kernel.parameters.size(); i++)
    text << (i ? ", " : "")
         << map.argument(arguments[i], kernel.parameters[i], contents_decide(kernel.contents, i));
  for (auto& [name, _] : placed_)
    map.variable(name, kernel.contents == "*" || kernel.contents[0] == 'v', host);
  text << "], \"buffers\": " << map.buffers();
  auto [place, fresh] = seen.insert({text.str(), (int)seen.size()});
  const std::string id =
      field("id", quoted(std::to_string(getpid()) + "-" + std::to_string(place->second)));
  char key[24];
  snprintf(key, sizeof key, "\"%016" PRIx64 "\"", hash_of(text.str().data(), text.str().size()));
  if (fresh) tell("new", id + field("key", key) + text.str(), "/launches.jsonl");
  tell("ran", id + ", \"computed\": true, \"seconds\": 0, \"why\": \"\"", "/launches.jsonl");
}

}  // namespace
