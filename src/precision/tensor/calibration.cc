#include "precision/tensor/calibration.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/host/yaml_file.h"
#include "base/strings.h"
#include "precision/tensor/tensor_file.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::YamlNode;

std::vector<double> AllValues(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.element_count()));
  if (!values.empty()) tensor.ReadDoubles(0, values.size(), values.data());
  return values;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(shape[i]);
  }
  return out + "]";
}

Status Misfit(const Tensor& value, const Tensor& matrix) {
  return base::InvalidArgumentError(Concat("a matrix of shape ", ShapeText(matrix.shape()),
                                           " does not fit a tensor of shape ",
                                           ShapeText(value.shape())));
}

bool MayMultiply(const Tensor& value, const Tensor& matrix) {
  return matrix.shape().size() == 2 && !value.shape().empty() && !IsComplex(value.dtype()) &&
         !IsComplex(matrix.dtype());
}

Tensor Packed(const Tensor& value, const Tensor& matrix, std::vector<int64_t> shape,
              std::vector<double> values) {
  const bool narrow = IsFloatOrNarrower(value.dtype()) && IsFloatOrNarrower(matrix.dtype());
  return narrow ? Tensor::OfFloats(std::move(shape), {values.begin(), values.end()})
                : Tensor::OfDoubles(std::move(shape), std::move(values));
}

}  // namespace

Result<Tensor> MultiplyRight(const Tensor& value, const Tensor& matrix) {
  if (!MayMultiply(value, matrix) || value.shape().back() != matrix.shape()[0]) {
    return Misfit(value, matrix);
  }
  const auto inner = static_cast<size_t>(matrix.shape()[0]);
  const auto columns = static_cast<size_t>(matrix.shape()[1]);
  const std::vector<double> v = AllValues(value);
  const std::vector<double> m = AllValues(matrix);
  const size_t rows = inner == 0 ? 0 : v.size() / inner;
  std::vector<double> out(rows * columns);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t k = 0; k < inner; ++k) {
      const double factor = v[r * inner + k];
      for (size_t c = 0; c < columns; ++c) out[r * columns + c] += factor * m[k * columns + c];
    }
  }
  std::vector<int64_t> shape = value.shape();
  shape.back() = matrix.shape()[1];
  return Packed(value, matrix, std::move(shape), std::move(out));
}

Result<Tensor> MultiplyLeft(const Tensor& matrix, const Tensor& value) {
  const size_t dimensions = value.shape().size();
  const size_t axis = dimensions >= 2 ? dimensions - 2 : 0;
  if (!MayMultiply(value, matrix) || value.shape()[axis] != matrix.shape()[1]) {
    return Misfit(value, matrix);
  }
  const auto rows = static_cast<size_t>(matrix.shape()[0]);
  const auto inner = static_cast<size_t>(matrix.shape()[1]);
  const auto columns = dimensions >= 2 ? static_cast<size_t>(value.shape().back()) : 1;
  const std::vector<double> v = AllValues(value);
  const std::vector<double> m = AllValues(matrix);
  const size_t batches = inner * columns == 0 ? 0 : v.size() / (inner * columns);
  std::vector<double> out(batches * rows * columns);
  for (size_t b = 0; b < batches; ++b) {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t k = 0; k < inner; ++k) {
        const double factor = m[r * inner + k];
        const double* from = &v[(b * inner + k) * columns];
        double* to = &out[(b * rows + r) * columns];
        for (size_t c = 0; c < columns; ++c) to[c] += factor * from[c];
      }
    }
  }
  std::vector<int64_t> shape = value.shape();
  shape[axis] = matrix.shape()[0];
  return Packed(value, matrix, std::move(shape), std::move(out));
}

void Calibration::Warn(std::string text) const {
  const std::scoped_lock lock(mutex_);
  if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) {
    warnings_.push_back(std::move(text));
  }
}

std::vector<std::string> Calibration::warnings() const {
  const std::scoped_lock lock(mutex_);
  return warnings_;
}

std::shared_ptr<const Tensor> Calibration::Matrix(const std::string& path) {
  const auto found = matrices_.find(path);
  if (found != matrices_.end()) return found->second;
  std::shared_ptr<const Tensor> matrix;
  Result<Tensor> loaded = OpenTensorFile(path);
  if (loaded.ok()) {
    matrix = std::make_shared<const Tensor>(std::move(loaded).value());
  } else {
    Warn(Concat("calibration skipped: ", loaded.status().message()));
  }
  matrices_.emplace(path, matrix);
  return matrix;
}

Status Calibration::AddMap(const std::string& path, const YamlNode& map, Side side,
                           bool is_target) {
  if (map.kind == YamlNode::Kind::kNull) return Status::Ok();
  Status wrong =
      base::InvalidArgumentError(Concat(path, ": a tensor map is 'matrix file: [data_name, ...]'"));
  if (!map.IsMap()) return wrong;
  for (const auto& [file, names] : map.members) {
    if (!names.IsList()) return wrong;
    const std::shared_ptr<const Tensor> matrix = Matrix(file);
    if (matrix == nullptr) continue;
    for (const YamlNode& name : names.items) {
      if (!name.IsText()) return wrong;
      (is_target ? target_ : golden_)[name.text].push_back({side, matrix, file});
    }
  }
  return Status::Ok();
}

Status Calibration::AddBlock(const std::string& path, const YamlNode& block,
                             std::string_view name) {
  struct Key {
    std::string_view block;
    std::string_view key;
    Side side;
    bool is_target;
  };
  static constexpr std::array<Key, 8> kKeys = {{
      {"right_matmul", "target_tensor_map", Side::kRight, true},
      {"right_matmul", "golden_tensor_map", Side::kRight, false},
      {"left_matmul", "target_tensor_map", Side::kLeft, true},
      {"left_matmul", "golden_tensor_map", Side::kLeft, false},
      {"left_right_matmul", "left_target_tensor_map", Side::kLeft, true},
      {"left_right_matmul", "right_target_tensor_map", Side::kRight, true},
      {"left_right_matmul", "left_golden_tensor_map", Side::kLeft, false},
      {"left_right_matmul", "right_golden_tensor_map", Side::kRight, false},
  }};
  for (const auto& [member, map] : block.members) {
    const auto known = std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& key) {
      return key.block == name && key.key == member;
    });
    if (known == kKeys.end()) {
      Warn(Concat(path, ": unknown key '", member, "' below '", name, "' ignored"));
      continue;
    }
    SONDE_RETURN_IF_ERROR(AddMap(path, map, known->side, known->is_target));
  }
  return Status::Ok();
}

Result<std::unique_ptr<Calibration>> Calibration::Load(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const YamlNode root, base::ReadYaml(path));
  if (!root.IsMap()) {
    return base::InvalidArgumentError(
        Concat(path, ": expected right_matmul, left_matmul or left_right_matmul"));
  }
  std::unique_ptr<Calibration> out(new Calibration());
  // The order of application, whatever the order in the file.
  static constexpr std::array<std::string_view, 3> kBlocks = {"right_matmul", "left_matmul",
                                                              "left_right_matmul"};
  for (const std::string_view name : kBlocks) {
    const YamlNode* block = root.Find(name);
    if (block != nullptr) SONDE_RETURN_IF_ERROR(out->AddBlock(path, *block, name));
  }
  for (const auto& [name, block] : root.members) {
    if (std::find(kBlocks.begin(), kBlocks.end(), name) == kBlocks.end()) {
      out->Warn(Concat(path, ": unknown key '", name, "' ignored"));
    }
  }
  return out;
}

Tensor Calibration::Apply(Tensor tensor, const std::string& data_name, bool is_target) const {
  const Steps& steps = is_target ? target_ : golden_;
  const auto found = steps.find(data_name);
  if (found == steps.end()) return tensor;
  for (const Step& step : found->second) {
    Result<Tensor> product = step.side == Side::kRight ? MultiplyRight(tensor, *step.matrix)
                                                       : MultiplyLeft(*step.matrix, tensor);
    if (product.ok()) {
      tensor = std::move(product).value();
    } else {
      Warn(Concat("calibration of ", data_name, " by ", step.path,
                  " skipped: ", product.status().message()));
    }
  }
  return tensor;
}

}  // namespace sonde::precision
