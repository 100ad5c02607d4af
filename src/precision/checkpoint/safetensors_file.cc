#include "precision/checkpoint/safetensors_file.h"

#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/host/json.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::CorruptDataError;
using base::JsonValue;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;  // the format's own limit

std::optional<Dtype> DtypeOf(std::string_view name) {
  constexpr std::pair<std::string_view, Dtype> kNames[] = {
      {"BOOL", Dtype::kBool},
      {"I8", Dtype::kInt8},
      {"I16", Dtype::kInt16},
      {"I32", Dtype::kInt32},
      {"I64", Dtype::kInt64},
      {"U8", Dtype::kUint8},
      {"U16", Dtype::kUint16},
      {"U32", Dtype::kUint32},
      {"U64", Dtype::kUint64},
      {"F16", Dtype::kFloat16},
      {"BF16", Dtype::kBfloat16},
      {"F32", Dtype::kFloat32},
      {"F64", Dtype::kFloat64},
      {"F8_E4M3", Dtype::kFloat8E4m3fn},
      {"F8_E5M2", Dtype::kFloat8E5m2},
      {"F8_E8M0", Dtype::kFloat8E8m0fnu},
      {"F8_E4M3FNUZ", Dtype::kFloat8E4m3fnuz},
      {"F8_E5M2FNUZ", Dtype::kFloat8E5m2fnuz},
      {"C64", Dtype::kComplex64},
  };
  for (const auto& [known, dtype] : kNames) {
    if (name == known) return dtype;
  }
  return std::nullopt;
}

Result<Tensor> TensorOf(const JsonValue& entry, std::span<const std::byte> values) {
  SONDE_ASSIGN_OR_RETURN(const std::string type, entry.GetString("dtype", ""));
  const std::optional<Dtype> dtype = DtypeOf(type);
  if (!dtype) return base::UnimplementedError(Concat("element type '", type, "' is not known"));
  if (!entry["shape"].IsArray()) return CorruptDataError("it has no shape");
  std::vector<int64_t> shape;
  for (const JsonValue& length : entry["shape"].Elements()) {
    SONDE_ASSIGN_OR_RETURN(const int64_t value, length.AsInt());
    shape.push_back(value);
  }
  SONDE_ASSIGN_OR_RETURN(const int64_t begin, entry["data_offsets"][size_t{0}].AsInt());
  SONDE_ASSIGN_OR_RETURN(const int64_t end, entry["data_offsets"][size_t{1}].AsInt());
  if (begin < 0 || end < begin) {
    return CorruptDataError(
        Concat("its place ", std::to_string(begin), " to ", std::to_string(end), " is none"));
  }
  if (static_cast<uint64_t>(end) > values.size()) {
    return CorruptDataError("it reaches beyond the file, which was cut");
  }
  const auto place = values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  Result<Tensor> tensor = Tensor::Make(*dtype, shape, Tensor::PackedStrides(shape), 0, place);
  if (tensor.ok() &&
      place.size() != static_cast<size_t>(tensor->element_count()) * DtypeSize(*dtype)) {
    return CorruptDataError(
        Concat("type and shape do not fit its ", std::to_string(place.size()), " bytes"));
  }
  return tensor;
}

// Bytes of values that belong to a tensor of the header, by their number.
uint64_t NamedBytes(const std::vector<NamedTensor>& tensors) {
  uint64_t out = 0;
  for (const NamedTensor& named : tensors) {
    out += static_cast<uint64_t>(named.tensor.element_count()) * DtypeSize(named.tensor.dtype());
  }
  return out;
}

}  // namespace

bool IsSafetensors(std::span<const std::byte> bytes) {
  if (bytes.size() <= kLengthBytes || static_cast<char>(bytes[kLengthBytes]) != '{') return false;
  const auto length = base::LoadLe<uint64_t>(bytes.data());
  return length >= 2 && length <= kMaxHeader;
}

Result<std::vector<NamedTensor>> ParseSafetensors(std::span<const std::byte> bytes,
                                                  std::vector<std::string>* left_out) {
  if (bytes.size() <= kLengthBytes || static_cast<char>(bytes[kLengthBytes]) != '{') {
    return CorruptDataError("no header of safetensors");
  }
  const auto length = base::LoadLe<uint64_t>(bytes.data());
  if (length > kMaxHeader) {
    return CorruptDataError(
        Concat("a header of ", std::to_string(length), " bytes, more than safetensors allow"));
  }
  if (length > bytes.size() - kLengthBytes) {
    return CorruptDataError("the header of safetensors is cut off");
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  SONDE_ASSIGN_OR_RETURN(const base::JsonDocument document,
                         base::JsonDocument::Parse(header, "header of safetensors"));
  const std::span<const std::byte> values = bytes.subspan(kLengthBytes + length);
  std::vector<NamedTensor> out;
  for (const auto& [name, entry] : document.root().Members()) {
    if (name == "__metadata__") continue;
    Result<Tensor> tensor = TensorOf(entry, values);
    if (tensor.ok()) {
      out.push_back({name, *std::move(tensor)});
    } else {
      left_out->push_back(Concat(name, ": ", tensor.status().message()));
    }
  }
  // The format has no holes: a name that stands twice in the header hides a tensor.
  const uint64_t named = NamedBytes(out);
  if (left_out->empty() && named < values.size()) {
    left_out->push_back(Concat("values of ", std::to_string(values.size() - named),
                               " bytes that the header names no tensor for (a name twice?)"));
  }
  return out;
}

}  // namespace sonde::precision
