#include "recipes/communication/naming.h"

#include <array>
#include <utility>

#include "base/strings.h"

namespace sonde::recipes {
namespace {

struct KindName {
  std::string_view key;  // lower case, without underscores
  std::string_view kind;
};
// Longer keys before those that they contain.
constexpr std::array kKinds = {
    KindName{"reducescatter", "reduceScatter"},
    KindName{"allreduce", "allReduce"},
    KindName{"allgather", "allGather"},
    KindName{"alltoallv", "alltoallv"},
    KindName{"alltoall", "alltoall"},
    KindName{"batchsendrecv", "batchSendRecv"},
    KindName{"sendrecv", "batchSendRecv"},  // of which nothing says what it carries out
    KindName{"coalesced", "batchSendRecv"},
    KindName{"broadcast", "broadcast"},
    KindName{"barrier", "barrier"},
    KindName{"scatter", "scatter"},
    KindName{"gather", "gather"},
    KindName{"reduce", "reduce"},
    KindName{"receive", "receive"},
    KindName{"recv", "receive"},
    KindName{"send", "send"},
};

struct TypeName {
  std::string_view torch;  // lower case
  std::string_view hccl;
};
constexpr std::array kTypes = {
    TypeName{"int8", "INT8"},           TypeName{"char", "INT8"},
    TypeName{"int16", "INT16"},         TypeName{"short", "INT16"},
    TypeName{"int32", "INT32"},         TypeName{"int", "INT32"},
    TypeName{"float16", "FP16"},        TypeName{"half", "FP16"},
    TypeName{"float32", "FP32"},        TypeName{"float", "FP32"},
    TypeName{"int64", "INT64"},         TypeName{"long", "INT64"},
    TypeName{"uint64", "UINT64"},       TypeName{"uint8", "UINT8"},
    TypeName{"byte", "UINT8"},          TypeName{"bool", "UINT8"},
    TypeName{"uint16", "UINT16"},       TypeName{"uint32", "UINT32"},
    TypeName{"float64", "FP64"},        TypeName{"double", "FP64"},
    TypeName{"bfloat16", "BFP16"},      TypeName{"float8_e4m3fn", "FP8E4M3"},
    TypeName{"float8_e5m2", "FP8E5M2"},
};

}  // namespace

uint64_t GroupHash(std::string_view communicator) {
  uint32_t high = 0;
  uint32_t low = 0;
  for (const char c : communicator) {
    high = high * 29U + static_cast<unsigned char>(c);
    low = low * 131U + static_cast<unsigned char>(c);
  }
  return (uint64_t{high} << 32U) | low;
}

std::string_view HcomKind(std::string_view op_type) {
  if (const size_t colon = op_type.rfind(':'); colon != std::string_view::npos) {
    op_type.remove_prefix(colon + 1);
  }
  const std::string key = base::ReplaceAll(base::ToLower(op_type), "_", "");
  for (const KindName& kind : kKinds) {
    if (key.find(kind.key) != std::string::npos) return kind.kind;
  }
  return op_type;
}

std::string HcomType(std::string_view op_type) {
  return base::Concat("hcom_", HcomKind(op_type), "_");
}

std::string HcomName(std::string_view op_type, uint64_t group_hash, uint64_t number_in_group) {
  std::string digits = std::to_string(group_hash % 1000);
  digits.insert(0, 3 - digits.size(), '0');
  return base::Concat(HcomType(op_type), "_", digits, "_", std::to_string(number_in_group), "_1");
}

bool IsPointToPoint(std::string_view hcom_name) {
  const std::string name = base::ToLower(hcom_name);
  return name.starts_with("hcom_send") || name.starts_with("hcom_receive") ||
         name.starts_with("hcom_batchsendrecv");
}

std::string_view HcclDataType(std::string_view type) {
  if (const size_t colon = type.rfind(':'); colon != std::string_view::npos) {
    type.remove_prefix(colon + 1);
  }
  const std::string key = base::ToLower(type);
  for (const TypeName& known : kTypes) {
    if (known.torch == key || known.hccl == type) return known.hccl;
  }
  return "INVALID_TYPE";
}

}  // namespace sonde::recipes
