#include "importers/ascend_raw/captured.h"

#include <algorithm>

#include "base/strings.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/record_stream.h"

namespace sonde::importers::raw {
namespace {

constexpr size_t kTensors = 64;  // begin of the tensors in the data
constexpr size_t kTensorSize = 44;
constexpr uint16_t kMark = 0x5A5A;

}  // namespace

bool CapturedGraphs::Read(const Stream& stream) {
  if (stream.name.ends_with("aging.compact.capture_stream_info")) {
    ReadRecords(stream, kCompactForm, issues_, [this](std::string_view record) {
      const std::string_view data = record.substr(kRecordData);
      records_.push_back({.time = At<uint64_t>(record, 16),
                          .is_end = At<uint16_t>(data, 0) == 1,
                          .stream = At<uint16_t>(data, 2),
                          .original = At<uint16_t>(data, 4),
                          .model = At<uint16_t>(data, 6),
                          .device = At<uint16_t>(data, 8)});
    });
    return true;
  }
  if (stream.name.ends_with("aging.additional.capture_op_info")) {
    ReadRecords(stream, kAdditionalForm, issues_, [this](std::string_view record) {
      TakeOperator(record.substr(kRecordData), /*with_tensors=*/true);
    });
    return true;
  }
  if (stream.name != "unaging.variable.capture_op_info") return false;
  ReadOperators(stream);
  return true;
}

// Each record contains its length.
void CapturedGraphs::ReadOperators(const Stream& stream) {
  const std::string text = ReadTexts(stream, issues_);
  std::string_view rest = text;
  while (!rest.empty()) {
    if (rest.size() < kRecordData + kTensors || At<uint16_t>(rest, 0) != kMark) {
      return issues_.Add(rest.size() < kRecordData + kTensors ? kPartOfRecord : kBadRecord,
                         stream.name, static_cast<int64_t>(text.size() - rest.size()));
    }
    const size_t length = At<uint32_t>(rest, 12);
    const std::string_view data = rest.substr(kRecordData, std::max(length, kTensors));
    const size_t needed = kTensors + size_t{At<uint32_t>(data, 60)} * kTensorSize;
    TakeOperator(data, needed >= length && needed <= data.size());
    if (length < kTensors || kRecordData + length > rest.size()) {
      return issues_.Add(kCutOff, stream.name, static_cast<int64_t>(text.size() - rest.size()));
    }
    rest.remove_prefix(kRecordData + length);
  }
}

void CapturedGraphs::TakeOperator(std::string_view data, bool with_tensors) {
  const auto blocks = At<uint32_t>(data, 20);
  CapturedOperator op{.name = At<uint64_t>(data, 24),
                      .op_type = At<uint64_t>(data, 32),
                      .attributes = At<uint64_t>(data, 40),
                      .task_type = At<uint32_t>(data, 16),
                      .model = At<uint32_t>(data, 0),
                      .blocks = static_cast<uint16_t>(blocks),
                      .mix_blocks = (blocks & 0xFFFFU) * (blocks >> 16U),
                      .is_hf32 = At<uint32_t>(data, 56) != 0,
                      .tensors = {}};
  const size_t bytes = size_t{At<uint32_t>(data, 60)} * kTensorSize;
  if (with_tensors && kTensors + bytes <= data.size()) op.tensors = data.substr(kTensors, bytes);
  operators_.insert_or_assign(
      {At<uint32_t>(data, 4), At<uint32_t>(data, 8), At<uint32_t>(data, 12)}, std::move(op));
}

// The n-th capture of a stream is that of its n-th round of numbers. A graph ends at its first end
// record.
void CapturedGraphs::Build() {
  std::sort(records_.begin(), records_.end());
  records_.erase(std::unique(records_.begin(), records_.end()), records_.end());
  std::map<std::pair<uint16_t, uint16_t>, uint64_t> ends;  // by device and graph
  for (const StreamRecord& record : records_) {
    if (record.is_end) ends.try_emplace({record.device, record.model}, record.time);
  }
  for (const StreamRecord& record : records_) {
    if (record.is_end) continue;
    const auto end = ends.find({record.device, record.model});
    lives_[{record.device, record.stream}].push_back(
        {record.time, end == ends.end() ? UINT64_MAX : end->second, record.model});
  }
  records_.clear();
}

const CapturedOperator* CapturedGraphs::OperatorOf(uint16_t device, uint16_t stream,
                                                   uint32_t task) const {
  const auto found = operators_.find({device, stream, task});
  return found == operators_.end() ? nullptr : &found->second;
}

std::optional<int64_t> CapturedGraphs::ModelOf(uint16_t device, uint16_t stream, uint32_t batch,
                                               uint64_t time) const {
  const auto found = lives_.find({device, stream});
  if (found == lives_.end() || batch >= found->second.size()) return std::nullopt;
  const Life& life = found->second[batch];
  if (time < life.begin || time > life.end) return std::nullopt;
  return life.model;
}

}  // namespace sonde::importers::raw
