#include "importers/ascend_raw/host_records.h"

#include "importers/ascend_raw/record_stream.h"

namespace sonde::importers::raw {
namespace {

constexpr size_t kTensorSize = 44;

// A number and so many items behind the name.
std::optional<ListRecord> ReadList(std::string_view record, uint32_t most, size_t item_size) {
  const std::string_view data = record.substr(kRecordData);
  const auto count = At<uint32_t>(data, 8);
  if (count > most) return std::nullopt;
  return ListRecord{ReadHead(record), data.substr(12, count * item_size)};
}

}  // namespace

Head ReadHead(std::string_view record) {
  return {.level = At<uint16_t>(record, 2),
          .type = At<uint32_t>(record, 4),
          .tid = At<uint32_t>(record, 8),
          .number = At<uint32_t>(record, 12),
          .time = At<uint64_t>(record, 16)};
}

ApiRecord ReadApi(std::string_view record) {
  return {
      .head = ReadHead(record), .end = At<uint64_t>(record, 24), .item = At<uint64_t>(record, 32)};
}

TaskTrack ReadTaskTrack(std::string_view record) {
  constexpr uint32_t kWithBlocks = 40;
  TaskTrack track;
  track.head = ReadHead(record);
  const std::string_view data = record.substr(kRecordData);
  const auto device = At<uint16_t>(data, 0);
  track.device = device & 0xFFFU;
  track.is_dpu = device >> 12U == 1;
  track.stream = At<uint16_t>(data, 2);
  track.task = At<uint32_t>(data, 4);
  track.type = At<uint64_t>(data, 8);
  track.kernel = At<uint64_t>(data, 16);
  track.has_blocks = track.head.number == kWithBlocks;
  track.blocks = At<uint16_t>(data, 24);
  track.mix_blocks = track.blocks * (At<uint8_t>(data, 28) & 7U);
  return track;
}

NodeBasic ReadNodeBasic(std::string_view record, bool is_dynamic) {
  const std::string_view data = record.substr(kRecordData);
  const auto blocks = At<uint32_t>(data, 20);
  return {.head = ReadHead(record),
          .name = At<uint64_t>(data, 0),
          .task_type = At<uint32_t>(data, 8),
          .op_type = At<uint64_t>(data, 12),
          .blocks = static_cast<uint16_t>(blocks),
          .mix_blocks = (blocks & 0xFFFFU) * (blocks >> 16U),
          .is_hf32 = At<uint32_t>(data, 24) != 0,
          .is_dynamic = is_dynamic};
}

std::optional<ListRecord> ReadTensorInfo(std::string_view record) {
  constexpr uint32_t kMost = 5;
  return ReadList(record, kMost, kTensorSize);
}

std::vector<Tensor> ReadTensors(std::string_view bytes) {
  std::vector<Tensor> tensors;
  for (; bytes.size() >= kTensorSize; bytes.remove_prefix(kTensorSize)) {
    tensors.push_back({.is_output = At<uint32_t>(bytes, 0) == 1,
                       .format = At<uint32_t>(bytes, 4),
                       .type = At<uint32_t>(bytes, 8),
                       .shape = At<std::array<uint32_t, 8>>(bytes, 12)});
  }
  return tensors;
}

std::optional<ListRecord> ReadContextIds(std::string_view record) {
  constexpr uint32_t kMost = 55;
  return ReadList(record, kMost, sizeof(uint32_t));
}

std::vector<uint32_t> ReadIds(std::string_view bytes) {
  std::vector<uint32_t> ids;
  for (size_t at = 0; at + sizeof(uint32_t) <= bytes.size(); at += sizeof(uint32_t)) {
    ids.push_back(At<uint32_t>(bytes, at));
  }
  return ids;
}

HcclOp ReadHcclOp(std::string_view record) {
  const std::string_view data = record.substr(kRecordData);
  return {.head = ReadHead(record),
          .data_type = At<uint8_t>(data, 1),
          .algorithm = At<uint64_t>(data, 2),
          .count = At<uint64_t>(data, 10),
          .group = At<uint64_t>(data, 18)};
}

HcclTask ReadHcclTask(std::string_view record) {
  const std::string_view data = record.substr(kRecordData);
  return {.head = ReadHead(record),
          .item = At<uint64_t>(data, 0),
          .group = At<uint64_t>(data, 16),
          .local_rank = At<uint32_t>(data, 24),
          .remote_rank = At<uint32_t>(data, 28),
          .rank_size = At<uint32_t>(data, 32),
          .plane = At<uint32_t>(data, 40),
          .context = At<uint32_t>(data, 44),
          .notify = At<uint64_t>(data, 48),
          .size = At<uint64_t>(data, 88),
          .data_type = At<uint32_t>(data, 100),
          .link = At<uint32_t>(data, 104),
          .transport = At<uint32_t>(data, 108)};
}

NodeAttributes ReadNodeAttributes(std::string_view record) {
  return {.head = ReadHead(record), .text = At<uint64_t>(record, kRecordData + 12)};
}

CopyInfo ReadCopyInfo(std::string_view record) {
  const std::string_view data = record.substr(kRecordData);
  return {.head = ReadHead(record),
          .size = At<uint64_t>(data, 0),
          .largest = At<uint64_t>(data, 8),
          .direction = At<uint16_t>(data, 16)};
}

}  // namespace sonde::importers::raw
