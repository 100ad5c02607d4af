// The kinds of records of a capture, of lanes of the timeline and of scopes of a framework, each
// declared in one line. Format, importers, tables, recipes, exporters, the page
// (web/src/api/kinds.ts) and docs/reference/kinds.md take them from here.
//
// Pure, any thread; the standard library alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde::capture {

// Kinds of tracks: T(name, text of the column track.kind, family on the page, suffix of the
// thread's name, content). Tracks of a thread are shown in this order; those before kCollectiveWork
// nest.
#define SONDE_TRACK_KINDS(T)                                                                    \
  T(Thread, "thread", "host", "", "operators and ranges of a thread")                           \
  T(Module, "module", "host", " Module", "calls of modules")                                    \
  T(Python, "python", "host", " Python", "Python functions")                                    \
  T(GarbageCollection, "gc", "host", " GC", "garbage collection of Python")                     \
  T(CollectiveWork, "collective_work", "communication", " Communication",                       \
    "work of collectives where the CPU does it")                                                \
  T(Span, "span", "host", " Spans", "spans, which begin and end on any thread")                 \
  T(Stream, "stream", "device", "", "tasks of a stream of a device")                            \
  T(CommunicationGroup, "communication_group", "communication", "",                             \
    "operations of a communicator")                                                             \
  T(CommunicationPlane, "communication_plane", "communication", "", "tasks of one plane of it") \
  T(Overlap, "overlap", "overlap", "", "state of a device, as a tool computed it")              \
  T(Counter, "counter", "counter", "", "values over time")                                      \
  T(Api, "api", "api", "", "host calls of a vendor's library")                                  \
  T(OsRuntime, "os_runtime", "host", "", "calls of the operating system")                       \
  T(DeviceLayer, "device_layer", "host", "", "other layers of a device (CCU, DPU, ...)")        \
  T(Mark, "mark", "host", "", "marks and ranges of mstx")

// Scopes of a framework: S(name, number in framework_op.scope, category in files of Kineto's form,
// description). Numbers never change.
#define SONDE_SCOPES(S)                                              \
  S(Op, 0, "cpu_op", "op")                                           \
  S(Backward, 1, "cpu_op", "backward")                               \
  S(FrameworkRange, 2, "cpu_op", "framework range without a schema") \
  S(UserScope, 3, "user_annotation", "user scope")                   \
  S(Module, 4, "cpu_op", "module")                                   \
  S(Optimizer, 5, "user_annotation", "optimizer")                    \
  S(DataLoader, 6, "user_annotation", "data loader")                 \
  S(CompiledRegion, 7, "cpu_op", "compiled region")                  \
  S(Step, 8, "user_annotation", "step")                              \
  S(Marker, 9, "user_annotation", "range of the user (mstx)")        \
  S(Collective, 10, "cpu_op", "collective")

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

#define SONDE_KIND(name, ...) k##name,
#define SONDE_NUMBERED(name, number, ...) k##name = number,
enum class TrackKind : uint8_t { SONDE_TRACK_KINDS(SONDE_KIND) };
enum class Scope : int16_t { kNone = -1, SONDE_SCOPES(SONDE_NUMBERED) };
enum class RecordKind : uint8_t { kNone = 0, SONDE_RECORD_KINDS(SONDE_NUMBERED) };
#undef SONDE_NUMBERED
#undef SONDE_KIND

struct TrackKindInfo {
  TrackKind kind;
  std::string_view text;
  std::string_view family;
  std::string_view label;
  std::string_view meaning;
};
struct ScopeInfo {
  Scope scope;
  std::string_view kineto_category;
  std::string_view meaning;
};
struct RecordKindInfo {
  RecordKind kind = RecordKind::kNone;
  std::string_view category = {};
  Scope scope = Scope::kNone;
  TrackKind track = TrackKind::kThread;
  std::string_view meaning = {};
};

#define SONDE_KIND(name, text, family, label, meaning) \
  TrackKindInfo{TrackKind::k##name, text, family, label, meaning},
inline constexpr auto kTrackKinds = std::to_array<TrackKindInfo>({SONDE_TRACK_KINDS(SONDE_KIND)});
#undef SONDE_KIND
#define SONDE_KIND(name, number, category, meaning) ScopeInfo{Scope::k##name, category, meaning},
inline constexpr auto kScopes = std::to_array<ScopeInfo>({SONDE_SCOPES(SONDE_KIND)});
#undef SONDE_KIND
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

constexpr const TrackKindInfo& InfoOf(TrackKind kind) {
  return kTrackKinds[static_cast<size_t>(kind)];
}
constexpr std::string_view TextOf(TrackKind kind) { return InfoOf(kind).text; }
// None where the text is no kind of a track.
constexpr std::optional<TrackKind> TrackKindOf(std::string_view text) {
  for (const TrackKindInfo& info : kTrackKinds) {
    if (info.text == text) return info.kind;
  }
  return std::nullopt;
}

constexpr int16_t NumberOf(Scope scope) { return static_cast<int16_t>(scope); }
constexpr bool IsKnown(Scope scope) {
  const auto number = static_cast<int16_t>(scope);
  return number >= 0 && static_cast<size_t>(number) < kScopes.size();
}
// Scopes are numbered in their order.
constexpr const ScopeInfo& InfoOf(Scope scope) {
  return kScopes[IsKnown(scope) ? static_cast<size_t>(scope) : 0];
}
static_assert([] {
  for (size_t i = 0; i < kScopes.size(); ++i) {
    if (static_cast<size_t>(kScopes[i].scope) != i) return false;
  }
  return true;
}());

}  // namespace sonde::capture
