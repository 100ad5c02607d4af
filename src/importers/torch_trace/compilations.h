// What torch's compiler did, from the records of its structured log: ranges of its phases, and one
// fact `compilation:<number>` for each time that it compiled something.
//
// The facts are those that python/sonde/torch/_compilation.py leaves in captures (its first comment
// lists them), made of the same events by the same rules; recipes/compilation reads both. Events of
// different compilations may come in any order, those of one nest. Units: nanoseconds. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/json.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers::torch_trace {

class Compilations {
 public:
  explicit Compilations(TraceRows& rows) : rows_(rows) {}

  // `id`: "frame/compilation", "" where the record has none.
  struct Event {
    std::string_view id;
    int64_t pid = 0;
    std::string name;
    int64_t ts = 0;
    base::JsonValue args;
  };
  void Begin(const Event& event);
  void End(const Event& event);
  void Instant(const Event& event);
  // "Graph break in user code at FILE:LINE\nGraph Break Reason: ..."
  void AddBreak(std::string_view id, std::string_view text);
  void AddReason(std::string_view id, std::string_view reason);
  // The numbers that torch writes when a compilation ends.
  void Measured(std::string_view id, const base::JsonValue& metrics);
  // The log ends.
  void Finish();

 private:
  struct OpenEvent {
    std::string name;
    int64_t ts = 0;
    int64_t pid = 0;
  };
  enum Phase { kTracing, kAot, kInductor, kNative, kGuards, kPhases };
  struct Open {
    std::vector<std::string> events;  // of this compilation
    std::string outermost;
    int64_t begin_ns = 0;
    int64_t last_ns = 0;
    std::array<int64_t, kPhases> phases{};
    std::vector<std::string> caches;
    std::vector<std::string> breaks;
    std::string reason;
  };
  struct Lane {
    std::vector<OpenEvent> events;  // ranges that are open
    Open open;
  };
  static int PhaseOf(std::string_view event);
  Lane& LaneOf(std::string_view id);
  void AddRange(std::string_view id, const OpenEvent& event, int64_t end, base::JsonValue args);
  void CountPhase(Open& open, const Event& event, int64_t begin);
  static std::string FactText(std::string_view id, const Open& open, const base::JsonValue& metrics,
                              int64_t end_ns, std::string_view error);
  void WriteFact(std::string_view id, const base::JsonValue& metrics, int64_t end_ns,
                 std::string_view error);

  TraceRows& rows_;
  std::map<std::string, Lane, std::less<>> lanes_;
  int64_t last_ns_ = 0;
  int64_t number_ = 0;
};

}  // namespace sonde::importers::torch_trace
