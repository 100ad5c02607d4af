#include "adapt/probe/api_functions.h"

#include <array>
#include <string>

#include "adapt/probe/api_calls.h"
#include "adapt/probe/nesting.h"
#include "adapt/probe/python_method.h"

namespace sonde::adapt {
namespace {

using Arguments = PyObject* const*;

const PythonCalls& Python() { return TheApiCalls().python(); }

PyObject* Shared(PyObject* object) {
  Python().retain(object);
  return object;
}

bool CheckCount(intptr_t count, intptr_t wanted) {
  if (count == wanted) return true;
  Python().raise(Python().runtime_error, "sonde probe: wrong number of arguments");
  return false;
}

bool IsTrue(PyObject* object) { return object == Python().true_object; }

// add(name, is_special, is_dropout, api, idle_cost, is_change) -> number
PyObject* Add(PyObject*, Arguments args, intptr_t count) {
  std::string_view name;
  if (!CheckCount(count, 6) || !TextOf(Python(), args[0], &name)) return nullptr;
  const size_t index = TheApiCalls().Add({.name = std::string(name),
                                          .is_special = IsTrue(args[1]),
                                          .is_dropout = IsTrue(args[2]),
                                          .is_change = IsTrue(args[5]),
                                          .idle_cost = Python().long_as_u64(args[4]),
                                          .python = Shared(args[3])});
  return Python().long_from_u64(index);
}

// wrap(number, original) -> callable
PyObject* Wrap(PyObject*, Arguments args, intptr_t count) {
  if (!CheckCount(count, 2)) return nullptr;
  return TheApiCalls().Wrap(Python().long_as_u64(args[0]), args[1]);
}

PyObject* SetWanted(PyObject*, Arguments args, intptr_t count) {
  if (!CheckCount(count, 2)) return nullptr;
  TheApiCalls().at(Python().long_as_u64(args[0])).is_wanted = IsTrue(args[1]);
  return Shared(Python().none);
}

// switch(on, idle_limit)
PyObject* Switch(PyObject*, Arguments args, intptr_t count) {
  if (!CheckCount(count, 2)) return nullptr;
  TheApiCalls().Switch(IsTrue(args[0]), Python().long_as_u64(args[1]));
  return Shared(Python().none);
}

PyObject* Reset(PyObject*, Arguments, intptr_t count) {
  if (!CheckCount(count, 0)) return nullptr;
  TheApiCalls().ResetCounts();
  return Shared(Python().none);
}

// enter() -> whether the probe was not at work in this thread; now it is
PyObject* Enter(PyObject*, Arguments, intptr_t count) {
  if (!CheckCount(count, 0)) return nullptr;
  Nesting& nesting = ThisNesting();
  const bool was_busy = nesting.is_busy;
  nesting.is_busy = true;
  if (!was_busy) TheApiCalls().HideModes();
  return Shared(was_busy ? Python().false_object : Python().true_object);
}

PyObject* Leave(PyObject*, Arguments, intptr_t count) {
  if (!CheckCount(count, 0)) return nullptr;
  ThisNesting().is_busy = false;
  TheApiCalls().ShowModes();
  return Shared(Python().none);
}

// has_nan(value) -> whether a tensor in it does
PyObject* HasNan(PyObject*, Arguments args, intptr_t count) {
  if (!CheckCount(count, 1)) return nullptr;
  const bool found = TheApiCalls().HasNan(args[0]);
  if (Python().error_occurred() != nullptr) return nullptr;
  return Shared(found ? Python().true_object : Python().false_object);
}

// The interpreter keeps pointers to these.
std::array<PyMethod, 8> g_methods = {
    Method("add", &Add),       Method("wrap", &Wrap),      Method("set_wanted", &SetWanted),
    Method("switch", &Switch), Method("reset", &Reset),    Method("enter", &Enter),
    Method("leave", &Leave),   Method("has_nan", &HasNan),
};

}  // namespace

PyObject* MakeApiFunctions(const PythonCalls& calls, PyObject* setup) {
  const auto setting = [&](const char* name) {
    PyObject* const value = calls.dict_get(setup, name);
    if (value != nullptr) calls.retain(value);
    return value;
  };
  const ApiCallbacks callbacks = {.before = setting("before"),
                                  .after = setting("after"),
                                  .backward = setting("backward"),
                                  .failed = setting("failed"),
                                  .refused = setting("refused"),
                                  .idle = setting("idle"),
                                  .is_grad_enabled = setting("is_grad_enabled"),
                                  .has_nan = setting("has_nan"),
                                  .tensor_class = setting("tensor_class"),
                                  .before_change = setting("before_change"),
                                  .count_modes = setting("count_modes"),
                                  .hide_modes = setting("hide_modes"),
                                  .show_modes = setting("show_modes")};
  if (!TheApiCalls().Init(&calls, callbacks)) return nullptr;
  PyObject* const functions = calls.dict_new();
  for (PyMethod& method : g_methods) {
    const PyOwned function(calls, calls.function_new(&method, nullptr, nullptr));
    calls.dict_set(functions, method.name, function.get());
  }
  return functions;
}

}  // namespace sonde::adapt
