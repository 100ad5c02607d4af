#include "cluster/frame/run.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "cluster/frame/clocks.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/waits.h"
#include "importers/import_rows.h"
#include "job/for_each_trace.h"
#include "job/open_rows.h"
#include "job/runs.h"
#include "recipes/trace/issue_texts.h"

namespace sonde::cluster {
namespace {

using base::Concat;

// Numbers for traces that have no rank: those that are free, from 0 on.
void NumberOthers(const std::vector<const job::Trace*>& others, std::map<int32_t, job::Trace>& by,
                  std::vector<std::string>& notices) {
  int32_t next = 0;
  for (const job::Trace* trace : others) {
    while (by.contains(next)) ++next;
    by.emplace(next, *trace);
    notices.push_back(
        Concat(trace->source.path, ": has no rank, and counts as rank ", std::to_string(next)));
  }
}

// "..._7.json" or "..._7.db" -> 7; -1 where the name has no number.
int32_t NumberOfName(std::string_view name) {
  const size_t end = name.rfind('.');
  const size_t begin = name.rfind('_');
  if (end == std::string_view::npos || begin == std::string_view::npos || begin > end) return -1;
  const auto number = base::ParseInt64(name.substr(begin + 1, end - begin - 1));
  return number && *number >= 0 && *number <= INT32_MAX ? static_cast<int32_t>(*number) : -1;
}

// Reports missing ranks. `world`: number of ranks of the job. Where it is 0 (unknown) only gaps
// between the ranks that are there count: ranks of one host of several need not begin at 0.
void ReportGaps(const std::map<int32_t, job::Trace>& by_rank, int32_t world,
                std::vector<std::string>& notices) {
  if (by_rank.empty()) return;
  // A rank beyond the world belongs to another job, or its number is ours: the world is unknown.
  const bool is_known = world > by_rank.rbegin()->first;
  const int32_t first = is_known ? 0 : by_rank.begin()->first;
  const int32_t last = is_known ? world - 1 : by_rank.rbegin()->first;
  // A number in a name may be any: the missing ones are counted, and the first few listed.
  constexpr int64_t kListed = 10;
  const int64_t count = int64_t{last} - first + 1 - static_cast<int64_t>(by_rank.size());
  if (count <= 0) return;
  std::vector<std::string> gaps;
  for (int64_t rank = first; rank <= last && std::ssize(gaps) < std::min(count, kListed); ++rank) {
    if (!by_rank.contains(static_cast<int32_t>(rank))) gaps.push_back(std::to_string(rank));
  }
  if (count > kListed) gaps.push_back(Concat("... (", std::to_string(count), ")"));
  const bool is_one = count == 1;
  notices.push_back(Concat(is_one ? "rank " : "ranks ", base::Join(gaps, ","), " of ",
                           std::to_string(first), " to ", std::to_string(last),
                           is_one ? " is missing: the results do not cover it"
                                  : " are missing: the results do not cover them"));
}

// Which of two traces of one rank is taken, and the remark on the other.
struct Preference {
  bool takes_second = false;
  std::string_view why;
};

// The newer one where the names of both have their times; else the one that holds more: a fragment
// beside a recording is the smaller one.
Preference PreferenceOf(const job::Trace& first, const job::Trace& second) {
  const auto name = [](const job::Trace& trace) {
    return job::ProcessOfName(base::BaseName(job::SpanFolder(trace.source.path)));
  };
  const auto a = name(first);
  const auto b = name(second);
  if (a && b && a->time != b->time) return {b->time > a->time, " is older"};
  const auto size_of_first = base::FileSize(first.source.path);
  const auto size_of_second = base::FileSize(second.source.path);
  if (size_of_first.ok() && size_of_second.ok() && *size_of_first != *size_of_second) {
    return {*size_of_second > *size_of_first,
            " holds less (it is unknown which is newer; name one of them to choose)"};
  }
  return {second.run >= first.run,
          " is left out (it is unknown which is newer; name one of them to choose)"};
}

class Runner {
 public:
  Runner(const Mode& mode, const std::vector<Rank>& ranks, const ModeOptions& mode_options,
         const RunOptions& options)
      : mode_(mode), ranks_(ranks), mode_options_(mode_options), options_(options) {
    needs_ = mode.needs;
    if (options.waits_of) needs_.waits = false;  // no round of its own
    if (mode_options.step_id >= 0) needs_.tables |= recipes::kTableBit<store::StepRow>;
    for (size_t i = 0; i < ranks.size(); ++i) place_of_trace_[ranks[i].trace.number] = i;
    parts_.resize(ranks.size());
  }

  MappedRanks Work() {
    MappedRanks mapped;
    MapFiles();
    if (options_.leaves_waits && needs_.waits) {
      mapped.pending = MapCollectives();
    } else {
      MapTraces();
    }
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (!parts_[i]) continue;
      mapped.parts.push_back(
          {ranks_[i].number, ranks_[i].trace.source.path, std::move(*parts_[i])});
    }
    mapped.failures = std::move(failures_);
    return mapped;
  }

 private:
  // Of the traces that are left.
  void MapTraces() {
    FindTwins();
    std::vector<job::Trace> traces;
    for (const auto& [place, twins] : twins_) traces.push_back(ranks_[place].trace);
    if (traces.empty()) return;
    const MapOne map = [this](const job::TraceInHand& trace) { return MapTrace(trace); };
    const auto failures = options_.over ? options_.over(traces, needs_, map, ReportClocks())
                                        : OverFiles(std::move(traces), needs_, map);
    failures_.insert(failures_.end(), failures.begin(), failures.end());
    FailTwins();
  }

  // Of the traces that are left: what their waits are computed from.
  std::vector<RankPart> MapCollectives() {
    std::vector<job::Trace> traces;
    std::vector<std::optional<Part>> collectives(ranks_.size());
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (!parts_[i] && has_failed_[i] == 0) traces.push_back(ranks_[i].trace);
    }
    if (traces.empty()) return {};
    const MapOne map = [&](const job::TraceInHand& trace) -> Status {
      KeepArrivals(trace, collectives[place_of_trace_.at(trace.label.trace)].emplace());
      return {};
    };
    const auto failures = OverFiles(std::move(traces), kArrivalNeeds, map);
    failures_.insert(failures_.end(), failures.begin(), failures.end());
    std::vector<RankPart> pending;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (!collectives[i]) continue;
      pending.push_back(
          {ranks_[i].number, ranks_[i].trace.source.path, std::move(*collectives[i])});
    }
    return pending;
  }

  std::vector<job::TraceFailure> OverFiles(std::vector<job::Trace> traces,
                                           const recipes::Needs& needs, const MapOne& map) {
    job::Job job;
    job.traces = std::move(traces);
    std::optional<base::ProgressBar> progress;
    if (options_.shows_progress) progress.emplace("Cluster analyzing", job.traces.size());
    const auto opened = job::OpenForRows(
        job, {.threads = options_.threads,
              .notify = options_.notify,
              .complain = [](std::string_view) {},  // failures are reported at the end
              .shows_progress = options_.shows_progress});
    if (!opened.ok()) {  // none of them
      std::vector<job::TraceFailure> failures;
      for (const job::Trace& trace : job.traces) {
        failures.push_back({trace.source.path, opened.status()});
      }
      return failures;
    }
    job::RunOptions run;
    run.threads = options_.threads;
    run.progress = progress ? &*progress : nullptr;
    run.keeps_clocks = IsGiven(mode_options_.values, kKeepClocks);
    run.report_clocks = ReportClocks();
    run.notify = options_.notify;
    auto failures = opened->failures;
    const auto others = job::RunOverTraces(
        *opened, needs, run,
        [&](const job::TraceInHand& trace, size_t /*place*/) { return map(trace); });
    failures.insert(failures.end(), others.begin(), others.end());
    if (progress && failures.empty()) progress->Finish();
    return failures;
  }

  job::NoticeSink ReportClocks() const {
    if (ShowsClocks(mode_) || !options_.notify) return {};
    return [this](std::string_view line) { options_.notify(Concat(line, kHowToKeepClocks)); };
  }

  // Copies have the outcome of the first.
  void FailTwins() {
    for (const auto& [place, twins] : twins_) {
      if (parts_[place]) continue;
      for (const size_t twin : twins) {
        if (twin == place) continue;
        Fail(ranks_[twin].trace.source.path,
             base::NotFoundError(Concat("is a copy of rank ", std::to_string(ranks_[place].number),
                                        ", which could not be read")));
      }
    }
  }

  // Of several traces with one content only the first is open where they were opened for
  // statements.
  void FindTwins() {
    std::map<std::pair<const void*, int64_t>, size_t> first;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (parts_[i] || has_failed_[i] != 0) continue;
      const importers::TraceSource& source = ranks_[i].trace.source;
      const bool may_be_left_out =
          options_.over && source.importer != nullptr && !source.importer->is_ours;
      const auto stamp = may_be_left_out ? importers::StampOf(source)
                                         : Result<int64_t>(base::NotFoundError("is open itself"));
      size_t place = i;
      if (stamp.ok()) place = first.try_emplace({source.importer, *stamp}, i).first->second;
      twins_[place].push_back(i);
    }
  }

  // Those whose files hold all that is needed.
  void MapFiles() {
    has_failed_.assign(ranks_.size(), 0);
    if (mode_.map_files == nullptr) return;
    base::ParallelFor(
        ranks_.size(), {.max_threads = options_.threads}, [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) {
            Part part;
            const std::string& path = ranks_[i].trace.source.path;
            const Result<bool> mapped = mode_.map_files(
                {.rank = ranks_[i].number, .path = path, .options = mode_options_}, part);
            if (!mapped.ok()) Fail(path, mapped.status());
            has_failed_[i] = !mapped.ok();
            if (mapped.ok() && *mapped) parts_[i] = std::move(part);
          }
        });
  }

  Status MapTrace(const job::TraceInHand& trace) {
    auto view = trace.View(needs_);
    if (options_.waits_of) {
      const auto waits_ns = options_.waits_of(trace.label.trace);
      view.waits_ns.assign(waits_ns.begin(), waits_ns.end());
    }
    SONDE_ASSIGN_OR_RETURN(const StepWindow window, WindowOf(trace.data));
    for (const size_t place : twins_.at(place_of_trace_.at(trace.label.trace))) {
      const RankInput input{.rank = ranks_[place].number,
                            .path = ranks_[place].trace.source.path,
                            .view = view,
                            .window = window,
                            .options = mode_options_};
      Part part;
      SONDE_RETURN_IF_ERROR(mode_.map(input, part));
      if (part.empty()) SONDE_RETURN_IF_ERROR(WhyEmpty(trace.data));
      parts_[place] = std::move(part);
      ReportIssues(ranks_[place], trace.data);
    }
    return {};
  }

  // The unreadable part may have held what the mode needs: then the rank failed.
  static Status WhyEmpty(const recipes::TraceData& data) {
    std::vector<recipes::ImportIssue> errors(data.issues.begin(), data.issues.end());
    std::erase_if(errors,
                  [](const recipes::ImportIssue& issue) { return issue.severity != "error"; });
    if (errors.empty()) return {};
    return base::CorruptDataError(
        Concat("some of it cannot be read, and the rest has none of these data: ",
               base::Join(recipes::IssueTexts(errors), ", "), "; 'sonde analyse' explains them"));
  }

  // Readers of the table should know which data of a rank it lacks.
  void ReportIssues(const Rank& rank, const recipes::TraceData& data) {
    const std::vector<std::string> wrong = recipes::IssueTexts(data.issues);
    if (wrong.empty() || !options_.notify) return;
    const std::scoped_lock lock(mutex_);
    options_.notify(Concat("rank ", std::to_string(rank.number),
                           ": the data has faults: ", base::Join(wrong, ", "), "; 'sonde analyse ",
                           rank.trace.source.path, "' explains them"));
  }

  Result<StepWindow> WindowOf(const recipes::TraceData& data) const {
    if (mode_options_.step_id < 0) return StepWindow{};
    for (const store::StepRow& step : data.steps) {
      if (step.step_id != mode_options_.step_id) continue;
      return StepWindow{step.ts, step.dur < 0 ? data.last_ns : step.ts + step.dur};
    }
    std::vector<int32_t> ids;
    for (const store::StepRow& step : data.steps) ids.push_back(static_cast<int32_t>(step.step_id));
    return NoSuchStep(mode_options_.step_id, ids);
  }

  void Fail(const std::string& path, const Status& why) {
    const std::scoped_lock lock(mutex_);
    failures_.push_back({path, why});
  }

  const Mode& mode_;
  const std::vector<Rank>& ranks_;
  const ModeOptions& mode_options_;
  const RunOptions& options_;
  recipes::Needs needs_;
  std::map<int32_t, size_t> place_of_trace_;
  std::vector<std::optional<Part>> parts_;
  std::vector<char> has_failed_;
  std::map<size_t, std::vector<size_t>> twins_;  // places of ranks of one content, by the first
  std::mutex mutex_;
  std::vector<job::TraceFailure> failures_;
};

}  // namespace

// From the names of an Ascend profiler's files, as in the reference: in sets that were put together
// from copies, the numbers inside the files are those of the original.
int32_t RankOf(const job::Trace& trace) {
  const std::string output = base::JoinPath(trace.source.path, "ASCEND_PROFILER_OUTPUT");
  const std::pair<std::string, std::string_view> places[] = {{output, "ascend_pytorch_profiler_"},
                                                             {output, "ascend_mindspore_profiler_"},
                                                             {trace.source.path, "profiler_info_"}};
  for (const auto& [folder, prefix] : places) {
    const auto entries = base::ListDirectory(folder);
    if (!entries.ok()) continue;
    for (const base::DirectoryEntry& entry : *entries) {
      if (!entry.name.starts_with(prefix)) continue;
      const int32_t rank = NumberOfName(entry.name);
      if (rank >= 0) return rank;
    }
  }
  return trace.rank < 0 && job::IsHelper(trace) ? kHelper : trace.rank;
}

bool ShowsClocks(const Mode& mode) {
  return std::ranges::find(mode.options, &kKeepClocks) != mode.options.end();
}

// All ranks of a job know it, or none: a few are asked, since one may be damaged.
int32_t WorldOf(const job::Job& job) {
  constexpr size_t kAsked = 4;
  int32_t world = 0;
  for (size_t i = 0; i < std::min(kAsked, job.traces.size()); ++i) {
    const importers::TraceSource& source = job.traces[i].source;
    if (source.importer->world == nullptr) continue;
    world = std::max(world, source.importer->world(source.path));
  }
  return world;
}

Result<RankChoice> ChooseRanks(const job::Job& job, const std::vector<int32_t>& wanted) {
  SeenRanks seen;
  for (const job::Trace& trace : job.traces) seen.numbers.push_back(RankOf(trace));
  if (wanted.empty()) seen.world = WorldOf(job);
  return ChooseRanks(job, seen, wanted);
}

Result<RankChoice> ChooseRanks(const job::Job& job, const SeenRanks& seen,
                               const std::vector<int32_t>& wanted) {
  RankChoice choice;
  std::map<int32_t, job::Trace> by_rank;
  std::vector<const job::Trace*> others;
  std::vector<const job::Trace*> helpers;
  for (size_t i = 0; i < job.traces.size(); ++i) {
    const job::Trace& trace = job.traces[i];
    const int32_t rank = seen.numbers[i];
    if (rank < 0) {
      (rank == kHelper ? helpers : others).push_back(&trace);
      continue;
    }
    const auto [found, is_new] = by_rank.try_emplace(rank, trace);
    if (is_new) continue;
    const Preference preference = PreferenceOf(found->second, trace);
    const job::Trace& taken = preference.takes_second ? trace : found->second;
    const job::Trace& other = preference.takes_second ? found->second : trace;
    choice.notices.push_back(Concat("rank ", std::to_string(rank),
                                    " occurs twice: ", taken.source.path, " is taken, ",
                                    other.source.path, preference.why));
    if (preference.takes_second) found->second = trace;
  }
  if (by_rank.empty() && others.empty()) {
    others = std::move(helpers);
  } else if (!helpers.empty()) {
    choice.notices.push_back(Concat(base::CountOf(helpers.size(), "trace is", "traces are"),
                                    " of processes that help a rank (workers of a data loader), "
                                    "and counted as no rank"));
  }
  NumberOthers(others, by_rank, choice.notices);
  if (wanted.empty()) ReportGaps(by_rank, seen.world, choice.notices);
  std::vector<int32_t> unknown;
  for (const int32_t rank : wanted) {
    if (!by_rank.contains(rank)) unknown.push_back(rank);
  }
  if (!unknown.empty()) {
    return base::InvalidArgumentError(Concat("Invalid Rank id: [", Listed(unknown), "]."));
  }
  for (const auto& [number, trace] : by_rank) {
    const bool is_wanted =
        wanted.empty() || std::find(wanted.begin(), wanted.end(), number) != wanted.end();
    if (is_wanted) choice.ranks.push_back({number, trace});
  }
  return choice;
}

MappedRanks MapHere(const Mode& mode, const std::vector<Rank>& ranks,
                    const ModeOptions& mode_options, const RunOptions& options) {
  return Runner(mode, ranks, mode_options, options).Work();
}

Result<MappedRanks> OfAny(MappedRanks mapped) {
  if (!mapped.parts.empty()) return mapped;
  return mapped.failures.empty() ? base::NotFoundError("there is no rank")
                                 : mapped.failures.front().why;
}

Result<MappedRanks> MapRanks(const Mode& mode, const std::vector<Rank>& ranks,
                             const ModeOptions& mode_options, const RunOptions& options) {
  if (mode_options.reader.value != nullptr) {
    return mode_options.reader.value->Map(mode, ranks, mode_options);
  }
  return OfAny(MapHere(mode, ranks, mode_options, options));
}

Result<RunResult> Reduce(const Mode& mode, MappedRanks mapped, const ModeOptions& mode_options) {
  RunResult result;
  result.failures = std::move(mapped.failures);
  for (const RankPart& part : mapped.parts) {
    if (part.part.empty()) result.without.push_back(part.rank);
  }
  if (result.without.size() == mapped.parts.size()) {
    return base::NotFoundError(
        Concat("no rank holds what '", mode.name, "' is made from: ", mode.wants));
  }
  std::erase_if(mapped.parts, [](const RankPart& part) { return part.part.empty(); });
  const auto parts = std::make_shared<const std::vector<RankPart>>(std::move(mapped.parts));
  SONDE_RETURN_IF_ERROR(mode.reduce(*parts, mode_options, result.outcome));
  if (!result.outcome.texts.empty()) result.outcome.ranks = parts;
  if (!result.without.empty()) {
    result.outcome.notices.push_back(
        Concat("without rank ", Listed(result.without), ", where this is missing: ", mode.wants));
  }
  return result;
}

Result<RunResult> Run(const Mode& mode, const std::vector<Rank>& ranks,
                      const ModeOptions& mode_options, const RunOptions& options) {
  if (mode.check != nullptr) SONDE_RETURN_IF_ERROR(mode.check(mode_options));
  SONDE_ASSIGN_OR_RETURN(MappedRanks mapped, MapRanks(mode, ranks, mode_options, options));
  return Reduce(mode, std::move(mapped), mode_options);
}

}  // namespace sonde::cluster
