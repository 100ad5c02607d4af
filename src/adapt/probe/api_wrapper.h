// The Python objects that torch's functions are replaced by.
//
// A wrapper binds as its original does, and has its attributes, hash and equality, so that tables
// keyed by functions find it; copies of it are itself.
// Threads: the GIL.
#ifndef SONDE_ADAPT_PROBE_API_WRAPPER_H_
#define SONDE_ADAPT_PROBE_API_WRAPPER_H_

#include <cstddef>

#include "adapt/probe/python_calls.h"

namespace sonde::adapt {

struct Api;

struct ApiCall {
  PyObject head;
  PyVectorcall vectorcall;
  PyObject* original;
  PyVectorcall original_call;  // nullptr: it has none
  Api* api;
  PyObject* weak_references;  // to it: tables of torch.jit have functions as weak keys
};

// Types of wrappers of functions and of callables that bind to an instance; nullptr with an
// exception.
PyObject* MakeWrapperType(const PythonCalls& calls, bool binds);

// A new wrapper of one of these types, or nullptr with an exception.
PyObject* WrapperOf(const PythonCalls& calls, PyObject* type, PyObject* original, Api* api);

// A wrapper that calls begin(first argument) before each outermost call of a thread, for as long as
// the process lives. If begin returns a callable and not None, it is called at the end. nullptr
// with an exception. Both references are kept.
PyObject* OutermostOf(const PythonCalls& calls, PyObject* type, PyObject* original,
                      PyObject* begin);

// Calls the original with the arguments of the wrapper's call.
PyObject* CallOriginal(const PythonCalls& calls, const ApiCall& call, PyObject* const* args,
                       size_t count_flags, PyObject* names);

// Positional arguments as a tuple, the others as a dict (nullptr for none).
PyObject* ArgumentTuple(const PythonCalls& calls, PyObject* const* values, size_t count);
PyObject* ArgumentDict(const PythonCalls& calls, PyObject* names, PyObject* const* values);

inline constexpr size_t kOffsetFlag = size_t{1} << 63;  // PY_VECTORCALL_ARGUMENTS_OFFSET

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_API_WRAPPER_H_
