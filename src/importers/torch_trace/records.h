// The records of a TORCH_TRACE log (structured log of torch's compiler).
//
// A record is a line in glog's form, "V1130 04:36:29.192000 8516 torch/_dynamo/utils.py:2473]
// {...}", whose object names the kind first, and lines of payload that begin with a tab. Lines that
// are neither are counted. Pure; views into the text. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/import_issues.h"

namespace sonde::importers::torch_trace {

struct LogRecord {
  int64_t position = 0;      // of the line in the file
  int64_t pid = 0;           // of the process that wrote it
  std::string_view kind;     // first key of the object; "" none
  std::string_view object;   // JSON
  std::string_view payload;  // with the tabs
};

// Whether the text begins with a record.
bool IsLog(std::string_view text);

// Calls take(record) for each record in the order of the file. `source` is named in issues. A last
// record without its newline is counted and left out.
void ForEachRecord(std::string_view text, std::string_view source, store::ImportIssues& issues,
                   const std::function<void(const LogRecord&)>& take);

// The payload as it was before it was indented.
std::string PayloadText(std::string_view payload);

}  // namespace sonde::importers::torch_trace
