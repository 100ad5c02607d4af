// The values of captured arguments (Dialect::captured_keys) of one argument set: a view of
// captured_arguments.h. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sonde::importers::trace_events {

inline constexpr size_t kMaxCapturedKeys = 31;

// Captured values of one argument set.
class CapturedSet {
 public:
  CapturedSet() = default;  // has none
  explicit CapturedSet(const uint32_t* words) : words_(words) {}
  std::optional<int64_t> Get(size_t key) const;

 private:
  friend class CapturedArguments;
  static constexpr uint32_t kIsWide = 1U << kMaxCapturedKeys;
  const uint32_t* words_ = nullptr;
};

}  // namespace sonde::importers::trace_events
