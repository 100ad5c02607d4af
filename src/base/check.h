// CHECK and DCHECK: programming errors after which going on would do harm.
//
// CHECK(condition) or CHECK(condition, "what this means") prints file, line, condition and text on
// standard error and aborts. DCHECK is the same in builds without NDEBUG and costs nothing with it.
// Never for bad input or failing system calls: those are Status. Never on the recorder's fast path.
#pragma once

#include <string_view>

namespace sonde::base::internal {

// Writes with one write(2), allocates nothing, aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view text = {});

}  // namespace sonde::base::internal

#define CHECK(condition, ...)                                                      \
  do {                                                                             \
    if (!(condition)) [[unlikely]]                                                 \
      ::sonde::base::internal::CheckFailed(__FILE__, __LINE__,                     \
                                           #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition, ...)                       \
  do {                                               \
    if (false) { /* keeps the condition compiling */ \
      CHECK(condition __VA_OPT__(, ) __VA_ARGS__);   \
    }                                                \
  } while (false)
#else
#define DCHECK(condition, ...) CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif
