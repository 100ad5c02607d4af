#include "adapt/mindspore/adapter.h"

#include <pthread.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "adapt/mindspore/input_shapes.h"
#include "adapt/mindspore/memory.h"
#include "adapt/mindspore/runtime_ranges.h"
#include "adapt/python/garbage_collection.h"
#include "adapt/python/python_api.h"
#include "adapt/python/python_frames.h"
#include "adapt/python/python_functions.h"
#include "adapt/python/self_test_report.h"
#include "adapt/python/session_options.h"
#include "adapt/python/stacks.h"
#include "record/fast_path.h"

namespace sonde::adapt {
namespace {

// One per process, as MindSpore's functions and the recorder's listeners are.
struct Adapter {
  std::mutex mutex;  // attach, start and stop; never taken while recording
  bool attached = false;
  bool issues_reported = false;
  bool python_parts = true;
  bool memory = false;
  bool shapes = false;
  RuntimeParts runtime;
  FrameMode frames = FrameMode::kNone;
  PythonApi python = {};
  SelfTestReport report;
  char version[32] = "";
  char error[256] = "";
};

Adapter& State() {
  static auto* adapter = new Adapter();  // never destroyed: callbacks outlive static objects
  return *adapter;
}

int Fail(Adapter& adapter, int code, const char* text) {
  std::snprintf(adapter.error, sizeof(adapter.error), "%s", text);
  return code;
}

void ReportIssues(Adapter& adapter) {
  if (adapter.issues_reported) return;
  adapter.issues_reported = true;
  for (int i = 0; i < adapter.report.check_count; i++) {
    const Check& check = adapter.report.checks[i];
    if (check.passed) continue;
    char line[320];
    std::snprintf(line, sizeof(line), "MindSpore adapter, MindSpore %s: %s: %s", adapter.version,
                  check.name, check.detail);
    sonde_report_issue(line);
  }
}

void StartParts(Adapter& adapter, uint32_t features, std::string_view settings) {
  ReportIssues(adapter);
  RuntimeRangesFollow();
  InputShapesFollow();
  PoolMemoryFollow();
  RuntimeRangesWantStacks((features & SONDE_FEATURE_STACKS) != 0 &&
                          adapter.frames != FrameMode::kNone);
  if (!adapter.python_parts) return;
  if (const auto threshold_ms = GarbageThreshold(settings)) GarbageCollectionStart(*threshold_ms);
  if (BoolOption(settings, "python_functions", false)) PythonFunctionsStart();
}

void StopParts(const Adapter& adapter) {
  RuntimeRangesWantStacks(false);
  if (!adapter.python_parts) return;
  GarbageCollectionStop();
  PythonFunctionsStop();
}

void OnSession(sonde_event event, const sonde_session_config* config, void*) {
  Adapter& adapter = State();
  if (event == SONDE_EVENT_FORK_CHILD) {
    new (&adapter.mutex) std::mutex();  // another thread of the parent may have held it
    return;
  }
  const std::lock_guard lock(adapter.mutex);
  if (event == SONDE_EVENT_START) {
    const char* settings = config != nullptr ? config->options : nullptr;
    StartParts(adapter, config != nullptr ? config->features : 0,
               settings != nullptr ? settings : "");
  } else if (event == SONDE_EVENT_STOP) {
    StopParts(adapter);
  }
}

int Find(Adapter& adapter) {
  if (const char* missing = FindPython(&adapter.python)) {
    char line[200];
    std::snprintf(line, sizeof(line), "no Python in this process: %s not found", missing);
    return Fail(adapter, -ENOENT, line);
  }
  adapter.runtime = RuntimeRangesInit(&adapter.report);
  adapter.shapes = InputShapesInit(&adapter.report);
  adapter.memory = PoolMemoryInit(&adapter.report);
  adapter.frames = FramesInit(&adapter.python, &adapter.report);
  StacksInit(&adapter.python);
  if (adapter.python_parts) {
    PythonFunctionsInit(&adapter.python, &adapter.report);
    GarbageCollectionInit(&adapter.python, &adapter.report);
  }
  pthread_atfork(PoolMemoryBeforeFork, PoolMemoryAfterFork, PoolMemoryAfterFork);
  return 0;
}

int Attach(Adapter& adapter, std::string_view options) {
  if (adapter.attached) {
    RuntimeRangesFollow();
    InputShapesFollow();
    PoolMemoryFollow();
    return 0;
  }
  adapter.python_parts = BoolOption(options, "python_parts", true);
  if (const int result = Find(adapter); result != 0) return result;
  if (const int result = sonde_add_listener(OnSession, nullptr); result != 0) {
    return Fail(adapter, result, "the recorder takes no more listeners");
  }
  adapter.attached = true;
  if (sonde_recording() != 0) StartParts(adapter, sonde_features(), "");
  return 0;
}

std::string ReportJson(const Adapter& adapter) {
  ReportText text("mindspore", adapter.version, adapter.attached ? adapter.python.version : "",
                  adapter.attached, adapter.report);
  text.SetRecorded("operators", adapter.runtime.ranges);
  text.SetRecorded("stages", adapter.runtime.stages);
  text.SetRecorded("graph_kernels", adapter.runtime.graph_kernels);
  text.SetRecorded("hand_overs", adapter.runtime.hand_overs);
  text.SetRecorded("shapes", adapter.shapes);
  text.SetRecorded("memory", adapter.memory);
  text.SetRecorded("stacks", adapter.frames != FrameMode::kNone);
  return text.Take();
}

}  // namespace
}  // namespace sonde::adapt

using sonde::adapt::Adapter;
using sonde::adapt::State;

int sonde_mindspore_attach(const char* version, const char* options) {
  Adapter& adapter = State();
  const std::lock_guard lock(adapter.mutex);
  if (version != nullptr && !adapter.attached) {
    std::snprintf(adapter.version, sizeof(adapter.version), "%s", version);
  }
  return sonde::adapt::Attach(adapter, options != nullptr ? options : "");
}

int sonde_mindspore_self_test(char* json, size_t size) {
  Adapter& adapter = State();
  const std::lock_guard lock(adapter.mutex);
  const std::string text = sonde::adapt::ReportJson(adapter);
  if (json != nullptr && size > 0) std::snprintf(json, size, "%s", text.c_str());
  return static_cast<int>(text.size());
}

uint32_t sonde_mindspore_cell_begin(sonde_name name, sonde_args args) {
  using sonde::capture::RecordKind;
  const uint32_t word = sonde::record::SessionWord();
  if ((word & SONDE_FEATURE_MODULES) == 0) return 0;
  return sonde::record::PushOpen(word, RecordKind::kModule, 0, name, args, 0, -1) ? word : 0;
}

void sonde_mindspore_cell_end(uint32_t begun) {
  if (begun != 0) sonde::record::PopClose(begun);
}

const char* sonde_mindspore_last_error(void) { return State().error; }
