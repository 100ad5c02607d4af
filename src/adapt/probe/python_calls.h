// CPython functions of the probe beyond adapt/python/python_api.h, and the few objects of the
// interpreter that it compares with. Resolved in the running process.
//
// Threads: everything needs the GIL.
#ifndef SONDE_ADAPT_PROBE_PYTHON_CALLS_H_
#define SONDE_ADAPT_PROBE_PYTHON_CALLS_H_

#include <cstdint>
#include <string_view>
#include <utility>

#include "adapt/python/python_api.h"

namespace sonde::adapt {

struct PythonCalls : PythonApi {
  PyObject* none;
  PyObject* true_object;
  PyObject* false_object;
  PyObject* not_implemented;
  PyObject* bool_type;
  PyObject* int_type;
  PyObject* float_type;
  PyObject* text_type;
  PyObject* tuple_type;
  PyObject* list_type;
  PyObject* dict_type;
  PyObject* runtime_error;
  PyObject* exception;

  intptr_t (*tuple_size)(PyObject* tuple);
  int64_t (*long_as_i64)(PyObject* number);
  double (*float_as_double)(PyObject* number);
  PyObject* (*dict_items)(PyObject* dict);         // a list of pairs
  PyObject* (*sequence_list)(PyObject* sequence);  // a new list
  PyObject* (*intern)(const char* text);
  PyObject* (*tuple_new)(intptr_t size);
  int (*tuple_set)(PyObject* tuple, intptr_t index, PyObject* item);  // takes the reference
  PyObject* (*call_with)(PyObject* callable, PyObject* tuple, PyObject* dict);
  unsigned long (*type_flags)(PyObject* type);  // NOLINT(google-runtime-int)
  int (*is_instance)(PyObject* object, PyObject* type);
  intptr_t (*hash)(PyObject* object);
  int (*error_matches)(PyObject* type);
  void (*error_normalize)(PyObject** type, PyObject** value, PyObject** trace);
  int (*set_traceback)(PyObject* exception, PyObject* trace);
  PyObject* (*call_method)(PyObject* object, PyObject* name, ...);  // objects, ended by nullptr
  PyObject* (*text_from)(const char* text, intptr_t size);
  void (*raise)(PyObject* type, const char* text);
  PyObject* (*capsule_new)(void* pointer, const char* name, void (*destroy)(PyObject*));
  void* (*capsule_get)(PyObject* capsule, const char* name);
  int (*dict_set_item)(PyObject* dict, PyObject* key, PyObject* value);
};

// Fills `calls`. Returns nullptr, or the name of what the process lacks.
[[nodiscard]] const char* FindPythonCalls(PythonCalls* calls);

// A new reference, given back at the end.
class PyOwned {
 public:
  PyOwned(const PythonCalls& calls, PyObject* object) : calls_(&calls), object_(object) {}
  PyOwned(PyOwned&& other) noexcept
      : calls_(other.calls_), object_(std::exchange(other.object_, nullptr)) {}
  PyOwned& operator=(PyOwned&&) = delete;
  PyOwned(const PyOwned&) = delete;
  PyOwned& operator=(const PyOwned&) = delete;
  ~PyOwned() {
    if (object_ != nullptr) calls_->release(object_);
  }
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  const PythonCalls* calls_;
  PyObject* object_;
};

// UTF-8 of a str object; false and no exception for lone surrogates and other types.
bool TextOf(const PythonCalls& calls, PyObject* object, std::string_view* text);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_PYTHON_CALLS_H_
