#include "adapt/torch/adapter.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "adapt/python/garbage_collection.h"
#include "adapt/python/python_api.h"
#include "adapt/python/python_frames.h"
#include "adapt/python/python_functions.h"
#include "adapt/python/session_options.h"
#include "adapt/python/stacks.h"
#include "adapt/torch/collectives.h"
#include "adapt/torch/layout.h"
#include "adapt/torch/memory.h"
#include "adapt/torch/modules.h"
#include "adapt/torch/observer.h"
#include "adapt/torch/self_test.h"
#include "adapt/torch/torch_symbols.h"

namespace sonde::adapt {
namespace {

// One per process, as torch's callbacks and the recorder's listeners are.
struct Adapter {
  std::mutex mutex;  // attach, detach, start and stop; never taken while recording
  bool found = false;
  bool listening = false;
  bool attached = false;
  bool issues_reported = false;
  bool memory = false;  // the self-test of the part passed
  bool modules = false;
  FrameMode frames = FrameMode::kNone;
  PythonApi python = {};
  const char* no_python = nullptr;  // what is missing
  ObserverConfig observer;
  RangeLayout given = {};  // argument of attach
  SelfTestReport report;
  char error[256] = "";
  uint32_t features = 0;  // of the current or last session; kept for an attach during it
  std::string settings;   // options of the session, JSON
};

Adapter& State() {
  // Never destroyed: callbacks outlive static objects. Python is found before anyone takes the
  // lock.
  static Adapter* adapter = [] {
    auto* made = new Adapter();
    made->no_python = FindPython(&made->python);
    return made;
  }();
  return *adapter;
}

// Holds the adapter's mutex. Parts take the GIL while it is held, so that a thread that has the GIL
// must release it while it waits.
class AdapterLock {
 public:
  explicit AdapterLock(Adapter& adapter) : mutex_(adapter.mutex) {
    if (mutex_.try_lock()) return;
    const PythonApi& python = adapter.python;
    const bool has_gil = python.gil_check != nullptr && python.gil_check() != 0;
    void* state = has_gil ? python.save_thread() : nullptr;
    mutex_.lock();
    if (has_gil) python.restore_thread(state);
  }
  ~AdapterLock() { mutex_.unlock(); }
  AdapterLock(const AdapterLock&) = delete;
  AdapterLock& operator=(const AdapterLock&) = delete;

 private:
  std::mutex& mutex_;
};

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
    std::snprintf(line, sizeof(line), "PyTorch adapter, torch %s: %s: %s",
                  adapter.report.torch_version, check.name, check.detail);
    sonde_report_issue(line);
  }
}

void StartParts(Adapter& adapter, uint32_t features, const char* json) {
  const std::string_view settings = json != nullptr ? json : "";
  if (features == 0) features = SONDE_FEATURE_RECORDING | SONDE_FEATURE_OPS;
  ReportIssues(adapter);
  if ((features & SONDE_FEATURE_OPS) != 0) {
    ObserverOptions options;
    options.shapes = (features & SONDE_FEATURE_SHAPES) != 0;
    options.stacks = (features & SONDE_FEATURE_STACKS) != 0 && adapter.frames != FrameMode::kNone;
    CollectivesStart([] { ObserverSetOperatorInputs(CollectivesNeedInputs()); });
    options.operator_inputs = CollectivesNeedInputs();
    ObserverStart(options);
  }
  if ((features & SONDE_FEATURE_MEMORY) != 0) MemoryStart();
  if ((features & SONDE_FEATURE_MODULES) != 0) ModulesStart();
  if (const auto threshold_ms = GarbageThreshold(settings)) GarbageCollectionStart(*threshold_ms);
  if (BoolOption(settings, "python_functions", false)) PythonFunctionsStart();
}

void StopParts() {
  ObserverStop();
  MemoryStop();
  ModulesStop();
  GarbageCollectionStop();
  PythonFunctionsStop();
}

void RememberSession(Adapter& adapter, const sonde_session_config* config) {
  adapter.features = config != nullptr ? config->features : 0;
  adapter.settings = config != nullptr && config->options != nullptr ? config->options : "";
}

void OnSession(sonde_event event, const sonde_session_config* config, void*) {
  Adapter& adapter = State();
  if (event == SONDE_EVENT_FORK_CHILD) {
    // Another thread of the parent may have held it; installed parts continue in the child.
    new (&adapter.mutex) std::mutex();
    ObserverAfterFork();
    return;
  }
  const AdapterLock lock(adapter);
  if (!adapter.attached) {
    if (event == SONDE_EVENT_START) RememberSession(adapter, config);
    return;
  }
  if (event == SONDE_EVENT_START) {
    RememberSession(adapter, config);
    StartParts(adapter, adapter.features, adapter.settings.c_str());
  } else if (event == SONDE_EVENT_STOP) {
    StopParts();
  }
}

int Find(Adapter& adapter) {
  char line[200];
  if (adapter.no_python != nullptr) {
    std::snprintf(line, sizeof(line), "no Python in this process: %s not found", adapter.no_python);
    return Fail(adapter, -ENOENT, line);
  }
  if (const char* missing = FindTorchSymbols(&adapter.observer.torch)) {
    std::snprintf(line, sizeof(line), "no torch to attach to: %s not found", missing);
    return Fail(adapter, -ENOENT, line);
  }
  adapter.observer.inputs.undefined_tensor = adapter.observer.torch.undefined_tensor;
  adapter.observer.inputs.layout =
      RunSelfTest(adapter.python, adapter.observer.torch, nullptr, &adapter.report);
  ObserverInit(&adapter.observer, &adapter.report);
  adapter.memory = MemoryInit(adapter.python, &adapter.report);
  adapter.modules = ModulesInit(&adapter.python, &adapter.report);
  adapter.frames = FramesInit(&adapter.python, &adapter.report);
  StacksInit(&adapter.python);
  PythonFunctionsInit(&adapter.python, &adapter.report);
  GarbageCollectionInit(&adapter.python, &adapter.report);
  CollectivesInit(&adapter.python, &adapter.observer.inputs, &adapter.report);
  adapter.found = true;
  return 0;
}

std::string ReportJson(const Adapter& adapter) {
  const Layout& layout = adapter.observer.inputs.layout;
  ReportText text("torch", adapter.report.torch_version,
                  adapter.found ? adapter.python.version : "", adapter.attached, adapter.report);
  text.SetRecorded("operators", adapter.found);
  text.SetRecorded("kinds", layout.range != nullptr);
  text.SetRecorded("sequence_numbers", layout.sequence);
  text.SetRecorded("shapes", layout.inputs && layout.tensor_sizes != 0);
  text.SetRecorded("memory", adapter.memory);
  text.SetRecorded("modules", adapter.modules);
  text.SetRecorded("stacks", adapter.frames != FrameMode::kNone);
  return text.Take();
}

std::optional<RangeLayout> GivenLayout(std::string_view options) {
  const auto offset = [&](const char* key) {
    const double number = NumberOption(options, key).value_or(0);
    return number > 0 && number < 4096 ? static_cast<uint16_t>(number) : uint16_t{0};
  };
  RangeLayout layout = {"compiled from the headers of this torch",
                        BoolOption(options, "layout_old_strings", false),
                        offset("layout_kind"),
                        offset("layout_sequence"),
                        offset("layout_inputs"),
                        offset("layout_forward_thread")};
  if (layout.kind == 0 || layout.sequence == 0 || layout.inputs == 0) return std::nullopt;
  return layout;
}

// Tries the layout that was passed to attach, where the known ones did not fit.
void TryGivenLayout(Adapter& adapter, const RangeLayout& given) {
  if (adapter.observer.inputs.layout.range != nullptr || sonde_recording() != 0) return;
  SelfTestReport report;
  adapter.given = given;
  const Layout layout =
      RunSelfTest(adapter.python, adapter.observer.torch, &adapter.given, &report);
  if (layout.range == nullptr) return;
  adapter.observer.inputs.layout = layout;
  const int learned = report.check_count;
  for (int i = 0; i < adapter.report.check_count; i++) {  // results of the other parts
    const Check& check = adapter.report.checks[i];
    bool again = false;
    for (int k = 0; k < learned; k++) {
      again = again || std::strcmp(report.checks[k].name, check.name) == 0;
    }
    if (!again) report.Add(check.name, check.passed, check.detail);
  }
  adapter.report = report;
}

int Attach(Adapter& adapter, std::string_view options) {
  if (!adapter.found) {
    const int result = Find(adapter);
    if (result != 0) return result;
  }
  if (const auto given = GivenLayout(options)) TryGivenLayout(adapter, *given);
  if (!adapter.listening) {
    const int result = sonde_add_listener(OnSession, nullptr);
    if (result != 0) return Fail(adapter, result, "the recorder takes no more listeners");
    adapter.listening = true;
  }
  if (adapter.attached) return 0;
  adapter.attached = true;
  if (sonde_recording() != 0) {
    if (adapter.features == 0) adapter.features = sonde_features();  // began before we listened
    StartParts(adapter, adapter.features, adapter.settings.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace sonde::adapt

using sonde::adapt::Adapter;
using sonde::adapt::AdapterLock;
using sonde::adapt::State;

int sonde_torch_attach(const char* options) {
  Adapter& adapter = State();
  const AdapterLock lock(adapter);
  return sonde::adapt::Attach(adapter, options != nullptr ? options : "");
}

int sonde_torch_detach(void) {
  Adapter& adapter = State();
  const AdapterLock lock(adapter);
  if (adapter.attached) sonde::adapt::StopParts();
  adapter.attached = false;
  return 0;
}

int sonde_torch_self_test(char* json, size_t size) {
  Adapter& adapter = State();
  const AdapterLock lock(adapter);
  const std::string text = sonde::adapt::ReportJson(adapter);
  if (json != nullptr && size > 0) std::snprintf(json, size, "%s", text.c_str());
  return static_cast<int>(text.size());
}

int sonde_torch_register_module(void* module, const char* name, const char* class_name) {
  if (module == nullptr || name == nullptr) return -EINVAL;
  auto* object = static_cast<sonde::adapt::PyObject*>(module);
  return sonde::adapt::ModulesRegister(object, name, class_name) ? 0 : -ENOTSUP;
}

int sonde_torch_register_group(void* group, const char* name, const char* backend,
                               const int64_t* ranks, size_t count) {
  if (name == nullptr || (ranks == nullptr && count > 0)) return -EINVAL;
  const auto* object = static_cast<const sonde::adapt::PyObject*>(group);
  const bool added = sonde::adapt::CollectivesRegister(
      object, name, backend != nullptr ? backend : "", ranks, count);
  return added ? 0 : -ENOSPC;
}

uint32_t sonde_torch_kernel_begin(sonde_name name, sonde_args args) {
  return sonde::adapt::KernelBegin(name, args);
}

void sonde_torch_kernel_end(uint32_t begun) { sonde::adapt::KernelEnd(begun); }

const char* sonde_torch_last_error(void) { return State().error; }
