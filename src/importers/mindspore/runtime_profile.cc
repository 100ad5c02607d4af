// RuntimeProfilerDetail*.csv, which is no CSV: lines of "key:value, ", with commas in values.
#include <array>
#include <charconv>
#include <optional>

#include "base/strings.h"
#include "importers/mindspore/issues.h"
#include "importers/mindspore/trace.h"
#include "importers/trace_events/members.h"

namespace sonde::importers::mindspore {
namespace {

// module:M, event:E, op:O, start_time:1, end_time:2, dur_time:,1,ns, tid:3, pid:4
// Stages begin with stage:S instead of module:M. Only the value of op may hold anything.
struct Line {
  bool is_stage = false;
  std::string_view module;
  std::string_view event;
  std::string_view op;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t tid = 0;
  int64_t pid = 0;
};

std::optional<int64_t> NumberBehind(std::string_view text, std::string_view key) {
  const size_t place = text.rfind(key);
  if (place == std::string_view::npos) return std::nullopt;
  text.remove_prefix(place + key.size());
  return base::ParseInt64(text.substr(0, text.find(',')));
}

std::optional<Line> ParseLine(std::string_view text) {
  Line line;
  line.is_stage = text.starts_with("stage:");
  if (!line.is_stage && !text.starts_with("module:")) return std::nullopt;
  const size_t event = text.find(", event:");
  const size_t op = text.find(", op:", event == std::string_view::npos ? event : event + 8);
  const size_t start = text.rfind(", start_time:");
  if (op == std::string_view::npos || start == std::string_view::npos || start < op + 5) {
    return std::nullopt;
  }
  const size_t begin = text.find(':') + 1;
  line.module = text.substr(begin, event - begin);
  line.event = text.substr(event + 8, op - event - 8);
  line.op = text.substr(op + 5, start - op - 5);
  const std::string_view numbers = text.substr(start);
  const auto begin_ns = NumberBehind(numbers, "start_time:");
  const auto end_ns = NumberBehind(numbers, "end_time:");
  const auto tid = NumberBehind(numbers, "tid:");
  const auto pid = NumberBehind(numbers, "pid:");
  if (!begin_ns || !end_ns || !tid || !pid) return std::nullopt;
  line.begin = *begin_ns;
  line.end = *end_ns;
  line.tid = *tid;
  line.pid = *pid;
  return line;
}

std::string NameOf(const Line& line) {
  if (line.is_stage) return std::string(line.module);
  return base::Concat(line.module, "::", line.event, "::", line.op);
}

// Flow numbers of the records, in their order; empty where names or count differ.
std::vector<uint64_t> FlowNumbers(std::string_view json, const std::vector<Line>& lines) {
  using trace_events::JsonValue;
  const size_t begin = json.find('[');
  const size_t end = json.rfind(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  std::vector<uint64_t> numbers;
  bool same = true;
  trace_events::ForEachElement(json.substr(begin, end + 1 - begin), [&](const JsonValue& event) {
    if (!same || !event.text.starts_with('{') || numbers.size() >= lines.size()) {
      same = false;
      return;
    }
    const auto name = trace_events::FindMember(event.text, "name");
    const auto args = trace_events::FindMember(event.text, "args");
    same = name && name->Text() == NameOf(lines[numbers.size()]);
    uint64_t number = kNoFlow;
    if (args && args->text.starts_with('{')) {
      const auto flow = trace_events::FindMember(args->text, "flow_id");
      if (flow) number = base::ParseUint64(flow->text).value_or(kNoFlow);
    }
    numbers.push_back(number);
  });
  return same && numbers.size() == lines.size() ? numbers : std::vector<uint64_t>();
}

// [Step:1 step_time:420054844ns, module_total_time:602702595ns]
struct StepBlock {
  int64_t number = -1;
  int64_t dur = 0;
  size_t first = 0;  // of its lines
};

std::optional<StepBlock> ParseStep(std::string_view text) {
  StepBlock step;
  const auto number = [](std::string_view from) {
    int64_t value = -1;
    std::from_chars(from.data(), from.data() + from.size(), value);
    return value;
  };
  const size_t time = text.find("step_time:");
  if (!text.starts_with("[Step:") || time == std::string_view::npos) return std::nullopt;
  step.number = number(text.substr(6));
  step.dur = number(text.substr(time + 10));
  if (step.number < 0 || step.dur < 0) return std::nullopt;
  return step;
}

// Begins with the first record in it: the file has only its duration.
void AddStep(const StepBlock& block, const std::vector<Line>& lines, size_t end, TraceRows& rows) {
  if (block.first >= end) return;
  store::StepRow step;
  step.step_id = block.number;
  step.rank = rows.rank;
  step.process_id = rows.Process(lines[block.first].pid);
  step.ts = lines[block.first].begin;
  for (size_t i = block.first; i < end; ++i) step.ts = std::min(step.ts, lines[i].begin);
  step.dur = block.dur;
  rows.steps.push_back(step);
}

}  // namespace

void ReadRuntimeProfile(const SpanFile& file, std::string_view text, std::string_view json,
                        RangeRows& ranges, TraceRows& rows) {
  std::vector<Line> lines;
  std::vector<StepBlock> steps;
  size_t position = 0;
  for (std::string_view row : base::Split(text, '\n')) {
    const auto at = static_cast<int64_t>(position);
    position += row.size() + 1;
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty()) continue;
    if (row.starts_with('[')) {
      auto step = ParseStep(row);
      if (!step) rows.issues.Add(kBadLine, file.relative, at);
      if (!step) continue;
      step->first = lines.size();
      steps.push_back(*step);
    } else if (const auto line = ParseLine(row); line && IsTime(line->begin, 0)) {
      lines.push_back(*line);
    } else {
      rows.issues.Add(kBadLine, file.relative, at);
    }
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    AddStep(steps[i], lines, i + 1 < steps.size() ? steps[i + 1].first : lines.size(), rows);
  }
  const std::vector<uint64_t> flows = FlowNumbers(json, lines);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    const std::string name = NameOf(line);
    const Range range{.pid = line.pid,
                      .tid = line.tid,
                      .begin = line.begin,
                      .end = line.end,
                      .flow = flows.empty() ? kNoFlow : flows[i],
                      .name = name,
                      .category = line.is_stage ? "stage" : line.module};
    // A hand-over takes no time: the end is written before the begin.
    if (!line.is_stage && line.op == "flow" && line.end < line.begin) {
      ranges.AddHandOver(range);
      continue;
    }
    const int32_t slice = ranges.Add(range, capture::Scope::kFrameworkRange);
    // Of a graph, and of an operator that is called one by one.
    if (line.event == "KernelLaunch" || line.event == "LaunchTask")
      ranges.AddLaunch(slice, line.op);
  }
}

}  // namespace sonde::importers::mindspore
