// The kinds of records of a capture, each declared in one line; those of lanes and scopes are in
// track_kinds.h. Format, importers, tables, recipes, exporters, the page (web/src/api/kinds.ts) and
// docs/reference/kinds.md take them from here.
//
// Pure, any thread; the standard library alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "capture/track_kinds.h"

namespace sonde::capture {

// Records of a capture: R(name, number, slice.category, scope, track, description; link, sequence
// and args as described there, else as the format defines them). Numbers are part of the format:
// append only. Those below 32 are ranges (start ticks and duration; nested by time on their
// thread), the others instants. Scope None: no row of framework_op.
#define SONDE_RECORD_KINDS(R)                                                                     \
  R(Range, 1, "range", Marker, Thread, "range of the user (push and pop)")                        \
  R(Op, 2, "cpu_op", Op, Thread,                                                                  \
    "operator with a schema; sequence as the framework counts, link: stack")                      \
  R(FrameworkRange, 3, "cpu_op", FrameworkRange, Thread, "framework's scope without a schema")    \
  R(BackwardNode, 4, "cpu_op", Backward, Thread,                                                  \
    "backward node; link: forward thread's number, sequence: the forward operator's")             \
  R(UserScope, 5, "user_annotation", UserScope, Thread,                                           \
    "scope named by the user through the framework; link: stack")                                 \
  R(Module, 6, "module", Module, Module, "one call of a module; name: its path, args: its class") \
  R(PythonFunction, 7, "python_function", None, Python, "Python function")                        \
  R(Step, 8, "user_annotation", Step, Thread, "step; sequence: its number")                       \
  R(Collective, 9, "collective", Collective, Thread,                                              \
    "collective as called; args: group, bytes, type, ranks")                                      \
  R(CollectiveWork, 10, "collective_work", None, CollectiveWork,                                  \
    "its work, on the thread that did it; the same args")                                         \
  R(GarbageCollection, 11, "gc", None, GarbageCollection, "garbage collection")                   \
  R(Optimizer, 12, "user_annotation", Optimizer, Thread, "optimizer")                             \
  R(DataLoader, 13, "user_annotation", DataLoader, Thread, "data loader")                         \
  R(CompiledRegion, 14, "cpu_op", CompiledRegion, Thread, "compiled region")                      \
  R(Idle, 15, "idle", None, Thread, "idle")                                                       \
  R(Mark, 32, "", None, Thread, "mark")                                                           \
  R(Counter, 33, "", None, Thread, "counter: bytes 20 to 27 are a double")                        \
  R(FlowOut, 34, "", None, Thread, "flow leaves the enclosing range: bytes 20 to 27 are its id")  \
  R(FlowIn, 35, "", None, Thread, "flow enters the enclosing range: the same id")                 \
  R(SpanBegin, 36, "span", None, Span, "begin of a span: bytes 24 to 31 are its id")              \
  R(SpanEnd, 37, "", None, Thread, "end of a span, perhaps on another thread: the same id")       \
  R(Memory, 38, "", None, Thread, "memory, two slots: MemoryHead, MemoryTail")                    \
  R(ThreadUse, 39, "", None, Thread,                                                              \
    "processors that the thread has used so far; duration: ns, bytes 20 to 27: ns ready to run "  \
    "without a processor, all ones unknown; sequence: involuntary switches")                      \
  R(ProcessUse, 40, "", None, Thread,                                                             \
    "the same of all threads of the process, at the same moment; u32 at 20: major faults of the " \
    "thread, u32 at 24: of the process; both all ones: unknown")

#define SONDE_NUMBERED(name, number, ...) k##name = number,
enum class RecordKind : uint8_t { kNone = 0, SONDE_RECORD_KINDS(SONDE_NUMBERED) };
#undef SONDE_NUMBERED

struct RecordKindInfo {
  RecordKind kind = RecordKind::kNone;
  std::string_view category = {};
  Scope scope = Scope::kNone;
  TrackKind track = TrackKind::kThread;
  std::string_view meaning = {};
};

#define SONDE_KIND(name, number, category, scope, track, meaning) \
  RecordKindInfo{RecordKind::k##name, category, Scope::k##scope, TrackKind::k##track, meaning},
inline constexpr auto kRecordKinds =
    std::to_array<RecordKindInfo>({SONDE_RECORD_KINDS(SONDE_KIND)});
#undef SONDE_KIND

// By the number of a record's kind, up to 63; those without a name are like kNone.
inline constexpr size_t kMostRecordKinds = 64;
inline constexpr auto kRecordKindByNumber = [] {
  std::array<RecordKindInfo, kMostRecordKinds> kinds{};
  for (const RecordKindInfo& info : kRecordKinds) kinds[static_cast<size_t>(info.kind)] = info;
  return kinds;
}();
constexpr const RecordKindInfo& InfoOf(RecordKind kind) {
  const auto number = static_cast<size_t>(kind);
  return kRecordKindByNumber[number < kMostRecordKinds ? number : 0];
}

}  // namespace sonde::capture
