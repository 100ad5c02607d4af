#include "importers/ascend_raw/device_records.h"

namespace sonde::importers::raw {
namespace {

constexpr uint32_t kStreams = 2048;

}  // namespace

TaskPlace DecodePlace(uint16_t stream, uint16_t task, uint32_t queue_type, bool expands_streams) {
  constexpr uint32_t kPlaceHolder = 3;
  constexpr uint32_t kEventRecord = 4;
  const uint32_t s = stream;
  const uint32_t t = task;
  if (expands_streams) {
    const bool is_plain = queue_type == kPlaceHolder || queue_type == kEventRecord;
    if (!is_plain && (s & 0x8000U) != 0) {
      return {static_cast<uint16_t>(t & 0x7FFFU), (t & 0x8000U) | (s & 0x7FFFU)};
    }
    return {static_cast<uint16_t>(s & 0x7FFFU), t};
  }
  if ((s & 0x1000U) != 0) {
    return {static_cast<uint16_t>(s % kStreams), (t & 0x1FFFU) | (s & 0xE000U)};
  }
  if ((s & 0x2000U) != 0) {
    return {static_cast<uint16_t>((t & 0x0FFFU) % kStreams), (s & 0x0FFFU) | (t & 0xF000U)};
  }
  return {static_cast<uint16_t>(s % kStreams), t};
}

std::optional<StarsLog> ReadStars(std::string_view record, const Chip& chip, bool expands_streams) {
  enum : uint8_t { kBegin = 0, kEnd = 1, kSubBegin = 0b100010, kSubEnd = 0b100011 };
  const auto header = At<uint16_t>(record, 0);
  const auto function = static_cast<uint8_t>(header & 0x3FU);
  const bool is_sub = function == kSubBegin || function == kSubEnd;
  if (function != kBegin && function != kEnd && !is_sub) return std::nullopt;
  StarsLog log;
  log.counter = static_cast<uint8_t>(header >> 6U & 0xFU);
  log.type = static_cast<uint16_t>(header >> 10U);
  log.is_begin = function == kBegin || function == kSubBegin;
  log.time = At<uint64_t>(record, 8);
  if (chip.is_v6()) {
    if (is_sub) return std::nullopt;
    log.place.task = At<uint32_t>(record, 4);
    return log;
  }
  log.place =
      DecodePlace(At<uint16_t>(record, 4), At<uint16_t>(record, 6), log.type, expands_streams);
  if (is_sub) {
    log.is_sub_task = true;
    log.type = At<uint8_t>(record, 16);
    log.context = At<uint16_t>(record, 18);
  }
  return log;
}

std::optional<StarsLog> ReadHwts(std::string_view record) {
  enum : uint8_t { kBegin = 0, kEnd = 1 };
  const auto header = At<uint8_t>(record, 0);
  const auto kind = static_cast<uint8_t>(header & 7U);
  if (kind != kBegin && kind != kEnd) return std::nullopt;
  StarsLog log;
  log.counter = static_cast<uint8_t>(header >> 4U);
  log.is_begin = kind == kBegin;
  log.type = At<uint8_t>(record, 1);
  log.time = At<uint64_t>(record, 8);
  log.place = {static_cast<uint16_t>(At<uint32_t>(record, 16) % kStreams), At<uint16_t>(record, 6)};
  return log;
}

std::optional<TaskFlip> ReadFlip(std::string_view record) {
  constexpr uint8_t kFlip = 0x0E;
  if (At<uint8_t>(record, 1) != kFlip) return std::nullopt;
  return TaskFlip{.time = At<uint64_t>(record, 8),
                  .stream = static_cast<uint16_t>(At<uint16_t>(record, 16) & 0x7FFU),
                  .flip = At<uint16_t>(record, 18),
                  .task = At<uint16_t>(record, 22)};
}

std::optional<TrackStep> ReadTrackStep(std::string_view record, const Chip& chip) {
  constexpr uint8_t kStep = 0x0A;
  if (At<uint8_t>(record, 1) != kStep) return std::nullopt;
  TrackStep step{.time = At<uint64_t>(record, 8),
                 .index = At<uint64_t>(record, 16),
                 .model = At<uint64_t>(record, 24)};
  if (chip.is_v6()) {
    step.tag = At<uint16_t>(record, 32);
    step.stream = At<uint16_t>(record, 34);
    step.task = At<uint32_t>(record, 36);
    return step;
  }
  step.stream = At<uint16_t>(record, 32) & 0x7FFU;
  step.task = At<uint16_t>(record, 34);
  step.tag = At<uint16_t>(record, 36);
  return step;
}

}  // namespace sonde::importers::raw
