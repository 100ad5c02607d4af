// Records of the host: calls and launches of the vendor's library. Pure.
//
// Every record begins with magic 0x5A5A, level, type, thread; times are ticks of the host. A record
// of 40 bytes is a call, or one end of one; of 64 a compact record; of 256 an additional one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "importers/ascend_raw/record_stream.h"

namespace sonde::importers::raw {

inline constexpr RecordForm kApiForm{40, 0, 0x5A5A};
inline constexpr RecordForm kCompactForm{64, 0, 0x5A5A};
inline constexpr RecordForm kAdditionalForm{256, 0, 0x5A5A};

inline constexpr uint32_t kNoContext = 0xFFFFFFFF;

struct Head {
  uint16_t level = 0;
  uint32_t type = 0;
  uint32_t tid = 0;
  uint32_t number = 0;  // of calls: of the request; else its place in the stream, set by the owner
  uint64_t time = 0;
};

// Of a record of any kind.
Head ReadHead(std::string_view record);

struct ApiRecord {
  Head head = {};
  uint64_t end = 0;  // all ones: one end of a call
  uint64_t item = 0;
  bool is_event() const { return end == UINT64_MAX; }
};

struct TaskTrack {
  Head head = {};
  uint16_t device = 0;
  bool is_dpu = false;
  uint16_t stream = 0;
  uint32_t task = 0;  // raw: a flip number in the high half, or a unique number
  uint64_t type = 0;  // of the type dictionary
  uint64_t kernel = 0;
  bool has_blocks = false;
  uint16_t blocks = 0;
  uint32_t mix_blocks = 0;
};

struct NodeBasic {
  Head head = {};
  uint64_t name = 0;
  uint32_t task_type = 0;
  uint64_t op_type = 0;
  uint16_t blocks = 0;
  uint32_t mix_blocks = 0;
  bool is_hf32 = false;
  bool is_dynamic = false;
};

struct Tensor {
  bool is_output = false;
  uint32_t format = 0;
  uint32_t type = 0;
  std::array<uint32_t, 8> shape = {};  // 0 ends it
};

// A record with a list; its bytes, nothing where the length is impossible.
struct ListRecord {
  Head head = {};
  std::string_view bytes = {};
};

struct HcclOp {
  Head head = {};
  uint8_t data_type = 0;
  uint64_t algorithm = 0;
  uint64_t count = 0;
  uint64_t group = 0;
};

struct HcclTask {
  Head head = {};
  uint64_t item = 0;
  uint64_t group = 0;
  uint32_t local_rank = 0;
  uint32_t remote_rank = 0;
  uint32_t rank_size = 0;
  uint32_t plane = 0;
  uint32_t context = 0;
  uint64_t notify = 0;
  uint64_t size = 0;
  uint32_t data_type = 0;
  uint32_t link = 0;
  uint32_t transport = 0;
  int32_t next = -1;  // of the same call, set by the owner
};

struct NodeAttributes {
  Head head = {};
  uint64_t text = 0;
};

struct CopyInfo {
  Head head = {};
  uint64_t size = 0;
  uint64_t largest = 0;
  uint16_t direction = 0;
};

ApiRecord ReadApi(std::string_view record);
TaskTrack ReadTaskTrack(std::string_view record);
NodeBasic ReadNodeBasic(std::string_view record, bool is_dynamic);
std::optional<ListRecord> ReadTensorInfo(std::string_view record);
std::vector<Tensor> ReadTensors(std::string_view bytes);
std::optional<ListRecord> ReadContextIds(std::string_view record);
std::vector<uint32_t> ReadIds(std::string_view bytes);
HcclOp ReadHcclOp(std::string_view record);
HcclTask ReadHcclTask(std::string_view record);
NodeAttributes ReadNodeAttributes(std::string_view record);
CopyInfo ReadCopyInfo(std::string_view record);

}  // namespace sonde::importers::raw
