#include "importers/trace_events/head.h"

#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "importers/trace_events/json_text.h"
#include "importers/trace_events/source.h"

namespace sonde::importers::trace_events {
namespace {

constexpr ptrdiff_t kHeadBytes = ptrdiff_t{256} << 10U;

}  // namespace

bool HasTraceName(const std::string& path) {
  const std::string name = base::ToLower(base::BaseName(path));
  return name.ends_with(".json") || name.ends_with(".json.gz") || name.ends_with(".trace");
}

TraceHead ReadTraceHead(const std::string& path) {
  TraceHead head;
  if (!base::IsRegularFile(path)) return head;
  store::ImportIssues issues;
  const auto source = TextSource::Open(path, issues);
  if (!source.ok()) return head;
  if ((*source)->window().begin == (*source)->window().end &&
      !(*source)->Advance((*source)->window().begin).ok()) {
    return head;
  }
  const Window& window = (*source)->window();
  head.text.assign(window.begin, window.begin + std::min(window.end - window.begin, kHeadBytes));
  const char* const end = head.text.data() + head.text.size();
  const char* p = head.text.data();
  if (head.text.starts_with("\xef\xbb\xbf")) p += 3;
  p = SkipSpace(p, end);
  if (p == end) return head;
  head.is_object = *p == '{';
  const bool has_phase = head.Has("\"ph\"");
  head.is_trace = head.is_object ? head.Has("\"traceEvents\"") || head.Has("\"schemaVersion\"")
                                 : *p == '[' && (has_phase || SkipSpace(p + 1, end) == end ||
                                                 *SkipSpace(p + 1, end) == ']');
  return head;
}

}  // namespace sonde::importers::trace_events
