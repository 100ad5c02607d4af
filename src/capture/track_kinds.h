// The kinds of lanes of the timeline and of scopes of a framework, each declared in one line. Who
// has them without the records of a capture includes this; kinds.h includes it, too.
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

#define SONDE_KIND(name, ...) k##name,
#define SONDE_NUMBERED(name, number, ...) k##name = number,
enum class TrackKind : uint8_t { SONDE_TRACK_KINDS(SONDE_KIND) };
enum class Scope : int16_t { kNone = -1, SONDE_SCOPES(SONDE_NUMBERED) };
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

#define SONDE_KIND(name, text, family, label, meaning) \
  TrackKindInfo{TrackKind::k##name, text, family, label, meaning},
inline constexpr auto kTrackKinds = std::to_array<TrackKindInfo>({SONDE_TRACK_KINDS(SONDE_KIND)});
#undef SONDE_KIND
#define SONDE_KIND(name, number, category, meaning) ScopeInfo{Scope::k##name, category, meaning},
inline constexpr auto kScopes = std::to_array<ScopeInfo>({SONDE_SCOPES(SONDE_KIND)});
#undef SONDE_KIND

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
