#include "importers/trace_events/sample.h"

#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "importers/trace_events/scanner.h"
#include "importers/trace_events/source.h"

namespace sonde::importers::trace_events {
namespace {

using base::Concat;

// Read in a quarter of a second, whatever the size of the trace.
constexpr size_t kSampleHeadBytes = size_t{4} << 20U;
constexpr size_t kSampleBytes = size_t{512} << 10U;
constexpr size_t kPieces = 12;
constexpr size_t kTailBytes = size_t{1} << 20U;
// Of a packed trace only the begin can be read at once; its text is longer by about this factor.
constexpr size_t kUnpackedBytes = size_t{10} << 20U;
constexpr size_t kPackedShare = 12;

// The text file that holds the timeline of a trace, "" where there is none.
std::string TimelineOf(const std::string& path) {
  if (base::IsRegularFile(path)) return path;
  for (const char* inside : {"trace_view.json", "ASCEND_PROFILER_OUTPUT/trace_view.json"}) {
    std::string file = base::JoinPath(path, inside);
    if (base::IsRegularFile(file)) return file;
  }
  return {};
}

Status WriteBeginOfPacked(const std::string& path, const std::string& sample) {
  store::ImportIssues issues;  // the import reports them
  SONDE_ASSIGN_OR_RETURN(const auto source, TextSource::Open(path, issues));
  do {
    SONDE_RETURN_IF_ERROR(source->Advance(source->window().begin));
  } while (!source->window().last &&
           source->window().end - source->window().begin < std::ptrdiff_t{kUnpackedBytes});
  const char* const begin = source->window().begin;
  const char* const end = source->window().end;
  if (end - begin <= std::ptrdiff_t{kTailBytes}) return base::NotFoundError("no sample is needed");
  const char* cut = FindEventBoundary(end - kTailBytes, end);
  if (cut == nullptr) return base::NotFoundError("no events were found");
  while (cut > begin && *(cut - 1) != '}') --cut;
  return base::WriteFileAtomically(sample,
                                   Concat(std::string_view(begin, static_cast<size_t>(cut - begin)),
                                          *begin == '{' ? "\n]}" : "\n]"));
}

}  // namespace

Status WriteSample(const std::string& path, const std::string& sample, size_t least_bytes) {
  SONDE_ASSIGN_OR_RETURN(const base::MappedFile file, base::MappedFile::Open(path));
  const std::string_view text = file.text();
  if (text.starts_with("\x1f\x8b")) {
    if (text.size() >= least_bytes / kPackedShare) return WriteBeginOfPacked(path, sample);
    return base::NotFoundError("no sample is needed");
  }
  if (text.size() < least_bytes || text.size() <= kSampleHeadBytes + kTailBytes)
    return base::NotFoundError("no sample is needed");
  const char* const end = text.data() + text.size();
  const auto boundary = [&](size_t offset) { return FindEventBoundary(text.data() + offset, end); };
  SONDE_ASSIGN_OR_RETURN(base::AtomicFile out, base::AtomicFile::Create(sample));
  const auto copy = [&](const char* from, const char* to) {
    out.Append({from, static_cast<size_t>(to - from)}).IgnoreError();  // Commit reports
  };
  const char* at = boundary(kSampleHeadBytes);
  const char* const tail = boundary(text.size() - kTailBytes);
  if (at == nullptr || tail == nullptr) return base::NotFoundError("no events were found");
  copy(text.data(), at);
  const size_t stride = (text.size() - kSampleHeadBytes - kTailBytes) / kPieces;
  for (size_t i = 0; i < kPieces; ++i) {
    const size_t offset = kSampleHeadBytes + stride * i + stride / 2;
    const char* const from = boundary(offset);
    const char* const to = boundary(offset + kSampleBytes);
    // In order, without overlap.
    if (from == nullptr || to == nullptr || from < at || from >= to || to > tail) continue;
    copy(from, to);
    at = to;
  }
  copy(std::max(at, tail), end);
  return out.Commit();
}

Result<std::string> WriteTimelinePreview(const std::string& path, const std::string& folder) {
  const std::string timeline = TimelineOf(path);
  if (timeline.empty()) return base::NotFoundError("no timeline in one file");
  std::string sample = base::JoinPath(folder, base::BaseName(timeline));
  SONDE_RETURN_IF_ERROR(WriteSample(timeline, sample));
  return sample;
}

}  // namespace sonde::importers::trace_events
