// One set of text deliverables on its way into rows: data shared by its files, and a function for
// each kind of file. The timeline, where there is one, comes first and gives slices; the tables add
// to it, or replace it. Rows that cannot be used are counted. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "importers/ascend/span.h"
#include "importers/ascend_text/place_index.h"
#include "importers/rows/trace_rows.h"
#include "importers/trace_events/dialect.h"
#include "importers/trace_events/stage.h"

namespace sonde::importers::text_import {

struct TextTrace {
  TraceRows& rows;
  bool has_timeline = false;
  bool has_module_counters = false;          // the timeline has the memory of CANN's parts
  int32_t process_id = store::kNone;         // of the framework
  int32_t device_process_id = store::kNone;  // of the device's streams
  int32_t device_id = store::kNone;          // of the streams
  // Tasks and communication operations of the timeline by name and start, not yet matched with a
  // table.
  PlaceIndex tasks{rows.pool()};
  PlaceIndex communications{rows.pool()};
  std::map<int32_t, int32_t> stream_tracks = {};  // by stream
};

// The tracks of the timeline of Ascend's profilers.
class AscendDialect : public trace_events::Dialect {
 public:
  std::vector<trace_events::CapturedKey> captured_keys() const override;
  uint8_t LaneOf(const trace_events::TraceEvent& event) const override;
  const char* FlowKind(std::string_view category) const override;
  trace_events::TrackLabel LabelTrack(const trace_events::ThreadFacts& facts,
                                      uint8_t lane) const override;
  trace_events::TrackLabel LabelCounter(const trace_events::ThreadFacts& facts,
                                        std::string_view name) const override;
};

// Operators, host calls, tasks, communication and steps from the arranged slices.
void RowsOfTimeline(trace_events::EventStage& stage, TextTrace& trace);

// Adds the rows of a CSV file, by its name; nothing for files that are only kept.
void RowsOfCsv(const SpanFile& file, std::string_view text, TextTrace& trace);

// Times and transfers of communication.json.
void RowsOfCommunication(const SpanFile& file, std::string_view json, TextTrace& trace);

// communication_matrix.json gives no rows: only counts a file of another form.
void CheckCommunicationMatrix(const SpanFile& file, std::string_view json,
                              store::ImportIssues& issues);

}  // namespace sonde::importers::text_import
