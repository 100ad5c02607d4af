// Finds functions and objects of the process by name, and remembers the first missing one.
//
// For the interpreter's and the framework's own symbols, which are loaded before us. Threads: one.
#pragma once

#include <dlfcn.h>

namespace sonde::adapt {

struct SymbolLookup {
  const char* missing = nullptr;  // the first name without an address

  template <typename T>
  void operator()(const char* name, T* out) {
    void* address = dlsym(RTLD_DEFAULT, name);
    *out = reinterpret_cast<T>(address);
    if (address == nullptr && missing == nullptr) missing = name;
  }
};

}  // namespace sonde::adapt
