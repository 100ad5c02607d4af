#include "importers/trace_events/head.h"

#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "importers/trace_events/json_text.h"
#include "importers/trace_events/source.h"

namespace sonde::importers::trace_events {
namespace {

constexpr ptrdiff_t kHeadBytes = ptrdiff_t{256} << 10U;
// Source maps, logs and samples may come before the events, hardly ever more than this.
constexpr uint64_t kLookedThrough = uint64_t{64} << 20U;

// Finds the list of events among the members of the outermost object, in pieces of its text.
class EventsKey {
 public:
  // Behind the key, at its colon; nullptr where it is not in [p, end). Goes on where the last call
  // ended.
  const char* Find(const char* p, const char* end) {
    for (; p < end && !closed_; ++p) {
      if (in_text_) {
        if (!escaped_ && matched_ < 0) p = FindQuoteOrBackslash(p, end);
        if (p == end) return nullptr;
        TakeOfText(*p);
        continue;
      }
      if (is_key_ && *p == ':') return p;
      is_key_ &= *p == ' ' || *p == '\n' || *p == '\r' || *p == '\t';
      if (*p == '"') {
        in_text_ = true;
        matched_ = depth_ == 1 ? 0 : -1;
      } else if (*p == '{' || *p == '[') {
        ++depth_;
      } else if (*p == '}' || *p == ']') {
        closed_ = --depth_ <= 0;
      }
    }
    return nullptr;
  }

  bool closed() const { return closed_; }

 private:
  static constexpr std::string_view kKey = "traceEvents";

  void TakeOfText(char c) {
    if (c == '"' && !escaped_) {
      in_text_ = false;
      is_key_ = matched_ == static_cast<int>(kKey.size());
      return;
    }
    escaped_ = c == '\\' && !escaped_;
    const bool matches = matched_ >= 0 && matched_ < static_cast<int>(kKey.size()) &&
                         c == kKey[static_cast<size_t>(matched_)];
    matched_ = matches ? matched_ + 1 : -1;
  }

  int64_t depth_ = 0;
  int matched_ = -1;  // characters of the text that are those of the key; -1: another text
  bool in_text_ = false;
  bool escaped_ = false;
  bool is_key_ = false;
  bool closed_ = false;
};

// Of an object whose events do not begin in the head: adds the text that they begin with.
void LookForEvents(TextSource& source, TraceHead& head) {
  EventsKey key;
  while (!key.closed() && source.window().offset < kLookedThrough) {
    const Window& window = source.window();
    const auto room = static_cast<ptrdiff_t>(kLookedThrough - window.offset);
    const char* const end = window.begin + std::min(window.end - window.begin, room);
    if (const char* found = key.Find(window.begin, end)) {
      head.text.append(R"("traceEvents")");
      head.text.append(found, static_cast<size_t>(std::min(window.end - found, kHeadBytes)));
      return;
    }
    if (window.last || end < window.end || !source.Advance(window.end).ok()) return;
  }
}

}  // namespace

bool HasTraceName(const std::string& path) {
  const std::string name = base::ToLower(base::BaseName(path));
  return name.ends_with(".json") || name.ends_with(".json.gz") || name.ends_with(".trace") ||
         name.ends_with(".trace.gz");
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
  if (head.is_object && !head.Has("\"traceEvents\"") && !head.Has("\"schemaVersion\"")) {
    LookForEvents(**source, head);
  }
  const bool has_phase = head.Has("\"ph\"");
  head.is_trace = head.is_object ? head.Has("\"traceEvents\"") || head.Has("\"schemaVersion\"")
                                 : *p == '[' && (has_phase || SkipSpace(p + 1, end) == end ||
                                                 *SkipSpace(p + 1, end) == ']');
  return head;
}

}  // namespace sonde::importers::trace_events
