#include "job/lake.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/host/parallel.h"
#include "base/host/progress.h"
#include "base/strings.h"
#include "importers/import_rows.h"
#include "job/results.h"
#include "recipes/registry.h"
#include "store/lake.h"

namespace sonde::job {
namespace {

using base::Concat;

// What is lost at most where the program is killed.
constexpr size_t kTracesAtATime = 512;

// The one result that a lake has: a map of ranks and steps is drawn from it.
constexpr std::string_view kKeptResult = "step_trace";

// By importer and content, as the names of cached stores.
Result<std::string> KeyOf(const importers::TraceSource& source) {
  SONDE_ASSIGN_OR_RETURN(const int64_t stamp, importers::StampOf(source));
  const uint64_t hash =
      base::HashCombine(static_cast<uint64_t>(stamp), base::HashString(source.importer->name));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return std::string(text);
}

// By number; distinct ones for distinct runs.
std::map<int32_t, std::string> NamesOfRuns(const Job& job, const std::string& given) {
  std::map<int32_t, std::string> names;
  for (const Trace& trace : job.traces) {
    const std::string span = base::AbsolutePath(SpanFolder(trace.source.path));
    names.try_emplace(trace.run,
                      given.empty() ? std::string(base::BaseName(base::DirName(span))) : given);
  }
  std::map<std::string, int> uses;
  for (auto& [run, name] : names) {
    const int use = uses[name]++;
    if (use > 0) name += Concat("-", std::to_string(use + 1));
  }
  return names;
}

class LakeAdder {
 public:
  LakeAdder(const Job& job, const OpenOptions& options) : job_(job), options_(options) {}

  Result<LakeAdded> Run(const LakeTarget& target) {
    SONDE_ASSIGN_OR_RETURN(writer_,
                           store::LakeWriter::Open(target.folder, target.place,
                                                   {recipes::FindRecipe(kKeptResult)->result, 1}));
    SONDE_RETURN_IF_ERROR(Name(target.run));
    SONDE_RETURN_IF_ERROR(writer_->Register(traces_));
    std::vector<size_t> missing;
    for (size_t i = 0; i < traces_.size(); ++i) {
      if (traces_[i].is_there) {
        ++added_.was_there;
      } else {
        missing.push_back(i);
      }
    }
    std::optional<base::ProgressBar> progress;
    if (options_.shows_progress && missing.size() > kTracesAtATime) {
      progress.emplace("Adding", missing.size());
    }
    for (size_t begin = 0; begin < missing.size(); begin += kTracesAtATime) {
      const size_t end = std::min(missing.size(), begin + kTracesAtATime);
      SONDE_RETURN_IF_ERROR(Add(std::span(missing).subspan(begin, end - begin)));
      if (progress) progress->Advance(end - begin);
    }
    if (progress) progress->Finish();
    return added_;
  }

 private:
  Status Name(const std::string& run) {
    const auto names = NamesOfRuns(job_, run);
    std::map<std::string, std::string> seen;  // path by key
    for (const Trace& trace : job_.traces) {
      const Result<std::string> key = KeyOf(trace.source);
      if (!key.ok()) {
        Complain(key.status().message());
        continue;
      }
      const auto [first, is_new] = seen.try_emplace(*key, trace.source.path);
      if (!is_new) {
        options_.notify(Concat("'", trace.source.path, "' is the same trace as '", first->second,
                               "' and counts once"));
        continue;
      }
      places_.push_back(static_cast<size_t>(trace.number));
      traces_.push_back({.key = *key,
                         .run = names.at(trace.run),
                         .rank = trace.rank,
                         .path = base::AbsolutePath(trace.source.path)});
    }
    return {};
  }

  void Complain(std::string_view line) {
    added_.is_whole = false;
    options_.complain(line);
  }

  // `wanted`: indices of traces_.
  Status Add(std::span<const size_t> wanted) {
    Job part;
    for (const size_t index : wanted) {
      Trace trace = job_.traces[places_[index]];
      trace.number = static_cast<int32_t>(part.traces.size());
      part.traces.push_back(std::move(trace));
    }
    OpenOptions options = options_;
    options.complain = [&](std::string_view line) { Complain(line); };
    Result<JobFiles> opened = OpenFiles(part, options);
    if (!opened.ok()) {
      Complain(opened.status().message());
      return {};
    }
    added_.is_whole &= opened->is_whole;
    const base::ParallelOptions threads{.max_threads = options_.threads};
    SONDE_RETURN_IF_ERROR(
        base::ParallelForStatus(opened->files.size(), threads, [&](size_t i) -> Status {
          store::StoreFile file = opened->files[i];
          std::vector<std::string> keys;
          for (store::TraceLabel& label : file.traces) {
            const store::LakeTrace& trace = traces_[wanted[static_cast<size_t>(label.trace)]];
            label.trace = trace.number;
            label.run = trace.run_number;
            label.path = trace.path;
            keys.push_back(trace.key);
          }
          return writer_->Write(file, keys,
                                MakeResults({file}, store::JointStore::Columns::kLeading, 1,
                                            [&](std::string_view line) { Complain(line); }));
        }));
    SONDE_ASSIGN_OR_RETURN(const auto paths, writer_->Commit());
    added_.files.insert(added_.files.end(), paths.begin(), paths.end());
    for (const store::StoreFile& file : opened->files) added_.added += file.traces.size();
    return {};
  }

  const Job& job_;
  const OpenOptions& options_;
  std::unique_ptr<store::LakeWriter> writer_;
  std::vector<store::LakeTrace> traces_;
  std::vector<size_t> places_;  // of traces_ in the job
  LakeAdded added_;
};

}  // namespace

Result<LakeAdded> AddToLake(const Job& job, const LakeTarget& target, const OpenOptions& options) {
  return LakeAdder(job, options).Run(target);
}

}  // namespace sonde::job
