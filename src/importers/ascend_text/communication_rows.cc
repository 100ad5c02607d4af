// communication.json: times of operations, and transfers where no timeline has them; the shape of
// communication_matrix.json, which is only kept.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/host/json.h"
#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend/groups.h"
#include "importers/ascend_text/issues.h"
#include "importers/ascend_text/text_trace.h"
#include "importers/trace_events/members.h"

namespace sonde::importers::text_import {
namespace {

using base::Concat;
using base::JsonValue;

// Milliseconds, or microseconds with `exponent` "", as nanoseconds; -1 unknown. Numbers come as
// doubles, whose shortest text is that of the file.
int64_t Ns(const JsonValue& value, std::string_view exponent) {
  const auto number = value.AsDouble();
  if (!number.ok()) return -1;
  std::string text = base::PythonDoubleText(*number);
  if (const size_t e = text.find('e'); e != std::string::npos && !exponent.empty()) {
    const auto power = base::ParseInt64(text.substr(e + 1));
    text = Concat(text.substr(0, e), "e", std::to_string(power.value_or(0) + 3));
  } else {
    text += exponent;
  }
  return std::max<int64_t>(base::ParseMicrosecondsToNs(text).value_or(-1), -1);
}
int64_t MsToNs(const JsonValue& value) { return Ns(value, "e3"); }

class CommunicationRows {
 public:
  CommunicationRows(const std::string& file, TextTrace& trace)
      : file_(file), trace_(trace), rows_(trace.rows), device_(trace.rows) {
    for (size_t i = 0; i < rows_.communications.size(); ++i) {
      by_name_[rows_.communications[i].name].push_back(static_cast<int32_t>(i));
    }
    for (const store::CommunicationTransitRow& row : rows_.transits) {
      has_transits_.insert_or_assign(row.communication_id, true);
    }
  }

  // Operations of one kind in one step; the device's own tool has neither.
  void Run(const JsonValue& root) {
    for (const auto& [step, kinds] : root.Members()) {
      if (kinds["Communication Time Info"].IsObject()) {
        Take("", step, kinds);
        continue;
      }
      if (!kinds.IsObject()) OtherShape();
      for (const auto& [kind, operations] : kinds.Members()) {
        if (!operations.IsObject()) OtherShape();
        for (const auto& [key, parts] : operations.Members()) Take(step, key, parts);
      }
    }
  }

 private:
  void OtherShape() { rows_.issues.Add(kJsonShape, file_); }

  void Take(std::string_view step, std::string_view key, const JsonValue& parts) {
    const size_t at = key.rfind('@');
    if (at == std::string_view::npos && key.starts_with("Total")) return;  // of all
    if (at == std::string_view::npos || !parts.IsObject()) return OtherShape();
    const auto hash = base::ParseUint64(key.substr(at + 1));
    const JsonValue times = parts["Communication Time Info"];
    const int64_t start = Ns(times["Start Timestamp(us)"], "");
    const int32_t name = rows_.names.Intern(key.substr(0, at));
    const int32_t index = FindOrAdd(name, start, times, step);
    if (index < 0) return;
    store::CommunicationOpRow& op = rows_.communications[static_cast<size_t>(index)];
    if (hash) SetGroup(op, static_cast<int64_t>(*hash));
    op.transit_ns = MsToNs(times["Transit Time(ms)"]);
    op.wait_ns = MsToNs(times["Wait Time(ms)"]);
    op.synchronization_ns = MsToNs(times["Synchronization Time(ms)"]);
    op.idle_ns = MsToNs(times["Idle Time(ms)"]);
    if (!has_transits_.contains(index)) {
      AddTransfers(index, parts["Communication Bandwidth Info"]);
    }
  }

  // -1, and counted, where it has no time. Start times there are doubles of microseconds since
  // 1970: exact to a quarter of one.
  int32_t FindOrAdd(int32_t name, int64_t start, const JsonValue& times, std::string_view step) {
    constexpr int64_t kTolerance = 1000;
    for (const int32_t index : by_name_[name]) {
      const int64_t ts = rows_.communications[static_cast<size_t>(index)].ts;
      if (IsTime(start, 0) && std::abs(ts - start) <= kTolerance) return index;
    }
    ascend::CommunicationOp op;
    op.process_id = trace_.device_process_id >= 0 ? trace_.device_process_id : trace_.process_id;
    op.device_id = std::max(trace_.device_id, 0);
    op.ts = start;
    op.dur = std::max<int64_t>(MsToNs(times["Elapse Time(ms)"]), 0);
    if (!IsTime(op.ts, op.dur)) {
      rows_.issues.Add(kBadOperation, file_);
      return -1;
    }
    op.name = name;
    if (step.starts_with("step")) op.step_id = base::ParseInt64(step.substr(4)).value_or(-1);
    op.is_shown = !trace_.has_timeline;
    bool has_size = true;
    const int32_t index = device_.AddOperation(op, has_size);
    by_name_[name].push_back(index);
    return index;
  }

  // The number is the group's true name; communicators known from the metadata have texts.
  void SetGroup(store::CommunicationOpRow& op, int64_t hash) const {
    op.group_hash = hash;
    for (const GroupFact& group : rows_.groups) {
      if (group.hash == hash) op.group_name = group.name;
    }
    if (op.group_name == store::kNone) {
      op.group_name = rows_.names.Intern(std::to_string(static_cast<uint64_t>(hash)));
    }
  }

  void AddTransfers(int32_t index, const JsonValue& transports) {
    if (!transports.IsObject()) return OtherShape();
    for (const auto& [transport, facts] : transports.Members()) {
      if (transport == "SDMA") continue;  // the sum of the links inside a machine
      if (!facts["Size Distribution"].IsObject()) OtherShape();
      for (const auto& [size, counts] : facts["Size Distribution"].Members()) {
        const auto megabytes = base::ParseDouble(size);
        const auto count = counts[0].AsInt();
        const int64_t dur = MsToNs(counts[1]);
        if (!megabytes || !count.ok() || *count < 0 || !(*megabytes >= 0 && *megabytes < 1e9)) {
          rows_.issues.Add(kJsonGarbled, "communication.json");
          continue;
        }
        const auto bytes = std::llround(*megabytes * 1e6);
        constexpr int64_t kMany = 1000000;
        rows_.transits.push_back({.communication_id = index,
                                  .transport = rows_.names.Intern(transport),
                                  .size_bytes = bytes * std::min(*count, kMany),
                                  .duration_ns = std::max<int64_t>(dur, 0),
                                  .packet_count = *count});
      }
    }
  }

  const std::string& file_;
  TextTrace& trace_;
  TraceRows& rows_;
  ascend::DeviceRows device_;
  std::map<int32_t, std::vector<int32_t>> by_name_;
  std::map<int32_t, bool> has_transits_;
};

// Links between ranks, by operation; those by kind and step, except for the device's own tool.
class MatrixCheck {
 public:
  // False where the text is no JSON.
  bool Run(std::string_view text) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
    text = base::Trim(text);
    if (text.size() < 2 || text.front() != '{' || text.back() != '}') return false;
    Walk(text, 0);
    return whole_;
  }
  int64_t others() const { return others_; }

 private:
  static constexpr int kLinkOfTool = 2;
  static constexpr int kLink = 4;

  void Walk(std::string_view object, int depth) {
    const bool may_be_link = depth == kLinkOfTool || depth == kLink;
    if (may_be_link && trace_events::FindMember(object, "Transport Type")) return;
    if (depth == kLink) {
      ++others_;
      return;
    }
    whole_ &= trace_events::ForEachMember(
        object, [&](std::string_view, bool, const trace_events::JsonValue& value) {
          if (value.is_string || value.text[0] != '{') {
            ++others_;
          } else {
            Walk(value.text, depth + 1);
          }
        });
  }

  int64_t others_ = 0;
  bool whole_ = true;
};

}  // namespace

void CheckCommunicationMatrix(const SpanFile& file, std::string_view json,
                              store::ImportIssues& issues) {
  MatrixCheck check;
  if (!check.Run(json)) {
    issues.Add(kJsonGarbled, file.relative);
  } else if (check.others() > 0) {
    issues.Add(kJsonShape, file.relative, -1, check.others());
  }
}

void RowsOfCommunication(const SpanFile& file, std::string_view json, TextTrace& trace) {
  const auto document = base::JsonDocument::Parse(json, file.relative);
  if (!document.ok() || !document->root().IsObject()) {
    trace.rows.issues.Add(kJsonGarbled, file.relative);
    return;
  }
  CommunicationRows(file.relative, trace).Run(document->root());
}

}  // namespace sonde::importers::text_import
