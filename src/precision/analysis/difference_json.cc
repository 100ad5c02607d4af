#include "precision/analysis/difference_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/files.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "precision/output/result_table.h"

namespace sonde::precision {
namespace {

using base::JsonWriter;

constexpr std::string_view kIgnoredApis[] = {"Torch.empty", "Torch.fill", "Tensor.__setitem__"};

bool IsIgnored(std::string_view api) {
  return std::any_of(
      std::begin(kIgnoredApis), std::end(kIgnoredApis), [api](std::string_view name) {
        return api.starts_with(name) && api.size() > name.size() && api[name.size()] == '.';
      });
}

// Outputs 4 and 5 of the fused attention hold random numbers and sizes.
bool IsIgnoredOutput(std::string_view name) {
  return name.find("npu_fusion_attention") != std::string_view::npos &&
         (name.ends_with(".output.4") || name.ends_with(".output.5"));
}

bool Exceeds(const Cell& cell, double limit) {
  switch (cell.kind) {
    case Cell::Kind::kPercent:
      return std::fabs(cell.value / 100) > limit;
    case Cell::Kind::kInf:
    case Cell::Kind::kNegInf:
    case Cell::Kind::kNan:
      return true;
    default:
      return false;
  }
}

bool Differs(const Comparison& comparison, const ComparedRow& row,
             const DifferenceThresholds& thresholds) {
  if (!row.target->IsOutput() || row.golden == nullptr || IsIgnoredOutput(row.target->name)) {
    return false;
  }
  if (comparison.mode == Mode::kMd5) return row.Has(Message::kChecksum);
  for (size_t i = 0; i < kStatisticCount; ++i) {
    if (Exceeds(row.cells[kStatisticCount + i], thresholds.relative[i])) return true;
  }
  return false;
}

std::string_view SectionText(const DumpRow& row) {
  switch (row.section) {
    case Section::kInput:
      return "input";
    case Section::kParameters:
      return "parameters";
    case Section::kOutput:
      return "output";
    case Section::kParametersGrad:
      return "parameters_grad";
    case Section::kDebug:
      return "debug";
  }
  return "";
}

// A statistic keeps its type; everything without a number is a text.
void WriteValue(const Value& value, JsonWriter* json) {
  if (value.kind() == Value::Kind::kInt || value.kind() == Value::Kind::kBigInt) {
    json->Raw(value.PythonText());
  } else if (value.kind() == Value::Kind::kFloat && std::isfinite(value.AsDouble())) {
    json->Double(value.AsDouble());
  } else if (value.kind() == Value::Kind::kBool) {
    json->Bool(value.PythonText() == "True");
  } else {
    std::string text;
    AppendStatistic(value, &text);
    json->String(base::Trim(text));
  }
}

void WriteFrames(const StackFile* stack, std::string_view api, JsonWriter* json) {
  const int32_t index =
      stack == nullptr || !stack->present() ? StackFile::kNoStack : stack->Find(api);
  json->BeginArray();
  if (index != StackFile::kNoStack) {
    for (const std::string& frame : stack->Frames(index)) json->String(frame);
  }
  json->EndArray();
}

// op and peer of the point-to-point operations of a call, one a tensor row.
struct OperationTexts {
  std::string op = "None";
  std::string peer = "None";
};

OperationTexts OperationOf(const TimelineCall& call, size_t input) {
  OperationTexts out;
  if (call.is_communication && input < call.communication.batch.size()) {
    const PointToPoint& operation = call.communication.batch[input];
    out.op = operation.is_send ? "isend" : "irecv";
    out.peer = std::to_string(operation.peer);
  }
  return out;
}

void WriteStatistics(const DumpRow* row, std::string_view side, JsonWriter* json) {
  static constexpr std::string_view kNames[] = {"max", "min", "mean", "l2norm"};
  for (size_t i = 0; i < kStatisticCount; ++i) {
    json->Key(base::Concat(side, " ", kNames[i]));
    if (row == nullptr) {
      json->String("N/A");
    } else {
      WriteValue(row->stats[i], json);
    }
  }
}

class ItemWriter {
 public:
  ItemWriter(const Comparison& comparison, const StackFile* stack, JsonWriter* json)
      : table_(comparison, stack), comparison_(comparison), stack_(stack), json_(json) {}

  void Write(size_t index, std::string_view api, bool first, const OperationTexts& operation) {
    const ComparedRow& row = comparison_.rows[index];
    table_.Fill(index, &cells_);
    json_->Layout("\n  ");
    json_->BeginObject();
    for (size_t c = 0; c < table_.columns().size(); ++c) WriteColumn(c, row, api, first);
    Text("state", SectionText(*row.target));
    Text("api_origin_name", api);
    Text("NPU P2POp op", operation.op);
    Text("Bench P2POp op", row.golden == nullptr ? "N/A" : operation.op);
    Text("NPU P2POp peer", operation.peer);
    Text("Bench P2POp peer", row.golden == nullptr ? "N/A" : operation.peer);
    json_->EndObject();
  }

 private:
  void Text(std::string_view key, std::string_view value) {
    json_->Key(key);
    json_->String(value);
  }

  void WriteColumn(size_t c, const ComparedRow& row, std::string_view api, bool first) {
    const std::string& column = table_.columns()[c];
    if (column == "NPU max") {
      WriteStatistics(row.target, "NPU", json_);
      WriteStatistics(row.golden, "Bench", json_);
    } else if (column == "Requires_grad Consistent") {
      json_->Key(column);
      json_->Bool(cells_.cell(c) == "True");
    } else if (column == "NPU_Stack_Info" && first) {
      json_->Key(column);
      WriteFrames(stack_, api, json_);
    } else if (!column.starts_with("NPU m") && !column.starts_with("Bench m") &&
               column != "NPU l2norm" && column != "Bench l2norm") {
      Text(column, cells_.cell(c));
    }
  }

  ResultTable table_;
  const Comparison& comparison_;
  const StackFile* stack_;
  JsonWriter* json_;
  report::RowText cells_;
};

void WriteRowData(const Comparison& comparison, const ComparedRow& row,
                  const OperationTexts& operation, JsonWriter* json) {
  json->Key(row.target->name);
  json->BeginObject();
  if (comparison.mode == Mode::kMd5) {
    json->Key("NPU MD5");
    json->String(ChecksumText(*row.target));
  } else {
    WriteStatistics(row.target, "NPU", json);
  }
  json->Key("NPU P2POp peer");
  json->String(operation.peer);
  json->EndObject();
}

void WriteFound(const DifferenceRank& rank, size_t call_index, JsonWriter* json) {
  const Comparison& comparison = *rank.comparison;
  const ComparedGroup& group = comparison.groups[call_index];
  const TimelineCall& call = rank.timeline.calls[call_index];
  json->Layout("\n");
  json->BeginObject();
  json->Key("op_name");
  json->String(group.api);
  json->Key("data_info");
  json->BeginObject();
  for (const bool output : {false, true}) {
    json->Key(output ? "output" : "input");
    json->BeginObject();
    size_t input = 0;
    for (size_t i = group.first_row; i < group.first_row + group.row_count; ++i) {
      const ComparedRow& row = comparison.rows[i];
      if (row.target->IsOutput() != output) continue;
      json->Layout("\n  ");
      WriteRowData(comparison, row, OperationOf(call, output ? SIZE_MAX : input++), json);
    }
    json->EndObject();
  }
  json->EndObject();
  json->Key("stack_info");
  WriteFrames(rank.stack, group.api, json);
  json->EndObject();
}

}  // namespace

RankTimeline DifferenceTimeline(const Comparison& comparison, const DumpFile& target,
                                const DifferenceThresholds& thresholds, int64_t rank) {
  RankTimeline out;
  out.rank = rank;
  for (const ComparedGroup& group : comparison.groups) {
    TimelineCall& call = out.calls.emplace_back();
    call.name = group.api;
    call.is_communication = IsCommunicationPhaseName(group.api) ||
                            group.api.starts_with("Distributed.batch_isend_irecv.");
    if (call.is_communication) {
      const DumpRow& row = *comparison.rows[group.first_row].target;
      call.communication = ReadCommunication(target, target.apis()[row.api]);
    }
    if (IsIgnored(group.api)) continue;
    for (size_t i = group.first_row; i < group.first_row + group.row_count && !call.wrong; ++i) {
      call.wrong = Differs(comparison, comparison.rows[i], thresholds);
    }
  }
  return out;
}

Status WriteDifferenceJson(const std::string& path, const Comparison& comparison,
                           const RankTimeline& timeline, const StackFile* stack) {
  SONDE_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::Create(path));
  JsonWriter json(&file, JsonWriter::Style::kPythonDefault);
  ItemWriter items(comparison, stack, &json);
  json.BeginObject();
  for (size_t g = 0; g < comparison.groups.size(); ++g) {
    const ComparedGroup& group = comparison.groups[g];
    json.Key(group.api);
    json.BeginObject();
    json.Key("is_same");
    json.Bool(!timeline.calls[g].wrong);
    json.Key("op_items");
    json.BeginArray();
    for (size_t i = 0; i < group.row_count; ++i) {
      items.Write(group.first_row + i, group.api, i == 0, OperationOf(timeline.calls[g], i));
    }
    json.EndArray();
    json.EndObject();
    json.Layout("\n");
  }
  json.EndObject();
  SONDE_RETURN_IF_ERROR(json.Finish());
  return file.Commit();
}

std::string DifferenceReport(const std::vector<DifferenceRank>& ranks,
                             const std::vector<FoundCall>& found) {
  JsonWriter json(nullptr, JsonWriter::Style::kPythonDefault);
  std::map<size_t, std::vector<size_t>> by_rank;
  for (const FoundCall& call : found) by_rank[call.timeline].push_back(call.call);
  json.BeginObject();
  for (const auto& [timeline, calls] : by_rank) {
    json.Key(base::Concat("rank_", std::to_string(ranks[timeline].timeline.rank)));
    json.BeginArray();
    for (const size_t call : calls) WriteFound(ranks[timeline], call, &json);
    json.EndArray();
  }
  json.EndObject();
  return json.Take();
}

}  // namespace sonde::precision
