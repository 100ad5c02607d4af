// numpy's .npy: magic, version, length, a Python dict as header, the values.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "precision/tensor/tensor_file.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::CorruptDataError;

constexpr size_t kMaxHeaderBytes = 1U << 20U;

struct NpyHeader {
  std::string_view descr;
  std::string_view fortran_order;
  std::string_view shape;
};

// The value behind 'key': in the header's dict, up to where it ends.
std::string_view ValueOf(std::string_view dict, std::string_view key) {
  const std::string quoted = Concat("'", key, "':");
  const size_t at = dict.find(quoted);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = base::Trim(dict.substr(at + quoted.size()));
  if (rest.starts_with('(')) return rest.substr(0, rest.find(')') + 1);
  if (rest.starts_with('\'')) {
    const size_t end = rest.find('\'', 1);
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end + 1);
  }
  return rest.substr(0, rest.find_first_of(",}"));
}

struct Element {
  Dtype dtype;
  bool is_swapped = false;  // the most significant byte comes first
};

// "'<f4'" and so on. MindSpore writes bfloat16 as '<E2', which numpy itself does not know, and
// ml_dtypes as two bytes of anything.
std::optional<Element> ElementFromDescr(std::string_view descr) {
  if (descr.size() < 4 || descr.front() != '\'' || descr.back() != '\'') return std::nullopt;
  descr = descr.substr(1, descr.size() - 2);
  const char order = descr[0];
  if (order != '<' && order != '|' && order != '=' && order != '>') return std::nullopt;
  static constexpr std::pair<std::string_view, Dtype> kTypes[] = {
      {"b1", Dtype::kBool},      {"i1", Dtype::kInt8},        {"i2", Dtype::kInt16},
      {"i4", Dtype::kInt32},     {"i8", Dtype::kInt64},       {"u1", Dtype::kUint8},
      {"u2", Dtype::kUint16},    {"u4", Dtype::kUint32},      {"u8", Dtype::kUint64},
      {"f2", Dtype::kFloat16},   {"f4", Dtype::kFloat32},     {"f8", Dtype::kFloat64},
      {"c8", Dtype::kComplex64}, {"c16", Dtype::kComplex128}, {"E2", Dtype::kBfloat16},
      {"V2", Dtype::kBfloat16},
  };
  for (const auto& [text, dtype] : kTypes) {
    if (descr.substr(1) == text) return Element{dtype, order == '>'};
  }
  return std::nullopt;
}

// "(2, 3, )" to {2, 3}.
bool ParseShape(std::string_view text, std::vector<int64_t>* shape) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return false;
  for (const std::string_view part : base::Split(text.substr(1, text.size() - 2), ',')) {
    std::string_view number = base::Trim(part);
    if (number.ends_with('L')) number.remove_suffix(1);  // Python 2 wrote long integers so
    if (number.empty()) continue;
    const auto length = base::ParseInt64(number);
    if (!length || *length < 0) return false;
    shape->push_back(*length);
  }
  return true;
}

// Numbers of `size` bytes each, turned around.
std::vector<std::byte> Swapped(std::span<const std::byte> bytes, size_t size) {
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  for (size_t i = 0; i + size <= out.size(); i += size) {
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(i),
                 out.begin() + static_cast<std::ptrdiff_t>(i + size));
  }
  return out;
}

std::vector<int64_t> FortranStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    strides[i] = step;
    if (__builtin_mul_overflow(step, shape[i] > 0 ? shape[i] : 1, &step)) return {};
  }
  return strides;
}

}  // namespace

Result<Tensor> ParseNpyFile(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 12 || !text.starts_with("\x93NUMPY")) {
    return CorruptDataError("not a .npy file: too short or another beginning");
  }
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(text[i])); };
  const bool wide = text[6] > 1;
  size_t length = byte(8) | byte(9) << 8U;
  if (wide) length |= byte(10) << 16U | byte(11) << 24U;
  const size_t begin = wide ? 12 : 10;
  if (length > kMaxHeaderBytes || length > text.size() - begin) {
    return CorruptDataError("the header reaches beyond the file");
  }
  const std::string_view dict = text.substr(begin, length);
  const NpyHeader header = {ValueOf(dict, "descr"), ValueOf(dict, "fortran_order"),
                            ValueOf(dict, "shape")};
  const auto element = ElementFromDescr(header.descr);
  if (!element) {
    return base::UnimplementedError(Concat("element type ", header.descr, " is not supported"));
  }
  std::vector<int64_t> shape;
  if (!ParseShape(header.shape, &shape)) return CorruptDataError("the header holds no shape");
  const bool fortran = base::Trim(header.fortran_order) == "True";
  // Lengths whose product overflows are found by Make(): the strides stay consistent until then.
  int64_t count = 1;
  for (const int64_t n : shape) {
    if (__builtin_mul_overflow(count, n > 0 ? n : 1, &count)) {
      return CorruptDataError("the shape is larger than any file");
    }
  }
  std::vector<int64_t> strides = fortran ? FortranStrides(shape) : Tensor::PackedStrides(shape);
  const std::span<const std::byte> values = bytes.subspan(begin + length);
  const size_t number = DtypeSize(element->dtype) / (IsComplex(element->dtype) ? 2 : 1);
  if (!element->is_swapped || number == 1) {
    return Tensor::Make(element->dtype, std::move(shape), std::move(strides), 0, values);
  }
  auto owned = std::make_shared<const std::vector<std::byte>>(Swapped(values, number));
  SONDE_ASSIGN_OR_RETURN(
      Tensor tensor, Tensor::Make(element->dtype, std::move(shape), std::move(strides), 0, *owned));
  tensor.HoldBytes(std::move(owned));
  return tensor;
}

}  // namespace sonde::precision
