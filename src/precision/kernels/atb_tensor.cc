#include "precision/kernels/atb_tensor.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::CorruptDataError;

std::optional<Dtype> DtypeOfCode(std::string_view code) {
  static constexpr std::pair<std::string_view, Dtype> kCodes[] = {
      {"0", Dtype::kFloat32},   {"1", Dtype::kFloat16}, {"2", Dtype::kInt8},
      {"3", Dtype::kInt32},     {"9", Dtype::kInt64},   {"12", Dtype::kBool},
      {"27", Dtype::kBfloat16},
  };
  for (const auto& [text, dtype] : kCodes) {
    if (text == code) return dtype;
  }
  return std::nullopt;
}

struct AtbHeader {
  std::string_view dtype = "0";
  std::string_view dims;
  size_t end = 0;  // where the values begin
};

Result<AtbHeader> ParseHeader(std::string_view text) {
  AtbHeader out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return CorruptDataError("a line of the head has no '='");
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    if (key == "dtype") out.dtype = value;
    if (key == "dims") out.dims = value;
    if (key == "data") return base::UnimplementedError("the values lie in another file");
    if (key == "$End") {
      out.end = at;
      return out;
    }
  }
  return CorruptDataError("the head has no end ($End=)");
}

}  // namespace

Result<Tensor> ParseAtbTensor(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  SONDE_ASSIGN_OR_RETURN(const AtbHeader header, ParseHeader(text));
  const auto dtype = DtypeOfCode(header.dtype);
  if (!dtype) {
    return base::UnimplementedError(Concat("element type ", header.dtype, " is not supported"));
  }
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (const std::string_view part : base::Split(header.dims, ',')) {
    const auto length = base::ParseInt64(base::Trim(part));
    if (!length || *length < 0) return CorruptDataError(Concat("dims=", header.dims));
    if (__builtin_mul_overflow(count, *length > 0 ? *length : 1, &count)) {
      return CorruptDataError("the shape is larger than any file");
    }
    shape.push_back(*length);
  }
  std::vector<int64_t> strides = Tensor::PackedStrides(shape);
  return Tensor::Make(*dtype, std::move(shape), std::move(strides), 0, bytes.subspan(header.end));
}

Result<Tensor> OpenAtbTensor(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(base::MappedFile mapped, base::MappedFile::Open(path));
  auto file = std::make_shared<base::MappedFile>(std::move(mapped));
  Result<Tensor> tensor = ParseAtbTensor(std::as_bytes(std::span(file->text())));
  if (!tensor.ok()) return std::move(tensor.Annotate(path));
  tensor->HoldFile(std::move(file));
  return tensor;
}

}  // namespace sonde::precision
