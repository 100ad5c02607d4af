// Entries of a table of functions that the interpreter calls with an array of arguments.
//
// The interpreter keeps pointers to the entries: tables outlive the module.
#pragma once

#include <cstdint>

#include "adapt/probe/python_calls.h"

namespace sonde::adapt {

inline constexpr int kFastCall = 0x80;  // METH_FASTCALL

// self, the arguments, their number.
using FastFunction = PyObject* (*)(PyObject*, PyObject* const*, intptr_t);

inline PyMethod Method(const char* name, FastFunction function) noexcept {
  return {.name = name,
          .function = reinterpret_cast<PyObject* (*)(PyObject*, PyObject*)>(
              reinterpret_cast<void (*)()>(function)),  // the flag determines the signature
          .flags = kFastCall,
          .doc = nullptr};
}

}  // namespace sonde::adapt
