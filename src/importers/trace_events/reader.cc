#include "importers/trace_events/reader.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "importers/trace_events/issues.h"
#include "importers/trace_events/json_text.h"

namespace sonde::importers::trace_events {
namespace {

constexpr size_t kBatch = 256;
// An event that does not end within this many bytes is taken for damage.
constexpr ptrdiff_t kMaxEventBytes = ptrdiff_t{64} << 20U;
constexpr uint64_t kMaxWaste = uint64_t{4} << 30U;
constexpr size_t kMaxMetadataBytes = size_t{1} << 20U;
constexpr std::string_view kEventsKey = "traceEvents";

// Finds the bracket that closes a list, starting in invalid text within it: the first bracket
// without a partner there. A closed container may have unpaired brackets inside. A text without an
// end hides the rest, and so does impossibly deep nesting.
class ListEnd {
 public:
  // Behind the bracket; nullptr where [p, end) has none. Goes on where the last call ended.
  const char* Find(const char* p, const char* end) {
    for (; p < end && open_.size() < kDeepest; ++p) {
      const char c = *p;
      if (in_text_) {
        if (!escaped_ && c == '"') in_text_ = false;
        escaped_ = !escaped_ && c == '\\';
      } else if (c == '"') {
        in_text_ = true;
      } else if (c == '[' || c == '{') {
        open_.push_back(c);
        brackets_ += c == '[' ? 1 : 0;
      } else if (c == ']') {
        if (brackets_ == 0) return p + 1;
        Close('[');
      } else if (c == '}' && static_cast<int64_t>(open_.size()) > brackets_) {
        Close('{');
      }
    }
    return nullptr;
  }

 private:
  static constexpr size_t kDeepest = size_t{1} << 22U;

  // The innermost of these, which there is, with all within.
  void Close(char opening) {
    char closed = '\0';
    while (closed != opening) {
      closed = open_.back();
      open_.pop_back();
      brackets_ -= closed == '[' ? 1 : 0;
    }
  }

  std::string open_;      // '[' and '{' that were not closed
  int64_t brackets_ = 0;  // the '[' among them
  bool in_text_ = false;
  bool escaped_ = false;
};

// The outermost value: an array of events, or an object around it.
class FileReader {
 public:
  FileReader(TextSource& source, const std::string& path, EventSink& sink,
             store::ImportIssues& issues, const ArrayRunner& run_array)
      : source_(source), path_(path), sink_(sink), issues_(issues), run_array_(run_array) {}

  Status Run() {
    p_ = source_.window().begin;
    SONDE_ASSIGN_OR_RETURN(const bool any, SkipToText());
    if (!any) return base::CorruptDataError(base::Concat("the trace file '", path_, "' is empty"));
    if (end() - p_ >= 3 && std::memcmp(p_, "\xef\xbb\xbf", 3) == 0) p_ += 3;
    SONDE_ASSIGN_OR_RETURN(const bool more, SkipToText());
    if (more && *p_ == '[') {
      ++p_;
      SONDE_RETURN_IF_ERROR(ReadEvents());
      return closed_ ? LookBehind() : Status();
    }
    if (!more || *p_ != '{') {
      return base::CorruptDataError(
          base::Concat("'", path_, "' is no trace of events: it begins with neither '[' nor '{'"));
    }
    ++p_;
    SONDE_RETURN_IF_ERROR(ReadObject());
    if (!events_seen_) issues_.Add(kNotATrace, path_);
    return closed_ ? LookBehind() : Status();
  }

 private:
  // Behind the outermost value, where nothing should be.
  Status LookBehind() {
    SONDE_ASSIGN_OR_RETURN(const bool more, SkipToText());
    if (more) issues_.Add(kBehindEnd, path_, Offset());
    return {};
  }

  const char* end() const { return source_.window().end; }
  int64_t Offset() const {
    const Window& window = source_.window();
    return static_cast<int64_t>(window.offset + static_cast<uint64_t>(p_ - window.begin));
  }

  // More text behind p_; false at the end of the file.
  Result<bool> More() {
    if (source_.window().last) return false;
    SONDE_RETURN_IF_ERROR(source_.Advance(p_));
    p_ = source_.window().begin;
    return true;
  }

  // To the next byte that is no white space; false at the end of the file.
  Result<bool> SkipToText() {
    while (true) {
      p_ = SkipSpace(p_, end());
      if (p_ < end()) return true;
      SONDE_ASSIGN_OR_RETURN(const bool more, More());
      if (!more) return false;
    }
  }

  Status ReadEvents() {
    events_seen_ = true;
    SONDE_RETURN_IF_ERROR(source_.Advance(p_));
    if (run_array_) {
      const char* const begin = p_;
      SONDE_ASSIGN_OR_RETURN(p_, run_array_(source_.window()));
      closed_ = p_ > begin && p_[-1] == ']';
      cut_off_ = !closed_;
      return {};
    }
    EventArrayReader array(source_.window(), &source_, path_, sink_, issues_);
    SONDE_RETURN_IF_ERROR(array.Run());
    p_ = array.position();
    closed_ = array.end() == EventArrayReader::End::kBracket;
    cut_off_ = !closed_;
    return {};
  }

  // Behind '{'; every key with its value.
  Status ReadObject() {
    while (true) {
      closed_ = false;
      SONDE_ASSIGN_OR_RETURN(const bool more, SkipToText());
      if (!more) {
        issues_.Add(kTruncated, path_, Offset());
        return {};
      }
      if (*p_ == '}') {
        ++p_;
        closed_ = true;
        return {};
      }
      if (*p_ == ',') {
        ++p_;
        continue;
      }
      bool read = false;
      unending_ = false;
      if (*p_ == '"') {
        SONDE_ASSIGN_OR_RETURN(read, ReadMember());
        if (cut_off_) return {};
      }
      if (!read) {
        SONDE_ASSIGN_OR_RETURN(const bool found, FindEvents());
        if (!found) return {};
      }
    }
  }

  // "key": value. False where the text is none; p_ is then where it was.
  Result<bool> ReadMember() {
    while (true) {
      const StringEnd key = FindStringEnd(p_ + 1, end());
      const char* value = key.quote == nullptr ? end() : SkipSpace(key.quote + 1, end());
      if (value < end() && *value != ':') return false;
      if (value < end()) value = SkipSpace(value + 1, end());
      if (value < end()) {
        const std::string_view name(p_ + 1, static_cast<size_t>(key.quote - p_) - 1);
        if (name == kEventsKey && *value == '[') {
          p_ = value + 1;
          SONDE_RETURN_IF_ERROR(ReadEvents());
          return true;
        }
        int64_t repaired = 0;
        const char* behind = SkipValue(value, end(), repaired);
        if (behind != nullptr && (behind < end() || source_.window().last)) {
          TakeMetadata(name, {value, static_cast<size_t>(behind - value)});
          p_ = behind;
          return true;
        }
      }
      unending_ = value == end() || *value == '"' || *value == '{' || *value == '[';
      SONDE_ASSIGN_OR_RETURN(const bool more, More());
      if (!more) return false;
    }
  }

  void TakeMetadata(std::string_view key, std::string_view json) {
    if (json.size() > kMaxMetadataBytes) {
      issues_.Add(kLongMetadata, path_, Offset());
      return;
    }
    sink_.TakeMetadata(Unescape(key), json);
  }

  // Behind invalid text: goes on at the list of events, where that is still to come.
  Result<bool> FindEvents() {
    const int64_t position = Offset();
    const bool at_end = unending_ || (source_.window().last && SkipSpace(p_, end()) == end());
    size_t from = 1;  // behind the first invalid byte
    while (!events_seen_) {
      const std::string_view text(p_, static_cast<size_t>(end() - p_));
      const size_t found = text.find("\"traceEvents\"", from);
      from = 0;
      if (found != std::string_view::npos) {
        issues_.Add(kBadEvent, path_, position);
        p_ += found;
        return true;
      }
      p_ = std::max(p_, end() - static_cast<ptrdiff_t>(kEventsKey.size()) - 2);
      SONDE_ASSIGN_OR_RETURN(const bool more, More());
      if (!more) break;
    }
    issues_.Add(at_end ? kTruncated : kBadEvent, path_, position);
    return false;
  }

  TextSource& source_;
  const std::string& path_;
  EventSink& sink_;
  store::ImportIssues& issues_;
  const ArrayRunner& run_array_;
  const char* p_ = nullptr;
  bool events_seen_ = false;
  bool closed_ = false;    // the bracket of the value that was read last
  bool cut_off_ = false;   // the list of events has no end
  bool unending_ = false;  // a value outside the list began and has no end
};

}  // namespace

EventArrayReader::EventArrayReader(Window window, TextSource* source, std::string_view file,
                                   EventSink& sink, store::ImportIssues& issues)
    : window_(window),
      source_(source),
      file_(file),
      sink_(sink),
      issues_(issues),
      p_(window.begin) {
  batch_.reserve(kBatch);
}

Status EventArrayReader::Run(uint64_t stop) {
  stop_offset_ = stop;
  stop_ = InWindow(stop);
  while (!done_) {
    p_ = SkipSpace(p_, window_.end);
    if (p_ >= window_.end) {
      SONDE_ASSIGN_OR_RETURN(const bool more, More());
      if (!more) {
        issues_.Add(kTruncated, file_, Offset(p_));
        break;
      }
    } else if (*p_ == ',') {
      ++p_;
    } else if (*p_ == ']') {
      ++p_;
      end_ = End::kBracket;
      break;
    } else if (stop_ != nullptr && p_ >= stop_) {
      end_ = End::kStop;
      break;
    } else if (*p_ == '{') {
      SONDE_RETURN_IF_ERROR(TakeEvent());
    } else {
      SONDE_RETURN_IF_ERROR(Broken());
    }
  }
  if (scanner_.repaired_strings() > 0) {
    issues_.Add(kRepairedString, file_, -1, scanner_.repaired_strings());
  }
  return Flush();
}

Status EventArrayReader::TakeEvent() {
  TraceEvent& event = batch_.emplace_back();
  const char* behind = nullptr;
  const char* limit = window_.end - p_ > kMaxEventBytes ? p_ + kMaxEventBytes : window_.end;
  const ScanResult result = scanner_.Scan(p_, limit, event, behind);
  if (result == ScanResult::kEvent) {
    const int64_t position = Offset(p_);
    p_ = behind;
    if (scanner_.problem() != EventProblem::kNone) {
      issues_.Add(scanner_.problem() == EventProblem::kNoPhase ? kNoPhase : kBadTime, file_,
                  position);
      batch_.pop_back();
      return {};
    }
    event.position = static_cast<uint64_t>(position);
    return batch_.size() >= kBatch ? Flush() : Status();
  }
  batch_.pop_back();
  if (result == ScanResult::kIncomplete && limit == window_.end) {
    SONDE_ASSIGN_OR_RETURN(const bool more, More());
    if (more) return {};
  }
  wasted_ += result == ScanResult::kIncomplete ? static_cast<uint64_t>(limit - p_) : 0;
  return Broken();
}

// Text that is no event: goes on at the next that looks like one; where there is none, behind the
// bracket that closes the list.
Status EventArrayReader::Broken() {
  constexpr ptrdiff_t kTail =
      64;  // text that may be the begin of an event that is not complete yet
  constexpr ptrdiff_t kMaxBehind = ptrdiff_t{16} << 20U;  // kept in memory behind that bracket
  const int64_t position = Offset(p_);
  if (wasted_ > kMaxWaste) {
    issues_.Add(kTooDamaged, file_, position);
    done_ = true;
    return {};
  }
  ListEnd list_end;
  const char* behind_list = nullptr;
  const char* walked = p_;
  const char* from = p_ + 1;
  while (true) {
    const char* next = FindEventBegin(from, window_.end);
    if (next != nullptr) return GoOn(position, next);
    if (behind_list == nullptr) behind_list = list_end.Find(walked, window_.end);
    from = std::max({from, window_.end - kTail, behind_list});
    const char* const kept = behind_list != nullptr ? behind_list : from;
    if (IsAll() || window_.end - kept > kMaxBehind) break;
    const ptrdiff_t size = window_.end - kept;
    const ptrdiff_t skipped = from - kept;
    p_ = kept;
    SONDE_RETURN_IF_ERROR(More().status());
    walked = p_ + size;
    from = p_ + skipped;
    if (behind_list != nullptr) behind_list = p_;
  }
  done_ = true;
  if (behind_list == nullptr) {
    issues_.Add(kTruncated, file_, position);
    return {};
  }
  end_ = End::kBracket;
  return GoOn(position, behind_list);
}

Status EventArrayReader::GoOn(int64_t position, const char* next) {
  issues_.Add(kBadEvent, file_, position);
  p_ = next;
  return {};
}

Result<bool> EventArrayReader::More() {
  if (IsAll()) return false;
  SONDE_RETURN_IF_ERROR(Flush());  // its texts will move
  SONDE_RETURN_IF_ERROR(source_->Advance(p_));
  window_ = source_->window();
  p_ = window_.begin;
  stop_ = InWindow(stop_offset_);
  return true;
}

Status EventArrayReader::Flush() {
  Status status;
  if (!batch_.empty()) status = sink_.TakeEvents(batch_);
  batch_.clear();
  scanner_.ForgetTexts();
  if (source_ != nullptr) source_->Forget(p_);
  return status;
}

Status ReadTraceEvents(const std::string& path, EventSink& sink, store::ImportIssues& issues) {
  SONDE_ASSIGN_OR_RETURN(const auto source, TextSource::Open(path, issues));
  return ReadTraceText(*source, path, sink, issues);
}

Status ReadTraceText(TextSource& source, const std::string& path, EventSink& sink,
                     store::ImportIssues& issues, const ArrayRunner& run_array) {
  return FileReader(source, path, sink, issues, run_array).Run();
}

}  // namespace sonde::importers::trace_events
