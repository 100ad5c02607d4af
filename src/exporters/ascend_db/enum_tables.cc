#include "exporters/ascend_db/enum_tables.h"

#include <array>
#include <span>
#include <string>

namespace sonde::exporters {
namespace {

struct Code {
  int64_t id;
  std::string_view name;
};

constexpr int64_t kInvalid = 65535;

constexpr std::array kApiTypes = std::to_array<Code>({{5000, "runtime"},
                                                      {5500, "communication"},
                                                      {10000, "node"},
                                                      {15000, "model"},
                                                      {20000, "acl"},
                                                      {50001, "op"},
                                                      {50002, "queue"},
                                                      {50003, "trace"},
                                                      {50004, "mstx"}});
constexpr std::array kDataTypes = std::to_array<Code>(
    {{0, "INT8"},     {1, "INT16"},      {2, "INT32"},    {3, "FP16"},
     {4, "FP32"},     {5, "INT64"},      {6, "UINT64"},   {7, "UINT8"},
     {8, "UINT16"},   {9, "UINT32"},     {10, "FP64"},    {11, "BFP16"},
     {12, "INT128"},  {14, "HIF8"},      {15, "FP8E4M3"}, {16, "FP8E5M2"},
     {17, "FP8E8M0"}, {255, "RESERVED"}, {65534, "N/A"},  {kInvalid, "INVALID_TYPE"}});
constexpr std::array kLinkTypes = std::to_array<Code>({{0, "ON_CHIP"},
                                                       {1, "HCCS"},
                                                       {2, "PCIE"},
                                                       {3, "ROCE"},
                                                       {4, "SIO"},
                                                       {5, "HCCS_SW"},
                                                       {6, "STANDARD_ROCE"},
                                                       {7, "UB"},
                                                       {8, "UBoE"},
                                                       {255, "RESERVED"},
                                                       {65534, "N/A"},
                                                       {kInvalid, "INVALID_TYPE"}});
constexpr std::array kTransportTypes = std::to_array<Code>({{0, "SDMA"},
                                                            {1, "RDMA"},
                                                            {2, "LOCAL"},
                                                            {3, "UB"},
                                                            {4, "ROCE"},
                                                            {255, "RESERVED"},
                                                            {65534, "N/A"},
                                                            {kInvalid, "INVALID_TYPE"}});
constexpr std::array kRdmaTypes = std::to_array<Code>({{0, "RDMA_SEND_NOTIFY"},
                                                       {1, "RDMA_SEND_PAYLOAD"},
                                                       {255, "RESERVED"},
                                                       {65534, "N/A"},
                                                       {kInvalid, "INVALID_TYPE"}});
constexpr std::array kMstxTypes =
    std::to_array<Code>({{0, "marker"}, {1, "push/pop"}, {2, "start/end"}, {3, "marker_ex"}});
constexpr std::array kMemcpyOperations = std::to_array<Code>({{0, "host to host"},
                                                              {1, "host to device"},
                                                              {2, "device to host"},
                                                              {3, "device to device"},
                                                              {4, "managed memory"},
                                                              {5, "addr device to device"},
                                                              {6, "host to device ex"},
                                                              {7, "device to host ex"},
                                                              {kInvalid, "other"}});
constexpr std::array kOverlapTypes = std::to_array<Code>({{0, "COMPUTE"},
                                                          {1, "COMMUNICATION"},
                                                          {2, "COMM_NOT_OVERLAP_COMP"},
                                                          {3, "FREE"},
                                                          {kInvalid, "RESERVE"}});

struct EnumTable {
  std::string_view name;
  std::span<const Code> codes;
};
constexpr std::array kTables = std::to_array<EnumTable>({
    {"ENUM_API_TYPE", kApiTypes},
    {"ENUM_HCCL_DATA_TYPE", kDataTypes},
    {"ENUM_HCCL_LINK_TYPE", kLinkTypes},
    {"ENUM_HCCL_TRANSPORT_TYPE", kTransportTypes},
    {"ENUM_HCCL_RDMA_TYPE", kRdmaTypes},
    {"ENUM_MSTX_EVENT_TYPE", kMstxTypes},
    {"ENUM_MEMCPY_OPERATION", kMemcpyOperations},
    {"ENUM_OVERLAP_ANALYSIS_TYPE", kOverlapTypes},
});

int64_t CodeOf(std::span<const Code> codes, std::string_view name) {
  for (const Code& code : codes) {
    if (code.name == name) return code.id;
  }
  return kInvalid;
}

}  // namespace

Status WriteEnumTables(report::SqliteFile& file) {
  for (const EnumTable& table : kTables) {
    SONDE_ASSIGN_OR_RETURN(
        report::SqliteTable rows,
        report::SqliteTable::Create(file, table.name, "id INTEGER PRIMARY KEY,name TEXT"));
    for (const Code& code : table.codes) rows.Int(code.id).Text(code.name).End();
    SONDE_RETURN_IF_ERROR(rows.Close());
  }
  return {};
}

int64_t HcclDataTypeCode(std::string_view name) { return CodeOf(kDataTypes, name); }

int64_t HcclTransportCode(std::string_view name) { return CodeOf(kTransportTypes, name); }

int64_t HcclLinkCode(std::string_view name) { return CodeOf(kLinkTypes, name); }

int64_t MstxEventCode(std::string_view kind) {
  if (kind == "push_pop") return 1;
  return kind == "start_end" ? 2 : 0;
}

}  // namespace sonde::exporters
