// Matrices that tensors are multiplied by before they are compared (--config): one run may have
// rotated or permuted what the other has not.
//
//   right_matmul:
//     target_tensor_map: {rotation.pt: [a.pt, b.pt]}      value x matrix
//     golden_tensor_map: {...}
//   left_matmul: ...                                      matrix x value
//   left_right_matmul:
//     left_target_tensor_map, right_target_tensor_map, left_golden_tensor_map, ...
//
// A matrix that cannot be read or does not fit leaves the tensor as it is and gives a warning.
// Threads: Apply() may be called from any.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "precision/tensor/tensor.h"

namespace sonde::base {
struct YamlNode;
}

namespace sonde::precision {

class Calibration {
 public:
  static Result<std::unique_ptr<Calibration>> Load(const std::string& path);

  Tensor Apply(Tensor tensor, const std::string& data_name, bool is_target) const;
  // Each once.
  std::vector<std::string> warnings() const;

 private:
  enum class Side { kLeft, kRight };
  struct Step {
    Side side;
    std::shared_ptr<const Tensor> matrix;
    std::string path;
  };
  using Steps = std::unordered_map<std::string, std::vector<Step>>;

  Status AddBlock(const std::string& path, const base::YamlNode& block, std::string_view name);
  Status AddMap(const std::string& path, const base::YamlNode& map, Side side, bool is_target);
  std::shared_ptr<const Tensor> Matrix(const std::string& path);
  void Warn(std::string text) const;

  Steps target_;
  Steps golden_;
  std::unordered_map<std::string, std::shared_ptr<const Tensor>> matrices_;
  mutable std::mutex mutex_;
  mutable std::vector<std::string> warnings_;
};

// value x matrix over the last axis, or matrix x value over the last but one (the only one of a
// vector). Computed in double; kept as float where both inputs fit into it. Fails when the lengths
// do not fit.
Result<Tensor> MultiplyRight(const Tensor& value, const Tensor& matrix);
Result<Tensor> MultiplyLeft(const Tensor& matrix, const Tensor& value);

}  // namespace sonde::precision
