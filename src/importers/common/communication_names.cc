#include "importers/common/communication_names.h"

#include <array>
#include <utility>

#include "base/strings.h"

namespace sonde::importers::common {
namespace {

// Spelling of types in the names of communication ops.
std::string_view CamelType(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kCamel = {{
      {"allreduce", "allReduce"},
      {"allgather", "allGather"},
      {"reducescatter", "reduceScatter"},
      {"batchsendrecv", "batchSendRecv"},
  }};
  for (const auto& [plain, camel] : kCamel) {
    if (type == plain) return camel;
  }
  return type;
}

}  // namespace

uint64_t GroupHash(std::string_view name) {
  uint32_t low = 0;
  uint32_t high = 0;
  for (const char c : name) {
    const auto byte = static_cast<uint8_t>(c);
    high = high * 29 + byte;
    low = low * 131 + byte;
  }
  return (uint64_t{high} << 32U) | low;
}

std::string NormalCollective(std::string_view name) {
  name = name.substr(name.rfind(':') == std::string_view::npos ? 0 : name.rfind(':') + 1);
  std::string type;
  for (const char c : base::ToLower(name)) {
    if (c != '_') type += c;
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kAliases = {{
      {"allgatherbase", "allgather"},
      {"allgatherintotensorcoalesced", "allgather"},
      {"allgathercoalesced", "allgather"},
      {"reducescatterbase", "reducescatter"},
      {"reducescattertensorcoalesced", "reducescatter"},
      {"allreducecoalesced", "allreduce"},
      {"alltoallbase", "alltoall"},
      {"alltoallsingle", "alltoall"},
  }};
  for (const auto& [alias, plain] : kAliases) {
    if (type == alias) return std::string(plain);
  }
  if (type == "recv" || type == "recvanysource") return "receive";
  return type;
}

std::string CollectiveName(const std::string& type, uint64_t group_hash, int64_t index) {
  return base::Concat("hcom_", CamelType(type), "__", std::to_string(group_hash % 1000), "_",
                      std::to_string(index), "_1");
}

bool IsPointToPoint(std::string_view type) {
  return type == "send" || type == "receive" || type == "batchsendrecv" || type == "sendrecv" ||
         type == "coalesced";
}

}  // namespace sonde::importers::common
