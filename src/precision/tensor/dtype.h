// Element types of tensor files and their conversion to float or double.
//
// Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde::precision {

enum class Dtype : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kFloat8E4m3fn,
  kFloat8E4m3fnuz,
  kFloat8E5m2,
  kFloat8E5m2fnuz,
  kFloat8E8m0fnu,
  kComplex32,
  kComplex64,
  kComplex128,
};

size_t DtypeSize(Dtype dtype);            // bytes of one element
std::string_view DtypeName(Dtype dtype);  // as numpy and torch call it: "float32"
bool IsComplex(Dtype dtype);
// Floating types that fit into float without loss.
bool IsFloatOrNarrower(Dtype dtype);

// torch's names behind "torch.": "float32", "bool", "float8_e4m3fn". Nullopt: not known.
std::optional<Dtype> DtypeFromTorchName(std::string_view name);
// torch's storage classes: "FloatStorage", "BFloat16Storage".
std::optional<Dtype> DtypeFromStorageName(std::string_view name);

// Converts `count` packed elements; complex elements give two numbers each. Integers beyond 2^53
// are rounded as the C++ conversion rounds. `in` need not be aligned.
void ConvertToFloat(Dtype dtype, const std::byte* in, size_t count, float* out);
void ConvertToDouble(Dtype dtype, const std::byte* in, size_t count, double* out);

}  // namespace sonde::precision
