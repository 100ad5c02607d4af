#include "importers/ascend_raw/marks.h"

#include <utility>

#include "base/strings.h"
#include "importers/ascend_raw/host_records.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/record_stream.h"

namespace sonde::importers::raw {
namespace {

enum MarkType : uint8_t { kMarker, kPushPop, kStartEnd, kMarkerToo };

}  // namespace

MarkRecord ReadMark(std::string_view record) {
  constexpr size_t kMessage = 76;
  constexpr size_t kMessageBytes = 156;
  const std::string_view data = record.substr(kRecordData);
  MarkRecord mark;
  mark.is_extended = At<uint16_t>(data, 0) == 1;
  mark.segment = At<uint16_t>(data, 2);
  mark.pid = At<uint32_t>(data, 12);
  mark.tid = At<uint32_t>(data, 16);
  mark.type = At<uint32_t>(data, 24);
  mark.begin = At<uint64_t>(data, 40);
  mark.end = At<uint64_t>(data, 48);
  mark.id = At<uint64_t>(data, 56);
  mark.domain = At<uint64_t>(data, 64);
  mark.message = data.substr(kMessage, kMessageBytes);
  mark.message = mark.message.substr(0, mark.message.find('\0'));
  return mark;
}

bool Marks::Read(const Stream& stream) {
  if (!stream.name.ends_with("aging.additional.msproftx")) return false;
  ReadRecords(stream, kAdditionalForm, rows_.issues, [this, &stream](std::string_view record) {
    MarkRecord mark = ReadMark(record);
    if (mark.type > kMarkerToo) return rows_.issues.Add(kBadRecord, stream.name);
    std::string message(std::exchange(mark.message, {}));
    if (mark.is_extended) {
      parts_[mark.id].try_emplace(mark.segment, Mark{mark, std::move(message)});
    } else {
      marks_.push_back({mark, std::move(message)});
    }
  });
  return true;
}

void Marks::Build(Dictionary& dictionary) {
  for (const Mark& mark : marks_) Add(mark, dictionary);
  for (auto& [id, segments] : parts_) {
    Mark whole = std::move(segments.begin()->second);
    for (auto next = std::next(segments.begin()); next != segments.end(); ++next) {
      whole.message += next->second.message;
    }
    Add(whole, dictionary);
  }
}

void Marks::Add(const Mark& mark, Dictionary& dictionary) {
  const MarkRecord& record = mark.record;
  const int32_t process = rows_.Process(record.pid);
  const int32_t thread = rows_.Thread(process, record.tid);
  const bool is_range = record.type == kPushPop || record.type == kStartEnd;
  store::MarkRow row;
  row.ts = clock_.FromTicks(record.begin);
  const std::string name = base::Concat("Thread ", std::to_string(record.tid));
  row.track_id = rows_.Track({.kind = capture::TrackKind::kMark,
                              .name = name,
                              .process_id = process,
                              .thread_id = thread});
  row.domain = record.domain == 0 ? rows_.names.Intern("default") : dictionary.Text(record.domain);
  row.message = rows_.names.Intern(mark.message);
  row.kind = rows_.names.Intern(!is_range                 ? "marker"
                                : record.type == kPushPop ? "push_pop"
                                                          : "start_end");
  if (is_range) {
    row.slice_id =
        rows_.AddSlice(row.track_id, row.ts, SpanNs(row.ts, clock_.FromTicks(record.end)),
                       row.message, rows_.names.Intern("range"));
    row.dur = rows_.slices.back().dur;
  }
  rows_.marks.push_back(row);
  if (record.is_extended) known_[record.id] = {row.message, row.slice_id};
}

}  // namespace sonde::importers::raw
