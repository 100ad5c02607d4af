// Text files that MindSpore's profiler leaves in FRAMEWORK on a CPU.
#include <algorithm>
#include <numeric>
#include <optional>

#include "base/strings.h"
#include "capture/mindspore_names.h"
#include "importers/mindspore/issues.h"
#include "importers/mindspore/trace.h"

namespace sonde::importers::mindspore {
namespace {

// Calls take(line, position) for every line that is not empty.
template <class Take>
void ForEachLine(std::string_view text, Take&& take) {
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) take(line, static_cast<int64_t>(begin));
    begin = end + 1;
  }
}

// Six significant digits, maybe with an exponent: "0.008313", "9.1e-05".
std::optional<int64_t> MillisecondsToNs(std::string_view text) {
  const size_t mark = text.find_first_of("eE");
  int64_t exponent = 3;  // only microseconds can be read exactly
  if (mark != std::string_view::npos) {
    std::string_view digits = text.substr(mark + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto written = base::ParseInt64(digits);
    if (!written || *written < -30 || *written > 30) return std::nullopt;
    exponent += *written;
  }
  return base::ParseMicrosecondsToNs(
      base::Concat(text.substr(0, mark), "e", std::to_string(exponent)));
}

struct Launch {
  int64_t ts;
  int64_t dur;
  int64_t thread;
  std::string_view name;
};

// A line an operator: <name>;HostCpuOps;<begin ns>,<ms>,<thread> <begin ns>,...
std::vector<Launch> ReadLaunches(const SpanFile& file, std::string_view text, TraceRows& rows) {
  std::vector<Launch> launches;
  ForEachLine(text, [&](std::string_view line, int64_t position) {
    const std::vector<std::string_view> parts = base::Split(line, ';');
    if (parts.size() < 3) {
      rows.issues.Add(kBadLine, file.relative, position);
      return;
    }
    for (const std::string_view triple : base::Split(parts[2], ' ')) {
      if (triple.empty()) continue;
      const std::vector<std::string_view> cells = base::Split(triple, ',');
      const auto ts = base::ParseInt64(cells[0]);
      const auto dur = cells.size() == 3 ? MillisecondsToNs(cells[1]) : std::nullopt;
      const auto thread = cells.size() == 3 ? base::ParseInt64(cells[2]) : std::nullopt;
      if (!ts || !dur || !thread) {
        rows.issues.Add(kBadLine, file.relative, position);
        continue;
      }
      launches.push_back({*ts, *dur, *thread, parts[0]});
    }
  });
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.ts < b.ts; });
  return launches;
}

// "input_1:[2, 32];input_2:[];input_3:NoShape;" -> "2,32;;"
std::string JoinedShapes(const std::vector<std::string_view>& cells) {
  std::string text;
  for (size_t i = 3; i < cells.size(); ++i) {
    const size_t colon = cells[i].find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view shape = cells[i].substr(colon + 1);
    if (i > 3) text += ';';
    if (!shape.starts_with('[')) continue;
    shape = shape.substr(1, shape.find(']') - 1);
    for (const char c : shape) {
      if (c != ' ') text += c;
    }
  }
  return text;
}

// Shapes by launch, "" unknown. A line a launch, in their order: <type>;<name>;<graph>;<inputs>.
std::vector<std::string> ShapesOf(const SpanFile& file, const std::vector<Launch>& launches,
                                  std::string_view text, TraceRows& rows) {
  std::vector<std::string> shapes;
  bool same = true;
  ForEachLine(text, [&](std::string_view line, int64_t) {
    const std::vector<std::string_view> cells = base::Split(line, ';');
    const size_t place = shapes.size();
    same = same && cells.size() >= 3 && place < launches.size() &&
           (cells[0].empty() || cells[0] == capture::MindsporeOperatorType(launches[place].name));
    shapes.push_back(cells.size() > 3 ? JoinedShapes(cells) : "");
  });
  if (text.empty()) return {};
  if (same && shapes.size() == launches.size()) return shapes;
  rows.issues.Add(kShapesDiffer, file.relative);
  return {};
}

}  // namespace

void ReadOperators(const SpanFile& file, std::string_view text, std::string_view launch_text,
                   int64_t pid, TraceRows& rows) {
  const std::vector<Launch> launches = ReadLaunches(file, text, rows);
  const std::vector<std::string> shapes = ShapesOf(file, launches, launch_text, rows);
  const int32_t process = rows.Process(pid);
  const int32_t category = rows.names.Intern("HostCpuOps");
  RangeRows ranges(rows);
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    const int32_t thread = rows.Thread(process, launch.thread);
    const int32_t track = rows.Track({.kind = capture::TrackKind::kThread,
                                      .name = "CPU OP",
                                      .process_id = process,
                                      .thread_id = thread});
    const int32_t slice =
        rows.AddSlice(track, launch.ts, launch.dur, rows.names.Intern(launch.name), category);
    store::FrameworkOpRow op;
    op.slice_id = slice;
    op.scope = capture::NumberOf(capture::Scope::kOp);
    const std::string_view module = ScopePath(launch.name);
    if (!module.empty()) op.module = rows.names.Intern(module);
    const std::string shape = shapes.empty() ? "" : shapes[i];
    if (!shape.empty()) op.signature_id = rows.Signature(rows.names.Intern(shape), store::kNone);
    rows.ops.push_back(op);
    ranges.AddLaunch(slice, launch.name);
  }
}

// Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total Active(Byte)
void ReadMemoryRecord(const SpanFile& file, std::string_view text, int32_t process_id,
                      TraceRows& rows) {
  int64_t before = 0;
  ForEachLine(text, [&](std::string_view line, int64_t position) {
    if (line.starts_with("Timestamp")) return;
    const std::vector<std::string_view> cells = base::Split(line, ',');
    const auto number = [&](size_t i) {
      return i < cells.size() ? base::ParseInt64(base::Trim(cells[i])) : std::nullopt;
    };
    const auto is_size = [&](size_t i) { return number(i).value_or(-1) >= 0; };
    const auto ts = number(0);
    const auto allocated = number(1);
    const bool has_sizes =
        is_size(1) && (cells.size() < 3 || is_size(2)) && (cells.size() < 4 || is_size(3));
    if (!ts || !has_sizes || !IsTime(*ts, 0)) {
      rows.issues.Add(kBadLine, file.relative, position);
      return;
    }
    store::MemoryEventRow event;
    event.ts = *ts;
    event.process_id = process_id;
    event.size_bytes = *allocated - before;
    event.total_allocated = *allocated;
    event.total_reserved = number(2).value_or(-1);
    event.total_active = number(3).value_or(-1);
    before = *allocated;
    rows.memory_events.push_back(event);
  });
}

}  // namespace sonde::importers::mindspore
