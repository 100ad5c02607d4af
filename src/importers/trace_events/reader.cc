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
      return {};
    }
    EventArrayReader array(source_.window(), &source_, path_, sink_, issues_);
    SONDE_RETURN_IF_ERROR(array.Run());
    p_ = array.position();
    closed_ = array.end() == EventArrayReader::End::kBracket;
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
      if (*p_ == '"') {
        SONDE_ASSIGN_OR_RETURN(read, ReadMember());
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
        int64_t mended = 0;
        const char* behind = SkipValue(value, end(), mended);
        if (behind != nullptr && (behind < end() || source_.window().last)) {
          TakeMetadata(name, {value, static_cast<size_t>(behind - value)});
          p_ = behind;
          return true;
        }
      }
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

  // Behind text that makes no sense: goes on at the list of events, where it is still to come.
  Result<bool> FindEvents() {
    const bool at_end = source_.window().last && SkipSpace(p_, end()) == end();
    issues_.Add(at_end ? kTruncated : kBadEvent, path_, Offset());
    size_t from = 1;  // not the very place that made no sense
    while (!events_seen_) {
      const std::string_view text(p_, static_cast<size_t>(end() - p_));
      const size_t found = text.find("\"traceEvents\"", from);
      from = 0;
      if (found != std::string_view::npos) {
        p_ += found;
        return true;
      }
      p_ = std::max(p_, end() - static_cast<ptrdiff_t>(kEventsKey.size()) - 2);
      SONDE_ASSIGN_OR_RETURN(const bool more, More());
      if (!more) return false;
    }
    return false;
  }

  TextSource& source_;
  const std::string& path_;
  EventSink& sink_;
  store::ImportIssues& issues_;
  const ArrayRunner& run_array_;
  const char* p_ = nullptr;
  bool events_seen_ = false;
  bool closed_ = false;  // the bracket of the value that was read last
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

Status EventArrayReader::Run(const char* stop) {
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
    } else if (stop != nullptr && p_ >= stop) {
      end_ = End::kStop;
      break;
    } else if (*p_ == '{') {
      SONDE_RETURN_IF_ERROR(TakeEvent());
    } else {
      SONDE_RETURN_IF_ERROR(Broken());
    }
  }
  if (scanner_.mended_strings() > 0) {
    issues_.Add(kMendedString, file_, -1, scanner_.mended_strings());
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

// Text that is no event: goes on at the next that looks like one.
Status EventArrayReader::Broken() {
  const int64_t position = Offset(p_);
  if (wasted_ > kMaxWaste) {
    issues_.Add(kTooDamaged, file_, position);
    done_ = true;
    return {};
  }
  ++p_;
  while (!FindNext()) {
    SONDE_ASSIGN_OR_RETURN(const bool more, More());
    if (more) continue;
    issues_.Add(kTruncated, file_, position);
    done_ = true;
    return {};
  }
  issues_.Add(kBadEvent, file_, position);
  return {};
}

// Moves p_ to what looks like an event; where there is none, to where one may begin that is not
// wholly to be seen.
bool EventArrayReader::FindNext() {
  constexpr ptrdiff_t kTail = 64;
  const char* next = FindEventBegin(p_, window_.end);
  if (next != nullptr) {
    p_ = next;
    return true;
  }
  p_ = std::max(p_, window_.end - kTail);
  return false;
}

Result<bool> EventArrayReader::More() {
  if (source_ == nullptr || window_.last) return false;
  SONDE_RETURN_IF_ERROR(Flush());  // its texts are about to move
  SONDE_RETURN_IF_ERROR(source_->Advance(p_));
  window_ = source_->window();
  p_ = window_.begin;
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
