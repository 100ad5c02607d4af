// Arguments of events: sets of key and value, split into the typed tables as they come.
//
// A known set gets the same id (by a hash of 128 bits of its text); where sets hardly repeat, the
// search stops for a while. Common parts of different sets are kept once (common_parts.h). Rows go
// to the database at once, so memory does not grow with them. One thread each; all of an import
// share the numbers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "importers/trace_events/captured_arguments.h"
#include "importers/trace_events/common_parts.h"
#include "importers/trace_events/dialect.h"
#include "importers/trace_events/event_blocks.h"
#include "importers/trace_events/members.h"
#include "importers/trace_events/plain_number.h"
#include "importers/trace_events/shape_tree.h"
#include "importers/trace_events/shared_names.h"
#include "store/rows.h"
#include "store/table_writer.h"

namespace sonde::importers::trace_events {

// The key of a value.
struct MemberFacts {
  int32_t key = -1;  // name id
  int8_t slot = -1;  // among the captured
  int32_t place = CommonParts::kNoPlace;
};
using MemberShapes = ShapeTree<MemberFacts, true>;

// The next numbers of an import.
struct ArgumentNumbers {
  std::atomic<int32_t> set = 0;
  std::atomic<int32_t> part = CommonParts::kFirstId;
};

class ArgumentSplitter {
 public:
  struct Ids {
    int32_t args_id = store::kNone;
    int32_t captured = -1;  // in captured()
  };

  // `numbers` are those of all splitters of an import.
  ArgumentSplitter(const std::vector<CapturedKey>& keys, NameCache& names, ArgumentNumbers& numbers,
                   BlockArena* arena);

  // Without it nothing is stored; captured values are kept all the same.
  Status Open(store::Transaction& transaction);
  // `object` is JSON text from '{' to '}'.
  Ids Take(std::string_view object, bool store);
  Status Close();

  const CapturedArguments& captured() const { return captured_; }
  int64_t bad_sets() const { return bad_sets_; }

 private:
  struct Known {
    uint64_t hash = 0;
    uint64_t check = 0;
    Ids ids;
    bool used = false;
  };

  int32_t NextId();
  bool Split(std::string_view object, int32_t args_id);
  const MemberShapes::Edge* LearnEdge(uint32_t node, const char* p, const char* end);
  bool TakePlainNumber(int32_t args_id, const MemberShapes::Edge& edge, const char* p,
                       const PlainNumber& number);
  void TakeMember(int32_t args_id, const MemberShapes::Edge& edge, std::string_view json,
                  const JsonValue& value);
  void EndSet(int32_t args_id, int32_t last_place);
  void Store(int32_t args_id, const ArgumentValue& value);
  // The text's id, kNone of a number.
  int32_t Capture(int8_t slot, const JsonValue& value);
  void CaptureKept(int8_t slot, const ArgumentValue& value);
  int32_t InternText(const JsonValue& value);
  Known* Find(uint64_t hash, uint64_t check);
  void Grow();

  std::vector<std::pair<std::string_view, bool>> captured_keys_;  // key, whether text
  NameCache& names_;
  std::atomic<int32_t>& next_id_;
  CommonParts parts_;
  int32_t id_ = 0;
  int32_t id_end_ = 0;
  std::vector<Known> known_;
  size_t known_count_ = 0;
  int32_t looks_ = 0;
  int32_t hits_ = 0;
  int32_t bypass_ = 0;  // number of next sets without a search
  int32_t next_bypass_;
  MemberShapes shapes_;
  uint32_t mask_ = 0;
  std::array<int64_t, kMaxCapturedKeys> values_ = {};
  CapturedArguments captured_;
  std::optional<store::TableWriter<store::ArgsIntRow>> ints_;
  std::optional<store::TableWriter<store::ArgsDoubleRow>> doubles_;
  std::optional<store::TableWriter<store::ArgsTextRow>> texts_;
  std::optional<store::TableWriter<store::ArgsSharedRow>> shared_;
  int64_t bad_sets_ = 0;
};

}  // namespace sonde::importers::trace_events
