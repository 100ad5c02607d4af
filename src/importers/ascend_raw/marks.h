// Marks and ranges that a program set by mstx or msproftx (msproftx records of the host).
//
// A long message is in several records of one number. One thread. Units: ticks of the host until
// they become rows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "importers/ascend_raw/clock.h"
#include "importers/ascend_raw/dictionary.h"
#include "importers/ascend_raw/record_stream.h"

namespace sonde::importers::raw {

struct MarkRecord {
  bool is_extended = false;  // mstx: numbered, in segments, with a domain
  uint16_t segment = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t type = 0;  // 0 marker, 1 push and pop, 2 start and end, 3 marker
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t id = 0;
  uint64_t domain = 0;
  std::string_view message = {};
};
MarkRecord ReadMark(std::string_view record);

class Marks {
 public:
  Marks(TraceRows& rows, const Clock& clock) : rows_(rows), clock_(clock) {}

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);
  // When all are read, and the dictionary is.
  void Build(Dictionary& dictionary);

  // Of a numbered one, when all are built: its text and the slice of a range; null where unknown.
  struct Known {
    int32_t message = store::kNone;
    int32_t slice = store::kNone;
  };
  const Known* Find(uint64_t number) const {
    const auto found = known_.find(number);
    return found == known_.end() ? nullptr : &found->second;
  }

 private:
  struct Mark {
    MarkRecord record = {};  // its message is empty
    std::string message;
  };
  void Add(const Mark& mark, Dictionary& dictionary);

  TraceRows& rows_;
  const Clock& clock_;
  std::vector<Mark> marks_;                             // of one record
  std::map<uint64_t, std::map<uint16_t, Mark>> parts_;  // of several: by number, by segment
  std::map<uint64_t, Known> known_;
};

}  // namespace sonde::importers::raw
