// The constant tables of a profiler database that name its codes (ENUM_*).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "report/sqlite_file.h"

namespace sonde::exporters {

Status WriteEnumTables(report::SqliteFile& file);

// Codes of those tables that we write.
enum class ApiType : int64_t {
  kRuntime = 5000,
  kCommunication = 5500,
  kNode = 10000,
  kModel = 15000,
  kAcl = 20000,
  kOp = 50001,
  kQueue = 50002,
  kTrace = 50003,
  kMstx = 50004
};
enum class OverlapType : int64_t {
  kComputing = 0,
  kCommunication = 1,
  kNotOverlapped = 2,
  kFree = 3
};

// Code of ENUM_HCCL_DATA_TYPE for "FP32" and so on; 65535 for others.
int64_t HcclDataTypeCode(std::string_view name);
// Code of ENUM_HCCL_TRANSPORT_TYPE; 65535 for others.
int64_t HcclTransportCode(std::string_view name);
// Code of ENUM_HCCL_LINK_TYPE; 65535 for others.
int64_t HcclLinkCode(std::string_view name);
// Code of ENUM_MSTX_EVENT_TYPE for a mark's kind in the store (marker, push_pop, start_end).
int64_t MstxEventCode(std::string_view kind);

}  // namespace sonde::exporters
