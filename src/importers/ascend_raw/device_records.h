// Records of a device's own log: STARS and, on older chips, HWTS (begin and end of tasks), the
// firmware's track (flips), and the encoding of stream and task in them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "importers/ascend_raw/host_records.h"

namespace sonde::importers::raw {

inline constexpr RecordForm kStarsForm{64, 2, 0x6BD3};
inline constexpr RecordForm kStarsFormV6{32, 2, 0x6BD3};
inline constexpr RecordForm kHwtsForm{64};
inline constexpr RecordForm kTrackForm{40};

// The layouts of a chip.
struct Chip {
  int64_t id = -1;
  bool is_v6() const { return id == 15 || id == 16; }
  bool is_stars() const { return is_v6() || id == 5 || id == 7 || id == 8 || id == 11; }
  // 310, 910A, 310P: the scheduler before STARS, without FFTS+.
  bool is_hwts() const { return id >= 0 && id <= 4; }
};

// The place of a task: its stream and number as the host knows them.
struct TaskPlace {
  uint16_t stream = 0;
  uint32_t task = 0;
};
TaskPlace DecodePlace(uint16_t stream, uint16_t task, uint32_t queue_type, bool expands_streams);

struct StarsLog {
  uint64_t time = 0;
  TaskPlace place = {};
  uint32_t context = kNoContext;
  uint32_t order = 0;  // of the records, set by the owner
  uint16_t type = 0;   // of the queue, or of the sub-task
  uint8_t counter = 0;
  bool is_begin = false;
  bool is_sub_task = false;
};
// Nothing for other kinds of records.
std::optional<StarsLog> ReadStars(std::string_view record, const Chip& chip, bool expands_streams);

// Of chips with HWTS; nothing for records that are neither begin nor end.
std::optional<StarsLog> ReadHwts(std::string_view record);

struct TaskFlip {
  uint64_t time = 0;
  uint16_t stream = 0;
  uint16_t flip = 0;
  uint16_t task = 0;
};
std::optional<TaskFlip> ReadFlip(std::string_view record);

// A moment of a model or a step that the firmware saw pass on a stream.
struct TrackStep {
  uint64_t time = 0;
  uint64_t index = 0;  // of the step; of a mark its number
  uint64_t model = 0;
  uint32_t task = 0;
  uint16_t stream = 0;
  uint16_t tag = 0;
};
std::optional<TrackStep> ReadTrackStep(std::string_view record, const Chip& chip);

}  // namespace sonde::importers::raw
