// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A slice executed for its trace, and an edited kernel beside the original.
#pragma once

namespace {

struct Kind {
  int32_t bytes, kind, update, site;
};
struct Accesses {  // of the threads that come to a place
  Kind kind;
  std::vector<int64_t> address;
  std::vector<uint32_t> lane;  // workgroup, of those executed together, times threads plus thread
  std::pair<const Place, Accesses>* following;  // where a thread has gone from here
};
struct Held {
  uintptr_t begin;
  int64_t bytes;
  const uint8_t* contents;
  uint8_t* read;
};  // read: a byte for each sector
struct Tracing {
  Native kernel;
  void** arguments;
  Configuration how;
  std::vector<Held> held;
};
enum Failure { NONE, NOT_HELD, NOT_GLOBAL, ORDER_SHOWS, TOO_MANY, ENDLESS, NOT_HERE };
constexpr int64_t kManyAccesses = 1 << 22, kMostAccesses = 1 << 25;  // of threads
constexpr uint64_t kMostIterations = 1 << 26;                        // of a workgroup
constexpr uint32_t kSector = 32;
Tracing* tracing_ = nullptr;
std::vector<std::pair<uintptr_t, size_t>> mapped_;
Failure failure_ = NONE;
int64_t failed_at_ = 0, accesses_ = 0;
uint32_t first_lane_ = 0;
std::map<Place, Accesses> found_;
std::map<Place, Accesses>::const_iterator batch_;
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
  for (const Held& held : tracing_->held) {
    if (kind || at < held.begin || at + bytes > held.begin + held.bytes) continue;
    for (uintptr_t s = (at - held.begin) / kSector; s <= (at + bytes - 1 - held.begin) / kSector;
         s++)
      held.read[s] = 1;
    return;
  }
  stop(kind || at >= kEnd ? NOT_GLOBAL : NOT_HELD, at);
}

void note_access(uintptr_t at, const Kind& kind, uint32_t depth, uint32_t position) {
  Fiber& me = *now_;
  set_place(place_, depth, position);
  place_.push_back(kind.site);
  me.trail = hash_of(place_.data(), place_.size() * sizeof place_[0]) ^
             (me.trail + at) * 0xD6E8FEB86659FD93ull;
  if (falling_) return;
  auto& guess = me.last ? me.last->second.following : first_place_;
  if (!guess || guess->first != place_)
    guess = &*found_.try_emplace(place_, Accesses{kind, {}, {}, nullptr}).first;
  me.last = guess;
  guess->second.address.push_back(at);
  guess->second.lane.push_back(first_lane_ + (now_ - fibers_.data()));
  if (++accesses_ > kMostAccesses) stop(TOO_MANY, 0);
}

// A workgroup's threads, by rising and by falling numbers: what they leave each other must not show
// it.
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
    const bool shares = tracing_->kernel.shared->at;
    for (uint32_t repeat = 0; repeat <= shares && !failure_; repeat++) {
      falling_ = repeat;
      fill_shared(tracing_->kernel, how, repeat);
      run_group(tracing_->kernel, how, tracing_->arguments, first + done);
      for (uint32_t t = 0; t < threads && !failure_; t++) {
        if (repeat && trails[t] != fibers_[t].trail) failure_ = ORDER_SHOWS;
        trails[t] = fibers_[t].trail;
      }
    }
  }
  falling_ = false;
  batch_ = found_.begin();
  return done;
}

// --- an edited kernel beside this one
// ------------------------------------------------------------------------

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
    Compared launch;
    if (!(words >> key >> launch.tiles)) continue;
    for (int64_t program; words >> program;) launch.programs.push_back(program);
    wanted_[key] = launch;
  }
  edited_ = dlopen((folder + "/edited.so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

// What a workgroup has written: places, and what they held before or hold now.
struct Changes {
  struct Place {
    uint8_t* at;
    size_t bytes;
  };
  std::vector<Place> places;
  std::vector<uint8_t> before, after;

  void add(uintptr_t at, size_t bytes) {
    places.push_back({(uint8_t*)at, bytes});
    before.insert(before.end(), (uint8_t*)at, (uint8_t*)at + bytes);
  }
  void end() {
    for (auto& place : places) after.insert(after.end(), place.at, place.at + place.bytes);
  }
  void undo() const {
    size_t from = before.size();
    for (size_t i = places.size(); i--;)
      memcpy(places[i].at, before.data() + (from -= places[i].bytes), places[i].bytes);
  }
  void redo() const {
    size_t from = 0;
    for (auto& place : places)
      memcpy(place.at, after.data() + from, place.bytes), from += place.bytes;
  }
  const uint8_t* first_difference() const {  // of memory from what they are to hold
    size_t from = 0;
    for (auto& place : places) {
      for (size_t k = 0; k < place.bytes; k++)
        if (place.at[k] != after[from + k]) return place.at + k;
      from += place.bytes;
    }
    return nullptr;
  }
};
Changes* noting_ = nullptr;

// Whether an edited workgroup leaves the bytes that an original one leaves; global memory is as
// before, shared memory is not.
const uint8_t* difference(const Native& original, const Native& edited, const Configuration& how,
                          void** arguments, int64_t tile, int64_t program, Changes& expected) {
  Changes found;
  noting_ = &expected;
  fill_shared(original, how, 1);
  run_group(original, how, arguments, tile);
  expected.end();
  expected.undo();
  noting_ = &found;
  fill_shared(edited, how, 2);
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

// Compares a launch if that is wanted, in the order of its tiles; whether all of it is executed
// now.
bool compared(const std::string& key, const Kernel& kernel, const Configuration& how,
              void** arguments) {
  auto it = wanted_.find(key);
  if (it == wanted_.end()) return false;
  const Native original = native_of(library_, kernel.symbol),
               edited = native_of(edited_, kernel.symbol);
  const int64_t groups = (int64_t)how.grid.x * how.grid.y * how.grid.z;
  std::vector<int64_t> tile(groups), program(groups);
  std::ifstream file(it->second.tiles, std::ios::binary);
  file.read((char*)tile.data(), groups * 8);
  int64_t done = 0, last = 0;
  Pace pace;
  const uint8_t* at = nullptr;
  bool all = false, undefined = false;
  if (kCanCompute && original.entry && edited.entry && file) {
    fill_implicit(how);
    auto compare = [&](int64_t t, int64_t p, bool keep) {
      Changes expected;
      at = difference(original, edited, how, arguments, t, p, expected);
      if (keep) expected.redo();
      Changes again;
      undefined = at && difference(original, original, how, arguments, t, t, again);
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
  std::ostringstream text;
  text << "{\"event\": \"compared\", \"key\": \"" << key << "\", \"tiles\": " << done
       << ", \"tile\": " << last << ", \"differs_at\": " << (uint64_t)at
       << ", \"undefined\": " << undefined << "}\n";
  write_line(log_, text.str());
  wanted_.erase(it);
  if (wanted_.empty()) _exit(0);
  return all;
}

}  // namespace
