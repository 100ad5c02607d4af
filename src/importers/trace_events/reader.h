// Reads a trace file in the Chrome trace event format: an array of events, or an object with the
// list "traceEvents", plain or packed with gzip.
//
//   store::ImportIssues issues;
//   SONDE_RETURN_IF_ERROR(ReadTraceEvents(path, sink, issues));
//
// Memory stays bounded whatever the size (a few MB; the pages of a plain file are given back). Text
// that is no event is skipped and counted in `issues` with its position; a file that was cut off,
// or that lacks its last bracket, gives the events before. Fails only where the file cannot be
// read, is empty, or begins like no trace, or where the sink fails. Threads: pure.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "importers/trace_events/event.h"
#include "importers/trace_events/scanner.h"
#include "importers/trace_events/source.h"
#include "store/import_issues.h"

namespace sonde::importers::trace_events {

Status ReadTraceEvents(const std::string& path, EventSink& sink, store::ImportIssues& issues);

// The same for a source that is open. `run_array`, where given, reads the events of an array in
// place of the sink: from the window's begin, behind '[', to the place it returns.
using ArrayRunner = std::function<Result<const char*>(const Window& window)>;
Status ReadTraceText(TextSource& source, const std::string& path, EventSink& sink,
                     store::ImportIssues& issues, const ArrayRunner& run_array = nullptr);

// The events of an array, from a place between two of them on.
class EventArrayReader {
 public:
  // `source` null: the window is the whole text. `file` is for the issues.
  EventArrayReader(Window window, TextSource* source, std::string_view file, EventSink& sink,
                   store::ImportIssues& issues);

  static constexpr uint64_t kNoStop = std::numeric_limits<uint64_t>::max();
  // Up to the closing bracket, which is taken, or to the first event at or behind `stop`, an offset
  // in the file.
  Status Run(uint64_t stop = kNoStop);

  enum class End { kBracket, kStop, kText };
  End end() const { return end_; }
  const char* position() const { return p_; }
  uint64_t offset() const { return static_cast<uint64_t>(Offset(p_)); }

 private:
  Status TakeEvent();
  Status Broken();
  Status GoOn(int64_t position, const char* next);
  Status Flush();
  bool IsAll() const { return source_ == nullptr || window_.last; }
  Result<bool> More();
  // Where in the window `stop` is; null where it is not.
  const char* InWindow(uint64_t stop) const {
    const auto size = static_cast<uint64_t>(window_.end - window_.begin);
    if (stop >= window_.offset + size) return nullptr;
    return stop > window_.offset ? window_.begin + (stop - window_.offset) : window_.begin;
  }
  int64_t Offset(const char* p) const {
    return static_cast<int64_t>(window_.offset + static_cast<uint64_t>(p - window_.begin));
  }

  Window window_;
  TextSource* source_;
  std::string_view file_;
  EventSink& sink_;
  store::ImportIssues& issues_;
  EventScanner scanner_;
  std::vector<TraceEvent> batch_;
  const char* p_;
  uint64_t stop_offset_ = kNoStop;
  const char* stop_ = nullptr;
  End end_ = End::kText;
  bool done_ = false;
  uint64_t wasted_ = 0;  // bytes of text that was no event
};

}  // namespace sonde::importers::trace_events
