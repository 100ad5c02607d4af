#include "adapt/mindspore/runtime_ranges.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "adapt/elf/import_table.h"
#include "adapt/mindspore/old_string.h"
#include "adapt/mindspore/thread_state.h"
#include "capture/mindspore_names.h"
#include "record/fast_path.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

using capture::RecordKind;

constexpr uint64_t kNoFlow = ~uint64_t{0};
constexpr uint64_t kFlowBit = uint64_t{1} << 63;  // distinguishes their ids from the recorder's own
constexpr size_t kMaxEntries = 512;

// ProfilerData, as far as it is read.
struct LaunchData {
  uint8_t is_graph_data;
  uint8_t is_stage;
  uint8_t gap0[6];
  uint32_t module;
  uint32_t event;
  OldString module_name;
  OldString event_name;
  OldString name;
  OldString full_name;
  uint64_t is_inner;
  uint64_t start;
  uint64_t end;
  uint64_t dur;
};
static_assert(offsetof(LaunchData, module) == 8 && offsetof(LaunchData, name) == 32);
static_assert(offsetof(LaunchData, start) == 56 && offsetof(LaunchData, dur) == 72);

enum Function : uint32_t {
  kRecorderBegin,
  kRecorderEnd,
  kStageBegin,
  kStageEnd,
  kEnabled,
  kTimeStamp,
  kBriefName,
  kRecordData,
  kRecordFlow,
  kFunctionCount,
};
constexpr const char* kSymbols[kFunctionCount] = {
    "_ZN9mindspore7runtime16ProfilerRecorderC1ENS0_14ProfilerModuleENS0_13ProfilerEventERKSsbbm",
    "_ZN9mindspore7runtime16ProfilerRecorderD1Ev",
    "_ZN9mindspore7runtime21ProfilerStageRecorderC1ENS0_13ProfilerStageE",
    "_ZN9mindspore7runtime21ProfilerStageRecorderD1Ev",
    "_ZNK9mindspore7runtime16ProfilerAnalyzer15profiler_enableEv",
    "_ZNK9mindspore7runtime16ProfilerAnalyzer12GetTimeStampEv",
    "_ZNK9mindspore7runtime16ProfilerAnalyzer12GetBriefNameERKSs",
    "_ZN9mindspore7runtime16ProfilerAnalyzer10RecordDataERKSt10shared_ptrINS0_12ProfilerDataEE",
    "_ZN9mindspore7runtime16ProfilerAnalyzer14RecordFlowDataEm",
};
constexpr char kAnalyzer[] = "_ZN9mindspore7runtime16ProfilerAnalyzer11GetInstanceEv";
constexpr char kCopyString[] = "_ZNSsC1ERKSs";
constexpr const char* kLibraries[] = {"libmindspore", "_c_expression", nullptr};
// MindSpore's own recording continues through its own functions.
constexpr char kProfiler[] = "libmindspore_profiler";

constexpr char kBadData[] =
    "MindSpore adapter: launches of graph kernels are not recorded, their records have another "
    "layout than in MindSpore 2.7 to 2.10";

using RecorderBegin = void (*)(void*, uint32_t, uint32_t, const OldString*, bool, bool, uint64_t);
using End = void (*)(void*);
using StageBegin = void (*)(void*, uint32_t);
using Enabled = bool (*)(const void*);
using TimeStamp = uint64_t (*)(const void*);
using BriefName = void* (*)(void*, const void*, const OldString*);
using RecordData = void (*)(void*, void* const*);
using RecordFlow = void (*)(void*, uint64_t);

struct Runtime {
  void* originals[kFunctionCount] = {};
  void* ours[kFunctionCount] = {};
  void* analyzer = nullptr;
  void (*copy_string)(void*, const OldString*) = nullptr;
  bool parts[kFunctionCount] = {};
  std::atomic<bool> stacks{false};
  std::atomic<bool> bad_data{false};  // a ProfilerData did not look like one
};
// Process-wide by nature: the replaced functions get no user pointer.
Runtime g_runtime;

template <typename T>
T Original(Function function) {
  return reinterpret_cast<T>(g_runtime.originals[function]);
}

bool TheirsIsOn() { return Original<Enabled>(kEnabled)(g_runtime.analyzer); }

uint32_t OpsWord() {
  const uint32_t word = record::SessionWord();
  return (word & SONDE_FEATURE_OPS) != 0 ? word : 0;
}

uint32_t HandOver() {
  static const uint32_t name = sonde_intern(capture::kHandOver.data(), capture::kHandOver.size());
  return name;
}

bool Begin(uint32_t word, uint32_t module, uint32_t event, std::string_view name, bool wants_stack,
           uint64_t flow) {
  ThreadState* state = GetThreadState();
  if (state == nullptr) return false;
  const bool is_launch = capture::IsMindsporeLaunch(event);
  const uint32_t id = state->names.Event(module, event, name);
  const bool has_stack = (wants_stack || event == capture::kMindsporeRunOp) &&
                         g_runtime.stacks.load(std::memory_order_relaxed);
  const uint32_t stack = has_stack ? state->stacks.Capture() : 0;
  const RecordKind kind = is_launch ? RecordKind::kOp : RecordKind::kFrameworkRange;
  if (!record::PushOpen(word, kind, 0, id, 0, stack, -1)) return false;
  if (flow != kNoFlow) sonde_flow_in(HandOver(), flow | kFlowBit);
  return true;
}

// MindSpore's profiler records, too: the object is its own.
void NoteBoth(const void* object, uint32_t word) {
  ThreadState* state = GetThreadState();
  if (state == nullptr || state->both_depth == ThreadState::kMaxBoth) {
    record::PopClose(word);
    return;
  }
  state->both[state->both_depth++] = {object, word};
}

bool EndBoth(const void* object) {
  ThreadState* state = t_mindspore_state;
  if (state == nullptr || state->both_depth == 0) return false;
  const ThreadState::Both& last = state->both[state->both_depth - 1];
  if (last.object != object) return false;
  state->both_depth--;
  record::PopClose(last.word);
  return true;
}

// The object's word: 0 for nothing, an odd number for a range of ours, else MindSpore's pointer.
uint64_t OurMark(uint32_t word) { return (uint64_t{word} << 1) | 1; }
bool IsOurs(uint64_t mark) { return (mark & 1) != 0; }

void OnRecorderBegin(void* object, uint32_t module, uint32_t event, const OldString* name,
                     bool inner, bool py_stack, uint64_t flow) {
  auto* mark = static_cast<uint64_t*>(object);
  *mark = 0;
  const bool theirs = TheirsIsOn();
  if (theirs) {
    Original<RecorderBegin>(kRecorderBegin)(object, module, event, name, inner, py_stack, flow);
  }
  const uint32_t word = OpsWord();
  if (word == 0 || !Begin(word, module, event, name->view(), py_stack, flow)) return;
  if (theirs) {
    NoteBoth(object, word);
  } else {
    *mark = OurMark(word);
  }
}

void OnRecorderEnd(void* object) {
  const uint64_t mark = *static_cast<uint64_t*>(object);
  if (IsOurs(mark)) [[likely]] {
    record::PopClose(static_cast<uint32_t>(mark >> 1));
    return;
  }
  if (mark == 0) return;
  EndBoth(object);
  Original<End>(kRecorderEnd)(object);
}

// {int32 stage; uint64 start}: while only we record, the start is our mark.
void OnStageBegin(void* object, uint32_t stage) {
  auto* mark = reinterpret_cast<uint64_t*>(static_cast<char*>(object) + 8);
  const bool theirs = TheirsIsOn();
  if (theirs) {
    Original<StageBegin>(kStageBegin)(object, stage);
  } else {
    *mark = 0;
  }
  const uint32_t word = OpsWord();
  if (word == 0) return;
  const bool begun =
      record::PushOpen(word, RecordKind::kFrameworkRange, 0, StageName(stage), 0, 0, -1);
  if (!begun) return;
  if (theirs) {
    NoteBoth(object, word);
  } else {
    *mark = OurMark(word);
  }
}

void OnStageEnd(void* object) {
  if (EndBoth(object)) {
    Original<End>(kStageEnd)(object);
    return;
  }
  const uint64_t mark = *reinterpret_cast<uint64_t*>(static_cast<char*>(object) + 8);
  if (mark == 0) return;
  const uint32_t word = record::SessionWord();
  if (IsOurs(mark) && static_cast<uint32_t>(mark >> 1) == word) {
    record::PopClose(word);
  } else if (TheirsIsOn()) {
    Original<End>(kStageEnd)(object);
  }
}

bool OnEnabled(const void* analyzer) {
  return OpsWord() != 0 || Original<Enabled>(kEnabled)(analyzer);
}

uint64_t OnTimeStamp(const void* analyzer) {
  const uint32_t word = OpsWord();
  if (word == 0) return Original<TimeStamp>(kTimeStamp)(analyzer);
  const uint64_t ticks = record::RecorderTicks();
  if (!TheirsIsOn()) return ticks;
  const uint64_t theirs = Original<TimeStamp>(kTimeStamp)(analyzer);
  if (ThreadState* state = GetThreadState()) {
    state->stamps[state->next_stamp++ % ThreadState::kStamps] = {theirs, ticks};
  }
  return theirs;
}

// Names of kernels keep their scopes while only we record.
void* OnBriefName(void* result, const void* analyzer, const OldString* name) {
  if (OpsWord() == 0 || TheirsIsOn()) {
    return Original<BriefName>(kBriefName)(result, analyzer, name);
  }
  g_runtime.copy_string(result, name);
  return result;
}

// Our time for one of MindSpore's times; 0: unknown.
uint64_t TicksOf(const ThreadState& state, uint64_t theirs) {
  for (const ThreadState::Stamp& stamp : state.stamps) {
    if (stamp.theirs == theirs) return stamp.ticks;
  }
  return 0;
}

void TakeLaunch(uint32_t word, const LaunchData& data, bool theirs) {
  ThreadState* state = GetThreadState();
  if (state == nullptr) return;
  if (data.end - data.start != data.dur || data.is_stage > 1) {
    if (!g_runtime.bad_data.exchange(true)) sonde_report_issue(kBadData);
    return;
  }
  const uint64_t start = theirs ? TicksOf(*state, data.start) : data.start;
  const uint64_t end = theirs ? TicksOf(*state, data.end) : data.end;
  const uint64_t now = record::RecorderTicks();
  if (start == 0 || end < start || end > now) return;  // began before the session
  const bool is_launch = capture::IsMindsporeLaunch(data.event);
  const uint32_t id = state->names.Event(data.module, data.event, data.name.view());
  record::EmitComplete(word, is_launch ? RecordKind::kOp : RecordKind::kFrameworkRange, 0, id, 0, 0,
                       -1, start, end);
}

void OnRecordData(void* analyzer, void* const* shared) {
  const bool theirs = TheirsIsOn();
  const uint32_t word = OpsWord();
  if (word != 0 && *shared != nullptr && !g_runtime.bad_data.load(std::memory_order_relaxed)) {
    TakeLaunch(word, *static_cast<const LaunchData*>(*shared), theirs);
  }
  if (theirs) Original<RecordData>(kRecordData)(analyzer, shared);
}

void OnRecordFlow(void* analyzer, uint64_t flow) {
  if (TheirsIsOn()) Original<RecordFlow>(kRecordFlow)(analyzer, flow);
  if (OpsWord() == 0 || flow == kNoFlow) return;
  sonde_flow_out(HandOver(), flow | kFlowBit);
}

// Between two known words, so that writes beyond the object are noticed.
template <size_t kSize>
struct Guarded {
  static constexpr uint64_t kGuard = 0x5a5a5a5aa5a5a5a5;
  uint64_t before = kGuard;
  unsigned char object[kSize];
  uint64_t after = kGuard;

  bool IsWhole() const { return before == kGuard && after == kGuard; }
};

struct EmptyString {  // layout of the ABI before C++11
  size_t length = 0;
  size_t capacity = 0;
  int64_t references = 0;
  char text[8] = "";
};

// Calls MindSpore's functions on objects of ours to check their size. Its profiler is off: nothing
// is recorded.
bool ObjectsFit() {
  EmptyString empty;
  const OldString name = {empty.text};
  Guarded<8> recorder;
  std::memset(recorder.object, 0x77, sizeof(recorder.object));
  Original<RecorderBegin>(kRecorderBegin)(recorder.object, 0, 0, &name, false, false, kNoFlow);
  uint64_t mark = 1;
  std::memcpy(&mark, recorder.object, sizeof(mark));
  if (!recorder.IsWhole() || mark != 0) return false;
  Original<End>(kRecorderEnd)(recorder.object);
  Guarded<16> stage;
  std::memset(stage.object, 0x77, sizeof(stage.object));
  Original<StageBegin>(kStageBegin)(stage.object, 3);
  uint64_t start = 1;
  std::memcpy(&start, stage.object + 8, sizeof(start));
  Original<End>(kStageEnd)(stage.object);
  return recorder.IsWhole() && stage.IsWhole() && start == 0;
}

void SetOurs() {
  g_runtime.ours[kRecorderBegin] = reinterpret_cast<void*>(OnRecorderBegin);
  g_runtime.ours[kRecorderEnd] = reinterpret_cast<void*>(OnRecorderEnd);
  g_runtime.ours[kStageBegin] = reinterpret_cast<void*>(OnStageBegin);
  g_runtime.ours[kStageEnd] = reinterpret_cast<void*>(OnStageEnd);
  g_runtime.ours[kEnabled] = reinterpret_cast<void*>(OnEnabled);
  g_runtime.ours[kTimeStamp] = reinterpret_cast<void*>(OnTimeStamp);
  g_runtime.ours[kBriefName] = reinterpret_cast<void*>(OnBriefName);
  g_runtime.ours[kRecordData] = reinterpret_cast<void*>(OnRecordData);
  g_runtime.ours[kRecordFlow] = reinterpret_cast<void*>(OnRecordFlow);
}

void* OpenLoaded(const char* name) { return dlopen(name, RTLD_LAZY | RTLD_NOLOAD); }

// The first of the functions that is not there; nullptr: all are.
const char* FindOriginals() {
  void* library = OpenLoaded("libmindspore_profiler.so");
  if (library == nullptr) return "libmindspore_profiler.so";
  const char* missing = nullptr;
  for (uint32_t i = 0; i < kFunctionCount; i++) {
    g_runtime.originals[i] = dlsym(library, kSymbols[i]);
    if (g_runtime.originals[i] == nullptr && missing == nullptr) missing = kSymbols[i];
  }
  const auto instance = reinterpret_cast<void* (*)()>(dlsym(library, kAnalyzer));
  if (instance == nullptr) return missing != nullptr ? missing : kAnalyzer;
  g_runtime.analyzer = instance();
  *reinterpret_cast<void**>(&g_runtime.copy_string) = dlsym(library, kCopyString);
  return missing;
}

bool Has(Function function) { return g_runtime.originals[function] != nullptr; }

RuntimeParts DecideParts() {
  RuntimeParts parts;
  const bool can_ask = g_runtime.analyzer != nullptr && Has(kEnabled);
  const bool objects = can_ask && Has(kRecorderBegin) && Has(kRecorderEnd) && Has(kStageBegin) &&
                       Has(kStageEnd) && ObjectsFit();
  parts.ranges = parts.stages = objects;
  parts.graph_kernels = can_ask && Has(kTimeStamp) && Has(kBriefName) && Has(kRecordData) &&
                        g_runtime.copy_string != nullptr;
  parts.hand_overs = can_ask && Has(kRecordFlow);
  return parts;
}

size_t Replace() {
  static ImportEntry entries[kMaxEntries];
  const size_t count =
      FindImports({kLibraries, kProfiler, kSymbols, kFunctionCount, false}, entries, kMaxEntries);
  size_t replaced = 0;
  for (size_t i = 0; i < count; i++) {
    const uint32_t function = entries[i].symbol;
    if (!g_runtime.parts[function]) continue;
    if (*entries[i].slot != g_runtime.ours[function]) {
      if (!StoreImport(entries[i], g_runtime.ours[function])) continue;
    }
    replaced++;
  }
  return replaced;
}

}  // namespace

RuntimeParts RuntimeRangesInit(SelfTestReport* report) {
  const char* missing = FindOriginals();
  const RuntimeParts parts = DecideParts();
  const bool both[kFunctionCount] = {parts.ranges,        parts.ranges,        parts.stages,
                                     parts.stages,  //
                                     parts.graph_kernels, parts.graph_kernels, parts.graph_kernels,
                                     parts.graph_kernels, parts.hand_overs};
  std::memcpy(g_runtime.parts, both, sizeof(both));
  SetOurs();
  const size_t replaced = Replace();
  char detail[160];
  std::snprintf(detail, sizeof(detail), "%zu import-table entries", replaced);
  const char* found = missing != nullptr ? missing : "objects of another size than known";
  report->Add("runtime ranges", parts.ranges, parts.ranges ? detail : found);
  report->Add("launches of graph kernels", parts.graph_kernels, parts.graph_kernels ? "" : found);
  report->Add("hand-overs between threads", parts.hand_overs, parts.hand_overs ? "" : found);
  return parts;
}

void RuntimeRangesFollow() { Replace(); }

void RuntimeRangesWantStacks(bool wanted) {
  g_runtime.stacks.store(wanted, std::memory_order_relaxed);
}

}  // namespace sonde::adapt
