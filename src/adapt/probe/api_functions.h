// The Python interface that makes and controls the wrappers of torch's functions.
//
// Threads: the GIL.
#ifndef SONDE_ADAPT_PROBE_API_FUNCTIONS_H_
#define SONDE_ADAPT_PROBE_API_FUNCTIONS_H_

#include "adapt/probe/python_calls.h"

namespace sonde::adapt {

// A new dict of the functions add, wrap, set_wanted, switch, reset, enter, leave; nullptr with a
// Python exception. `setup`: the callbacks of ApiCallbacks by their names. `calls` lives as long as
// the process.
PyObject* MakeApiFunctions(const PythonCalls& calls, PyObject* setup);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_API_FUNCTIONS_H_
