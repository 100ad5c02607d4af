#include "importers/torch_trace/records.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "importers/torch_trace/issues.h"

namespace sonde::importers::torch_trace {
namespace {

constexpr size_t kMostHead = 4096;  // what stands before the object: a date, a number, a path

bool IsLevel(char letter) {
  return std::string_view("VDIWEC").find(letter) != std::string_view::npos;
}

// The record that the line begins; nothing where it is none.
std::optional<LogRecord> HeadOf(std::string_view line) {
  if (line.size() < 5 || !IsLevel(line[0]) || !base::IsDigits(line.substr(1, 4)))
    return std::nullopt;
  const size_t bracket = line.substr(0, kMostHead).find("] {");
  if (bracket == std::string_view::npos) return std::nullopt;
  LogRecord record;
  record.object = line.substr(bracket + 2);
  const auto words = base::Split(line.substr(0, bracket), ' ');
  if (words.size() < 4) return std::nullopt;
  record.pid = base::ParseInt64(words[2]).value_or(0);
  if (record.object.starts_with("{\"")) {
    const size_t end = record.object.find('"', 2);
    if (end != std::string_view::npos) record.kind = record.object.substr(2, end - 2);
  }
  return record;
}

}  // namespace

bool IsLog(std::string_view text) {
  return HeadOf(text.substr(0, std::min(text.find('\n'), kMostHead))).has_value();
}

void ForEachRecord(std::string_view text, std::string_view source, store::ImportIssues& issues,
                   const std::function<void(const LogRecord&)>& take) {
  const size_t whole = text.rfind('\n') + 1;  // npos + 1: no line is whole
  if (whole < text.size()) {
    issues.Add(kCutOff, source, static_cast<int64_t>(whole));
    text = text.substr(0, whole);
  }
  std::optional<LogRecord> record;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    if (line.starts_with('\t') && record) {
      const char* payload = record->payload.empty() ? line.data() : record->payload.data();
      record->payload = {payload, static_cast<size_t>(line.data() + line.size() - payload)};
    } else if (auto next = HeadOf(line)) {
      if (record) take(*record);
      record = next;
      record->position = static_cast<int64_t>(begin);
    } else {
      issues.Add(kBadLine, source, static_cast<int64_t>(begin));
    }
    begin = end + 1;
  }
  if (record) take(*record);
}

std::string PayloadText(std::string_view payload) {
  if (payload.starts_with('\t')) payload.remove_prefix(1);
  return base::ReplaceAll(payload, "\n\t", "\n");
}

}  // namespace sonde::importers::torch_trace
