// A user's metric: a shared library with the functions of include/sonde/metric.h.
//
// Errors: a library that cannot be loaded or lacks a function. The library stays loaded until the
// program ends. Threads: Compare() may be called from any.
#pragma once

#include <string>

#include "base/status.h"
#include "precision/tensor/tensor.h"

namespace sonde::precision {

class UserMetric {
 public:
  static Result<UserMetric> Load(const std::string& path);

  const std::string& name() const { return name_; }
  // The cell: the library's text, or "unsupported".
  std::string Compare(const Tensor& target, const Tensor& golden) const;

 private:
  UserMetric() = default;

  std::string name_;
  void* compare_ = nullptr;
};

}  // namespace sonde::precision
