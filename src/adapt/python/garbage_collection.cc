#include "adapt/python/garbage_collection.h"

#include <time.h>

#include <cstring>

#include "record/fast_path.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

struct GarbageCollection {
  const PythonApi* python = nullptr;
  PyObject* callbacks = nullptr;  // the list gc.callbacks
  PyObject* callback = nullptr;
  PyObject* none = nullptr;
  bool installed = false;
  int64_t threshold_ns = 0;
  // Of the collection that runs; they do not nest.
  uint64_t start_ticks = 0;
  int64_t start_ns = 0;
  uint32_t word = 0;
  uint32_t name = 0, generation_key = 0, collected_key = 0;
};
// Process-wide by nature: there is one collector.
GarbageCollection g_collector;

int64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

int64_t NumberIn(PyObject* dict, const char* key) {
  const PythonApi& python = *g_collector.python;
  PyObject* value = dict != nullptr ? python.dict_get(dict, key) : nullptr;
  return value != nullptr ? static_cast<int64_t>(python.long_as_u64(value)) : -1;
}

void Emit(PyObject* info) {
  if (g_collector.word == 0 || g_collector.word != record::SessionWord()) return;
  if (NowNs() - g_collector.start_ns < g_collector.threshold_ns) return;
  const uint64_t end_ticks = record::RecorderTicks();
  sonde_args_builder builder;
  sonde_args_init(&builder);
  sonde_args_int(&builder, g_collector.generation_key, NumberIn(info, "generation"));
  sonde_args_int(&builder, g_collector.collected_key, NumberIn(info, "collected"));
  record::EmitComplete(g_collector.word, capture::RecordKind::kGarbageCollection, 0,
                       g_collector.name, sonde_args_intern(&builder), 0, -1,
                       g_collector.start_ticks, end_ticks);
}

// callback(phase, info), phase "start" or "stop".
PyObject* OnPhase(PyObject*, PyObject* arguments) {
  const PythonApi& python = *g_collector.python;
  const char* phase = python.utf8(python.tuple_get(arguments, 0), nullptr);
  if (phase == nullptr) return nullptr;
  if (std::strcmp(phase, "start") == 0) {
    g_collector.word = record::SessionWord();
    g_collector.start_ns = NowNs();
    g_collector.start_ticks = record::RecorderTicks();
  } else {
    Emit(python.tuple_get(arguments, 1));
    g_collector.word = 0;
  }
  python.retain(g_collector.none);
  return g_collector.none;
}

PyMethod g_method = {"sonde_gc", OnPhase, kPyMethodVarargs, nullptr};

}  // namespace

void GarbageCollectionInit(const PythonApi* python, SelfTestReport* report) {
  g_collector.python = python;
  PyObject* gc = python->import_module("gc");
  g_collector.callbacks = gc != nullptr ? python->get_attribute(gc, "callbacks") : nullptr;
  PyObject* builtins = python->import_module("builtins");
  g_collector.none = python->get_attribute(builtins, "None");
  g_collector.callback = python->function_new(&g_method, nullptr, nullptr);
  python->error_clear();
  python->release(gc);
  python->release(builtins);
  const bool ok = g_collector.callbacks != nullptr && g_collector.callback != nullptr;
  report->Add("garbage collection", ok,
              ok ? "" : "gc.callbacks not found; pauses are not recorded");
}

void GarbageCollectionStart(double threshold_ms) {
  if (g_collector.callbacks == nullptr || g_collector.callback == nullptr) return;
  const GilScope gil(*g_collector.python);
  if (!gil.held()) return;
  g_collector.threshold_ns = static_cast<int64_t>(threshold_ms * 1e6);
  g_collector.name = sonde_intern("GC", 2);
  g_collector.generation_key = sonde_intern("generation", 10);
  g_collector.collected_key = sonde_intern("collected", 9);
  if (g_collector.installed) return;
  g_collector.installed =
      g_collector.python->list_append(g_collector.callbacks, g_collector.callback) == 0;
}

void GarbageCollectionStop() {
  if (!g_collector.installed) return;
  const PythonApi& python = *g_collector.python;
  const GilScope gil(python);
  if (!gil.held()) return;
  PyObject* remove = python.get_attribute(g_collector.callbacks, "remove");
  PyObject* result =
      remove != nullptr ? python.call(remove, g_collector.callback, nullptr) : nullptr;
  python.error_clear();  // the program may have emptied the list
  python.release(result);
  python.release(remove);
  g_collector.installed = false;
}

}  // namespace sonde::adapt
