#include "job/job.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "job/merge.h"
#include "job/runs.h"

namespace sonde::job {
namespace {

using base::Concat;
using importers::TraceSource;

// A trace is the same whichever way it was named, and whichever part of it.
std::string RealPath(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return SpanFolder(error ? path : real.string());
}

// A folder above the one that was meant is easily named: report where the traces were found.
void ReportDeeperTraces(const std::string& named, const std::vector<TraceSource>& traces,
                        std::vector<std::string>& notices) {
  const std::string root = base::AbsolutePath(named);
  std::string first;
  size_t count = 0;
  for (const TraceSource& trace : traces) {
    const std::string path = base::AbsolutePath(trace.path);
    if (path == root || base::DirName(path) == root) continue;
    if (count++ == 0) first = trace.path;
  }
  if (count == 0) return;
  const std::string more = count > 1 ? Concat(" and ", std::to_string(count - 1), " more") : "";
  notices.push_back(Concat("found deeper than '", named, "': ", first, more));
}

// Parts of found traces that were left out, and folders that are no trace yet, each in a sentence.
void ReportLeftOut(const std::vector<TraceSource>& traces, Job& job) {
  for (const TraceSource& trace : traces) {
    if (trace.importer->left_out == nullptr) continue;
    std::string text = trace.importer->left_out(trace.path);
    if (!text.empty()) job.notices.push_back(std::move(text));
  }
  std::erase_if(job.unread, [&](const std::string& path) {
    std::string text = importers::SayUnfinished(path);
    if (text.empty()) return false;
    job.notices.push_back(std::move(text));
    return true;
  });
}

struct Found {
  std::vector<TraceSource> whole;
  std::vector<TraceSource> parts;
};

// A folder whose traces all need a first step is reported with the first of them.
Status NothingIn(const std::string& path, const Job& job) {
  for (const std::string& unread : job.unread) {
    if (!importers::SayUnfinished(unread).empty()) return importers::NothingToRead(unread);
  }
  return importers::NothingToRead(path);
}

// Moves stores without a trace to the unread files; the first of them, "" where there are none.
std::string LeaveOutOthers(std::vector<TraceSource>& sources, Job& job) {
  std::string first;
  std::erase_if(sources, [&](const TraceSource& source) {
    if (source.importer->holds_trace) return false;
    if (first.empty()) first = source.path;
    job.unread.push_back(source.path);
    return true;
  });
  return first;
}

Result<Found> FindIn(const std::string& path, const FindOptions& options, Job& job) {
  SONDE_ASSIGN_OR_RETURN(auto sources, importers::FindTraces(path, options.max_depth, &job.unread));
  const std::string other = options.takes_all ? "" : LeaveOutOthers(sources, job);
  if (sources.empty() && !other.empty()) {
    return base::NotFoundError(
        Concat("'", other, "' holds no trace: sonde view and sonde query read it"));
  }
  if (sources.empty()) return NothingIn(path, job);
  ReportLeftOut(sources, job);
  ReportDeeperTraces(path, sources, job.notices);
  Found found;
  SONDE_ASSIGN_OR_RETURN(found.whole, importers::WithoutParts(sources));
  std::set<std::string> whole;
  for (const TraceSource& source : found.whole) whole.insert(source.path);
  for (TraceSource& source : sources) {
    if (whole.count(source.path) == 0) found.parts.push_back(std::move(source));
  }
  return found;
}

// Once each; those named before are reported.
class Seen {
 public:
  explicit Seen(const Job& job) {
    for (const auto* list : {&job.traces, &job.parts}) {
      for (const Trace& trace : *list) seen_.insert(RealPath(trace.source.path));
    }
  }
  bool IsNew(const std::string& path) { return seen_.insert(RealPath(path)).second; }

 private:
  std::set<std::string> seen_;
};

// A trace whose head cannot be read stays in the job: its fault is reported when it is opened.
void ReadRanks(std::vector<Trace>& traces) {
  base::ParallelFor(traces.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Result<int32_t> rank = traces[i].source.importer->rank(traces[i].source.path);
      traces[i].rank = std::max(rank.value_or(-1), -1);
    }
  });
}

void Number(Job& job) {
  int32_t number = 0;
  for (auto* list : {&job.traces, &job.parts}) {
    for (Trace& trace : *list) trace.number = number++;
  }
}

void Sort(std::vector<Trace>& traces) {
  GroupRuns(traces);
  std::stable_sort(traces.begin(), traces.end(), [](const Trace& a, const Trace& b) {
    const auto key = [](const Trace& trace) {
      return std::pair(trace.run,
                       trace.rank < 0 ? std::numeric_limits<int32_t>::max() : trace.rank);
    };
    return key(a) < key(b);
  });
}

}  // namespace

Job FindJob(const std::vector<std::string>& paths, const FindOptions& options) {
  Job job;
  if (paths.size() == 1) job.folder = paths.front();
  Seen seen(job);
  for (const std::string& path : paths) {
    Result<Found> found = FindIn(path, options, job);
    if (!found.ok()) {
      job.failures.push_back(found.status());
      continue;
    }
    const auto take = [&](std::vector<TraceSource>& sources, std::vector<Trace>& traces) {
      for (TraceSource& source : sources) {
        if (!seen.IsNew(source.path)) {
          job.repeated.push_back(source.path);
          continue;
        }
        const Status allowed = options.allow ? options.allow(source.path) : Status();
        if (allowed.ok()) {
          traces.push_back({.source = std::move(source)});
        } else {
          job.failures.push_back(allowed);
        }
      }
    };
    take(found->whole, job.traces);
    take(found->parts, job.parts);
  }
  for (auto* list : {&job.traces, &job.parts}) {
    ReadRanks(*list);
    Sort(*list);
  }
  Number(job);
  return job;
}

Result<Job> FindWholeJob(const std::vector<std::string>& paths, const FindOptions& options) {
  Job job = FindJob(paths, options);
  if (!job.failures.empty()) return job.failures.front();
  return job;
}

Job JobOf(std::vector<Trace> traces) {
  Job job;
  job.traces = std::move(traces);
  std::stable_sort(job.traces.begin(), job.traces.end(), [](const Trace& a, const Trace& b) {
    return std::filesystem::path(a.source.path) < std::filesystem::path(b.source.path);
  });
  Sort(job.traces);
  Number(job);
  return job;
}

size_t Append(Job& job, Job more) {
  Seen seen(job);
  const size_t before = job.traces.size();
  for (Trace& trace : more.traces) {
    if (seen.IsNew(trace.source.path)) {
      job.traces.push_back(std::move(trace));
    } else {
      job.repeated.push_back(trace.source.path);
    }
  }
  std::copy_if(std::make_move_iterator(more.parts.begin()),
               std::make_move_iterator(more.parts.end()), std::back_inserter(job.parts),
               [&](const Trace& trace) { return seen.IsNew(trace.source.path); });
  const auto move = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  move(more.notices, job.notices);
  move(more.repeated, job.repeated);
  move(more.unread, job.unread);
  move(more.failures, job.failures);
  GroupRuns(job.traces);
  Number(job);
  return job.traces.size() - before;
}

std::optional<size_t> IndexOf(const Job& job, const std::string& path) {
  const std::string real = RealPath(path);
  for (size_t i = 0; i < job.traces.size(); ++i) {
    if (RealPath(job.traces[i].source.path) == real) return i;
  }
  return std::nullopt;
}

std::string SpanFolder(const std::string& path) {
  const std::string absolute = base::AbsolutePath(path);
  return base::BaseName(absolute) == "SONDE" ? std::string(base::DirName(absolute)) : absolute;
}

bool IsHelper(const Trace& trace) {
  return trace.source.importer->is_helper != nullptr &&
         trace.source.importer->is_helper(trace.source.path);
}

std::optional<Trace> OnlyProgram(const Job& job) {
  std::optional<Trace> found;
  for (const Trace& trace : job.traces) {
    if (job.traces.size() > 1 && IsHelper(trace)) continue;
    if (found) return std::nullopt;
    found = trace;
  }
  return found;
}

std::string Counted(const Job& job) {
  std::string text;
  for (const importers::Importer& importer : importers::Importers()) {
    const auto count = std::count_if(job.traces.begin(), job.traces.end(), [&](const Trace& trace) {
      return trace.source.importer == &importer;
    });
    if (count == 0) continue;
    text += Concat(text.empty() ? "" : ", ", base::CountOf(count, importer.one, importer.what));
  }
  return text;
}

std::string DescribeRepeated(const std::vector<std::string>& repeated) {
  if (repeated.empty()) return {};
  return Concat("named more than once, counted once: ", Named(repeated, ""));
}

std::string Named(std::vector<std::string> paths, const std::string& folder) {
  constexpr size_t kNamed = 5;
  const size_t more = paths.size() > kNamed ? paths.size() - kNamed : 0;
  paths.resize(paths.size() - more);
  const std::string prefix = folder.empty() || folder.ends_with('/') ? folder : folder + "/";
  for (std::string& path : paths) {
    if (path.starts_with(prefix)) path.erase(0, prefix.size());
  }
  return Concat(base::Join(paths, ", "),
                more > 0 ? Concat(" and ", std::to_string(more), " more") : "");
}

}  // namespace sonde::job
