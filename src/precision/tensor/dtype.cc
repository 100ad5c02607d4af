#include "precision/tensor/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/float16.h"

namespace sonde::precision {
namespace {

struct DtypeInfo {
  Dtype dtype;
  size_t size;
  std::string_view torch_name;
  std::string_view storage_name;
};

constexpr std::array<DtypeInfo, 21> kDtypes = {{
    {Dtype::kBool, 1, "bool", "BoolStorage"},
    {Dtype::kInt8, 1, "int8", "CharStorage"},
    {Dtype::kInt16, 2, "int16", "ShortStorage"},
    {Dtype::kInt32, 4, "int32", "IntStorage"},
    {Dtype::kInt64, 8, "int64", "LongStorage"},
    {Dtype::kUint8, 1, "uint8", "ByteStorage"},
    {Dtype::kUint16, 2, "uint16", ""},
    {Dtype::kUint32, 4, "uint32", ""},
    {Dtype::kUint64, 8, "uint64", ""},
    {Dtype::kFloat16, 2, "float16", "HalfStorage"},
    {Dtype::kBfloat16, 2, "bfloat16", "BFloat16Storage"},
    {Dtype::kFloat32, 4, "float32", "FloatStorage"},
    {Dtype::kFloat64, 8, "float64", "DoubleStorage"},
    {Dtype::kFloat8E4m3fn, 1, "float8_e4m3fn", ""},
    {Dtype::kFloat8E4m3fnuz, 1, "float8_e4m3fnuz", ""},
    {Dtype::kFloat8E5m2, 1, "float8_e5m2", ""},
    {Dtype::kFloat8E5m2fnuz, 1, "float8_e5m2fnuz", ""},
    {Dtype::kFloat8E8m0fnu, 1, "float8_e8m0fnu", ""},
    {Dtype::kComplex32, 4, "complex32", "ComplexHalfStorage"},
    {Dtype::kComplex64, 8, "complex64", "ComplexFloatStorage"},
    {Dtype::kComplex128, 16, "complex128", "ComplexDoubleStorage"},
}};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Small floating formats: `exponent_bits` and `mantissa_bits` behind one sign bit.
float SmallFloat(uint8_t bits, int exponent_bits, int mantissa_bits, int bias) {
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const float sign = (bits & 0x80U) != 0 ? -1.0F : 1.0F;
  if (exponent == 0) {
    return sign * std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits);
  }
  return sign * std::ldexp(static_cast<float>(mantissa + (1 << mantissa_bits)),
                           exponent - bias - mantissa_bits);
}

float Float8(Dtype dtype, uint8_t bits) {
  switch (dtype) {
    case Dtype::kFloat8E4m3fn:  // no infinity; all ones is NaN
      return (bits & 0x7FU) == 0x7FU ? kNan : SmallFloat(bits, 4, 3, 7);
    case Dtype::kFloat8E4m3fnuz:  // no infinity, no negative zero: that pattern is NaN
      return bits == 0x80U ? kNan : SmallFloat(bits, 4, 3, 8);
    case Dtype::kFloat8E5m2:
      return base::HalfToFloat(static_cast<uint16_t>(bits << 8U));
    case Dtype::kFloat8E5m2fnuz:
      return bits == 0x80U ? kNan : SmallFloat(bits, 5, 2, 16);
    case Dtype::kFloat8E8m0fnu:  // an exponent alone
      return bits == 0xFFU ? kNan : std::ldexp(1.0F, bits - 127);
    default:
      return kNan;
  }
}

template <class T>
T Load(const std::byte* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

template <class T, class Out>
void ConvertPlain(const std::byte* in, size_t count, Out* out) {
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<Out>(Load<T>(in + i * sizeof(T)));
}

template <class Out>
void ConvertHalf(const std::byte* in, size_t count, Out* out) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<Out>(base::HalfToFloat(Load<uint16_t>(in + i * 2)));
  }
}

template <class Out>
void ConvertBfloat16(const std::byte* in, size_t count, Out* out) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<Out>(base::BFloat16ToFloat(Load<uint16_t>(in + i * 2)));
  }
}

template <class Out>
void ConvertFloat8(Dtype dtype, const std::byte* in, size_t count, Out* out) {
  std::array<float, 256> table = {};
  for (size_t i = 0; i < table.size(); ++i) table[i] = Float8(dtype, static_cast<uint8_t>(i));
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<Out>(table[std::to_integer<uint8_t>(in[i])]);
  }
}

template <class Out>
void ConvertBool(const std::byte* in, size_t count, Out* out) {
  for (size_t i = 0; i < count; ++i) out[i] = in[i] == std::byte{0} ? Out{0} : Out{1};
}

template <class Out>
void Convert(Dtype dtype, const std::byte* in, size_t count, Out* out) {
  switch (dtype) {
    case Dtype::kBool:
      return ConvertBool(in, count, out);
    case Dtype::kInt8:
      return ConvertPlain<int8_t>(in, count, out);
    case Dtype::kInt16:
      return ConvertPlain<int16_t>(in, count, out);
    case Dtype::kInt32:
      return ConvertPlain<int32_t>(in, count, out);
    case Dtype::kInt64:
      return ConvertPlain<int64_t>(in, count, out);
    case Dtype::kUint8:
      return ConvertPlain<uint8_t>(in, count, out);
    case Dtype::kUint16:
      return ConvertPlain<uint16_t>(in, count, out);
    case Dtype::kUint32:
      return ConvertPlain<uint32_t>(in, count, out);
    case Dtype::kUint64:
      return ConvertPlain<uint64_t>(in, count, out);
    case Dtype::kFloat16:
      return ConvertHalf(in, count, out);
    case Dtype::kBfloat16:
      return ConvertBfloat16(in, count, out);
    case Dtype::kFloat32:
      return ConvertPlain<float>(in, count, out);
    case Dtype::kFloat64:
      return ConvertPlain<double>(in, count, out);
    case Dtype::kFloat8E4m3fn:
    case Dtype::kFloat8E4m3fnuz:
    case Dtype::kFloat8E5m2:
    case Dtype::kFloat8E5m2fnuz:
    case Dtype::kFloat8E8m0fnu:
      return ConvertFloat8(dtype, in, count, out);
    case Dtype::kComplex32:
      return ConvertHalf(in, count * 2, out);
    case Dtype::kComplex64:
      return ConvertPlain<float>(in, count * 2, out);
    case Dtype::kComplex128:
      return ConvertPlain<double>(in, count * 2, out);
  }
}

}  // namespace

size_t DtypeSize(Dtype dtype) {
  for (const DtypeInfo& info : kDtypes) {
    if (info.dtype == dtype) return info.size;
  }
  CHECK(false, "every dtype is in the table");
  return 0;
}

std::string_view DtypeName(Dtype dtype) {
  for (const DtypeInfo& info : kDtypes) {
    if (info.dtype == dtype) return info.torch_name;
  }
  return "";
}

bool IsComplex(Dtype dtype) {
  return dtype == Dtype::kComplex32 || dtype == Dtype::kComplex64 || dtype == Dtype::kComplex128;
}

bool IsFloatOrNarrower(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
    case Dtype::kBfloat16:
    case Dtype::kFloat32:
    case Dtype::kFloat8E4m3fn:
    case Dtype::kFloat8E4m3fnuz:
    case Dtype::kFloat8E5m2:
    case Dtype::kFloat8E5m2fnuz:
    case Dtype::kFloat8E8m0fnu:
      return true;
    default:
      return false;
  }
}

std::optional<Dtype> DtypeFromTorchName(std::string_view name) {
  // Long forms and aliases that torch itself may write.
  static constexpr std::array<std::pair<std::string_view, Dtype>, 8> kAliases = {{
      {"half", Dtype::kFloat16},
      {"float", Dtype::kFloat32},
      {"double", Dtype::kFloat64},
      {"short", Dtype::kInt16},
      {"int", Dtype::kInt32},
      {"long", Dtype::kInt64},
      {"cfloat", Dtype::kComplex64},
      {"cdouble", Dtype::kComplex128},
  }};
  for (const DtypeInfo& info : kDtypes) {
    if (info.torch_name == name) return info.dtype;
  }
  for (const auto& [alias, dtype] : kAliases) {
    if (alias == name) return dtype;
  }
  return std::nullopt;
}

std::optional<Dtype> DtypeFromStorageName(std::string_view name) {
  for (const DtypeInfo& info : kDtypes) {
    if (!info.storage_name.empty() && info.storage_name == name) return info.dtype;
  }
  return std::nullopt;
}

void ConvertToFloat(Dtype dtype, const std::byte* in, size_t count, float* out) {
  Convert(dtype, in, count, out);
}

void ConvertToDouble(Dtype dtype, const std::byte* in, size_t count, double* out) {
  Convert(dtype, in, count, out);
}

}  // namespace sonde::precision
