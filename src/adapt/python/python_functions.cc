#include "adapt/python/python_functions.h"

#include <dlfcn.h>

#include <cstdio>
#include <iterator>
#include <unordered_map>

#include "record/fast_path.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

using capture::RecordKind;

constexpr uint64_t kFunctionKinds = uint64_t{1} << static_cast<int>(RecordKind::kPythonFunction);
enum TraceEvent { kTraceCall = 0, kTraceReturn = 3 };  // PyTrace_CALL, PyTrace_RETURN

using Trace = int (*)(PyObject* object, PyObject* frame, int event, PyObject* argument);

struct PythonFunctions {
  const PythonApi* python = nullptr;
  PyObject* (*frame_code)(PyObject* frame) = nullptr;  // new reference
  int (*set_profile)(void* state, Trace function, PyObject* object) = nullptr;
  void* (*current_state)() = nullptr;
  void* (*interpreter)() = nullptr;
  void* (*first_state)(void* interpreter) = nullptr;
  void* (*next_state)(void* state) = nullptr;
  PyObject* threading = nullptr;
  PyObject* follow = nullptr;  // given to threading.setprofile
  PyObject* none = nullptr;
  bool usable = false;
  bool active = false;
  // Name id of each code object met; the objects are referenced for good.
  std::unordered_map<PyObject*, uint32_t>* names = nullptr;
};
// Process-wide by nature, as the interpreter's profile functions are.
PythonFunctions g_functions;

// Calls of this thread that are recorded and open, in the session of the word.
__thread uint32_t t_depth = 0;
__thread uint32_t t_word = 0;

// "path(line): function", as torch's profiler writes it.
uint32_t MakeName(PyObject* code) {
  const PythonApi& python = *g_functions.python;
  PyObject* file = python.get_attribute(code, "co_filename");
  PyObject* name = python.get_attribute(code, "co_name");
  PyObject* line = python.get_attribute(code, "co_firstlineno");
  char text[1024];
  const char* path = file != nullptr ? python.utf8(file, nullptr) : nullptr;
  const char* function = name != nullptr ? python.utf8(name, nullptr) : nullptr;
  const int length = std::snprintf(text, sizeof(text), "%s(%llu): %s", path != nullptr ? path : "?",
                                   line != nullptr ? python.long_as_u64(line) : 0,
                                   function != nullptr ? function : "?");
  python.error_clear();
  for (PyObject* object : {file, name, line}) python.release(object);
  const auto size = static_cast<size_t>(length);
  return sonde_intern(text, size < sizeof(text) ? size : sizeof(text) - 1);
}

uint32_t NameOf(PyObject* frame) {
  PyObject* code = g_functions.frame_code(frame);
  const auto [entry, added] = g_functions.names->try_emplace(code, 0);
  if (added) {
    entry->second = MakeName(code);
  } else {
    g_functions.python->release(code);
  }
  return entry->second;
}

int OnTrace(PyObject*, PyObject* frame, int event, PyObject*) {
  const uint32_t word = record::SessionWord();
  if (word == 0 || !g_functions.active) return 0;
  if (t_word != word) {
    t_word = word;
    t_depth = 0;
  }
  if (event == kTraceCall) {
    if (record::PushOpen(word, RecordKind::kPythonFunction, 0, NameOf(frame), 0, 0, -1)) t_depth++;
  } else if (event == kTraceReturn && t_depth > 0) {
    t_depth--;
    record::PopOpen(word, kFunctionKinds);
  }
  return 0;
}

// The profile function of a thread (sys.setprofile), or None.
bool HasProfile(PyObject* sys) {
  const PythonApi& python = *g_functions.python;
  PyObject* get = python.get_attribute(sys, "getprofile");
  PyObject* current = get != nullptr ? python.call(get, nullptr) : nullptr;
  const bool has = current != nullptr && current != g_functions.none;
  python.error_clear();
  python.release(current);
  python.release(get);
  return has;
}

// The Python-level profile function of threads that start later: puts the C function in its place.
PyObject* OnThread(PyObject*, PyObject*) {
  void* state = g_functions.current_state();
  g_functions.set_profile(state, g_functions.active ? OnTrace : nullptr, nullptr);
  g_functions.python->retain(g_functions.none);
  return g_functions.none;
}

PyMethod g_follow = {"sonde_follow_thread", OnThread, kPyMethodVarargs, nullptr};

void CallThreading(PyObject* argument) {
  const PythonApi& python = *g_functions.python;
  PyObject* set = python.get_attribute(g_functions.threading, "setprofile");
  PyObject* result = set != nullptr ? python.call(set, argument, nullptr) : nullptr;
  python.error_clear();
  python.release(result);
  python.release(set);
}

void ForAllThreads(Trace function) {
  void* interpreter = g_functions.interpreter();
  for (void* state = g_functions.first_state(interpreter); state != nullptr;
       state = g_functions.next_state(state)) {
    g_functions.set_profile(state, function, nullptr);
  }
  g_functions.python->error_clear();
}

template <typename T>
bool Look(const char* name, T* out) {
  void* address = dlsym(RTLD_DEFAULT, name);
  *out = reinterpret_cast<T>(address);
  return address != nullptr;
}

}  // namespace

void PythonFunctionsInit(const PythonApi* python, SelfTestReport* report) {
  g_functions.python = python;
  g_functions.threading = python->import_module("threading");
  PyObject* builtins = python->import_module("builtins");
  g_functions.none = python->get_attribute(builtins, "None");
  python->release(builtins);
  g_functions.follow = python->function_new(&g_follow, nullptr, nullptr);
  g_functions.usable = Look("PyFrame_GetCode", &g_functions.frame_code) &&
                       Look("_PyEval_SetProfile", &g_functions.set_profile) &&
                       Look("PyThreadState_Get", &g_functions.current_state) &&
                       Look("PyInterpreterState_Get", &g_functions.interpreter) &&
                       Look("PyInterpreterState_ThreadHead", &g_functions.first_state) &&
                       Look("PyThreadState_Next", &g_functions.next_state) &&
                       g_functions.threading != nullptr && !python->free_threaded;
  python->error_clear();
  report->Add("Python functions", g_functions.usable,
              g_functions.usable ? "" : "no profile function for threads; they are not recorded");
}

void PythonFunctionsStart() {
  if (!g_functions.usable || g_functions.active) return;
  const GilScope gil(*g_functions.python);
  if (!gil.held()) return;
  PyObject* sys = g_functions.python->import_module("sys");
  const bool taken = HasProfile(sys);
  g_functions.python->release(sys);
  if (taken) {
    sonde_report_issue(
        "Python functions are not recorded: another profiler has set sys.setprofile");
    return;
  }
  if (g_functions.names == nullptr) {
    g_functions.names = new std::unordered_map<PyObject*, uint32_t>();
  }
  g_functions.active = true;
  CallThreading(g_functions.follow);
  ForAllThreads(OnTrace);
}

void PythonFunctionsStop() {
  if (!g_functions.active) return;
  const GilScope gil(*g_functions.python);
  if (!gil.held()) return;
  g_functions.active = false;
  CallThreading(g_functions.none);
  ForAllThreads(nullptr);
}

}  // namespace sonde::adapt
