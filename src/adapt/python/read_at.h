// Reads a field of an object of another library at an offset that a self-test has verified: plain
// loads from memory that the caller keeps alive.
#ifndef SONDE_ADAPT_PYTHON_READ_AT_H_
#define SONDE_ADAPT_PYTHON_READ_AT_H_

#include <cstddef>
#include <cstring>

namespace sonde::adapt {

template <typename T>
T ReadAt(const void* base, size_t offset) {
  T value;
  std::memcpy(static_cast<void*>(&value), static_cast<const char*>(base) + offset, sizeof(T));
  return value;
}

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PYTHON_READ_AT_H_
