#include "advisor/advisor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "advisor/frame/evaluate.h"
#include "advisor/frame/tables.h"
#include "advisor/frame/trace_facts.h"
#include "advisor/functions/functions.h"
#include "advisor/ranks/ranks.h"
#include "base/strings.h"
#include "cluster/frame/run.h"
#include "job/failures.h"
#include "job/job.h"
#include "job/results.h"
#include "recipes/finding/finding.h"

namespace sonde::advisor {
namespace {

using base::Concat;

bool IsAsked(const Rule& rule, Dimension dimension) {
  if (dimension == Dimension::kAll || rule.dimension == Section::kOverall) return true;
  return rule.dimension ==
         (dimension == Dimension::kSchedule ? Section::kSchedule : Section::kComputation);
}

Result<job::Job> FindJob(const std::string& path) {
  return job::FindWholeJob({path}, {.max_depth = cluster::kFolderDepth, .allow = {}});
}

// A trace that rules are evaluated for, and the sections of these rules.
struct Asked {
  job::Trace trace;
  int64_t rank = -1;  // of several
  std::vector<Section> sections;
  Pair kernels;  // for the comparison; without a benchmark: none
  Pair calls;
};

constexpr Section kAllSections[] = {
    Section::kOverall,     Section::kComparison, Section::kMemory,   Section::kCommunication,
    Section::kComputation, Section::kDataloader, Section::kSchedule, Section::kServing};

bool Has(const std::vector<Section>& sections, Section section) {
  return std::find(sections.begin(), sections.end(), section) != sections.end();
}

std::vector<Measured> MeasuredOf(const std::vector<StepOfRank>& steps, double StepOfRank::* us) {
  std::vector<Measured> values;
  for (const StepOfRank& step : steps) values.push_back({step.step, step.rank, step.*us});
  return values;
}

// How much longer the steps take than those of the benchmark, rank by rank and step by step in
// order.
std::vector<Measured> Longer(const std::vector<StepOfRank>& steps,
                             const std::vector<StepOfRank>& benchmark, double StepOfRank::* us) {
  std::vector<Measured> values;
  for (size_t i = 0; i < std::min(steps.size(), benchmark.size()); ++i) {
    values.push_back({static_cast<int64_t>(i), steps[i].rank, steps[i].*us - benchmark[i].*us});
  }
  return values;
}

// The reference's advice in its order, then ours, what could gain most first.
bool ComesBefore(const Advice& a, const Advice& b) {
  if (a.rule->is_reference != b.rule->is_reference) return a.rule->is_reference;
  const auto gain = [](const Advice& one) {
    return std::isnan(one.evidence.gain_us) ? -1.0 : one.evidence.gain_us;
  };
  if (!a.rule->is_reference && gain(a) != gain(b)) return gain(a) > gain(b);
  return a.rule->order < b.rule->order;
}

class Adviser {
 public:
  Adviser(const Request& request, const job::NoticeSink& notify, Report& report)
      : request_(request), notify_(notify), report_(report) {}

  Status Run(const job::Job& job) {
    SONDE_ASSIGN_OR_RETURN(const cluster::RankChoice choice, cluster::ChooseRanks(job, {}));
    std::vector<Asked> asked;
    if (choice.ranks.size() > 1) {
      SONDE_ASSIGN_OR_RETURN(asked, ChooseRanks(choice));
    } else if (const auto program = job::OnlyProgram(job)) {
      Asked alone{.trace = *program, .rank = -1, .sections = {}, .kernels = {}, .calls = {}};
      alone.sections.assign(std::begin(kAllSections), std::end(kAllSections));
      alone.kernels = {.path = program->source.path, .benchmark_path = request_.benchmark_path};
      alone.calls = alone.kernels;
      SONDE_RETURN_IF_ERROR(CheckBenchmark());
      asked.push_back(std::move(alone));
    } else {
      return base::InvalidArgumentError(Concat(
          request_.path.empty() ? "what is open holds " : Concat("'", request_.path, "' holds "),
          job::Counted(job), ", which are not the ranks of one run: name one of them"));
    }
    for (const Asked& one : asked) SONDE_RETURN_IF_ERROR(AskTrace(one));
    std::stable_sort(report_.advice.begin(), report_.advice.end(), ComesBefore);
    return {};
  }

 private:
  // One trace against one, several ranks against several.
  Status CheckBenchmark() const {
    if (request_.benchmark_path.empty()) return {};
    SONDE_ASSIGN_OR_RETURN(const job::Job job, FindJob(request_.benchmark_path));
    if (job::OnlyProgram(job)) return {};
    return base::InvalidArgumentError(Concat(
        "-d holds one trace and -bp ", std::to_string(job.traces.size()), ": name one of them"));
  }

  Result<std::vector<Asked>> ChooseRanks(const cluster::RankChoice& choice) {
    for (const std::string& notice : choice.notices) report_.notices.push_back(notice);
    SONDE_ASSIGN_OR_RETURN(Ranks ranks, Measure(choice, request_.path));
    AskJob(ranks, choice);
    Extremes compute = ExtremesOf(MeasuredOf(ranks.steps, &StepOfRank::compute_us));
    Extremes free = ExtremesOf(MeasuredOf(ranks.steps, &StepOfRank::free_us));
    cluster::RankChoice fast = choice;
    if (!request_.benchmark_path.empty()) {
      SONDE_ASSIGN_OR_RETURN(fast, BenchmarkRanks());
      SONDE_ASSIGN_OR_RETURN(const Ranks benchmark, Measure(fast, request_.benchmark_path));
      compute = Against(ranks, benchmark, &StepOfRank::compute_us);
      free = Against(ranks, benchmark, &StepOfRank::free_us);
    }
    std::vector<Asked> asked;
    AskedOf(choice, -1, {Section::kOverall, Section::kServing}, asked);
    AskedOf(choice, compute.most_rank, {Section::kComputation, Section::kComparison}, asked)
        .kernels = PairOf(compute, choice, fast);
    AskedOf(choice, free.most_rank,
            {Section::kSchedule, Section::kDataloader, Section::kMemory, Section::kComparison},
            asked)
        .calls = PairOf(free, choice, fast);
    AskedOf(choice, SlowestLink(ranks, true), {Section::kCommunication}, asked);
    AskedOf(choice, SlowestLink(ranks, false), {Section::kCommunication}, asked);
    report_.cluster = std::move(ranks.outcome);
    return asked;
  }

  // The rank among those that are asked, of these sections, too; below 0 the first one.
  static Asked& AskedOf(const cluster::RankChoice& choice, int64_t rank,
                        std::initializer_list<Section> sections, std::vector<Asked>& asked) {
    const cluster::Rank* chosen = &choice.ranks.front();
    for (const cluster::Rank& one : choice.ranks) {
      if (one.number == rank) chosen = &one;
    }
    auto found = std::find_if(asked.begin(), asked.end(),
                              [&](const Asked& one) { return one.rank == chosen->number; });
    if (found == asked.end()) {
      found = asked.insert(asked.end(), Asked{});
      found->rank = chosen->number;
      found->trace = chosen->trace;
    }
    found->sections.insert(found->sections.end(), sections);
    return *found;
  }

  static std::string PathOf(const cluster::RankChoice& choice, int64_t rank) {
    for (const cluster::Rank& one : choice.ranks) {
      if (one.number == rank) return one.trace.source.path;
    }
    return {};
  }

  // Without a benchmark the slowest rank and the fastest; nothing where they are one.
  Pair PairOf(const Extremes& extremes, const cluster::RankChoice& choice,
              const cluster::RankChoice& fast) const {
    const bool is_same =
        request_.benchmark_path.empty() && extremes.most_rank == extremes.least_rank;
    if (extremes.most_rank < 0 || is_same) return {};
    return {.path = PathOf(choice, extremes.most_rank),
            .benchmark_path = PathOf(fast, extremes.least_rank),
            .rank = extremes.most_rank,
            .benchmark_rank = extremes.least_rank,
            .step = extremes.most_step,
            .benchmark_step = extremes.least_step};
  }

  static int64_t SlowestLink(const Ranks& ranks, bool is_near) {
    std::vector<Measured> values;
    for (const LinkOfRank& link : ranks.links) {
      values.push_back({link.step, link.rank, is_near ? link.SdmaGbps() : link.RdmaGbps()});
    }
    return ExtremesOf(values).least_rank;
  }

  // The step and rank with the largest difference to the same one of the benchmark.
  static Extremes Against(const Ranks& ranks, const Ranks& benchmark, double StepOfRank::* us) {
    const std::vector<Measured> longer = Longer(ranks.steps, benchmark.steps, us);
    if (longer.empty()) return {};
    const auto most =
        std::max_element(longer.begin(), longer.end(),
                         [](const Measured& a, const Measured& b) { return a.value < b.value; });
    const auto at = static_cast<size_t>(most->step);
    return {ranks.steps[at].rank, ranks.steps[at].step, benchmark.steps[at].rank,
            benchmark.steps[at].step};
  }

  Result<cluster::RankChoice> BenchmarkRanks() const {
    SONDE_ASSIGN_OR_RETURN(const job::Job job, FindJob(request_.benchmark_path));
    SONDE_ASSIGN_OR_RETURN(cluster::RankChoice choice, cluster::ChooseRanks(job, {}));
    if (choice.ranks.size() > 1) return choice;
    return base::InvalidArgumentError(
        "-d holds several ranks and -bp one: name one rank of -d, or all "
        "of the benchmark");
  }

  Result<Ranks> Measure(const cluster::RankChoice& choice, const std::string& path) {
    cluster::RunOptions options;
    options.threads = request_.threads;
    options.notify = notify_;
    SONDE_ASSIGN_OR_RETURN(Ranks ranks, MeasureRanks(choice.ranks, options, path, ""));
    for (const std::string& line : job::DescribeFailures(ranks.failures)) {
      report_.notices.push_back(Concat(line, "; the advice does not cover it"));
    }
    if (!ranks.without_causes.empty()) {
      report_.notices.push_back(
          Concat("the cause of a slow rank is unknown: ", ranks.without_causes));
    }
    return ranks;
  }

  // The rules over all ranks, which need facts of the traces only.
  void AskJob(const Ranks& ranks, const cluster::RankChoice& choice) {
    Question question;
    if (!choice.ranks.empty()) question.values = FactsOf(choice.ranks.front().trace).values;
    question.language = request_.language;
    question.path = request_.path;
    AddOptions(question);
    question.functions["slow_rank"] = [&](const Rule& rule) -> Result<Found> {
      return SlowRank(rule, ranks, request_.language);
    };
    question.functions["slow_rank_cause"] = [&](const Rule&) -> Result<Found> {
      return SlowRankCause(ranks, request_.language);
    };
    question.functions["slow_link"] = [&](const Rule&) -> Result<Found> {
      return SlowLink(ranks, request_.language);
    };
    question.functions["retransmission"] = [&](const Rule& rule) -> Result<Found> {
      return Retransmission(rule, ranks);
    };
    Needs needs(question);
    for (const Rule& rule : report_.book.rules) {
      if (rule.scope != Scope::kJob || !IsAsked(rule, request_.dimension)) continue;
      if (MayAsk(rule, needs)) AskRule(rule, question);
    }
  }

  // Reports why not.
  bool MayAsk(const Rule& rule, Needs& needs) {
    const auto missing = needs.Missing(rule.needs);
    if (missing.ok() && missing->empty()) return true;
    const std::string why = missing.ok() ? *missing : std::string(missing.status().message());
    report_.silences.push_back({rule.name, why, !missing.ok()});
    return false;
  }

  // Unreadable files take part in no rule.
  Status ReportIssues(const std::string& path, const store::JointStore& store) {
    SONDE_ASSIGN_OR_RETURN(
        const store::ResultTable issues,
        store.Query("SELECT code || ' (' || sum(count)::BIGINT || ')' FROM import_issue "
                    "WHERE severity <> 'info' GROUP BY code ORDER BY code"));
    std::vector<std::string> faults;
    for (size_t row = 0; row < issues.rows(); ++row) faults.emplace_back(issues.Text(0, row));
    if (faults.empty()) return {};
    report_.notices.push_back(Concat("'", path, "': the data has faults: ",
                                     base::Join(faults, ", "), "; 'sonde analyse' explains them"));
    return {};
  }

  // Figures of a device whose work is missing are bounds.
  Status ReportLostWork(const std::string& path, const store::JointStore& store) {
    SONDE_ASSIGN_OR_RETURN(const store::ResultTable lost,
                           store.Query("SELECT (total - covered)::VARCHAR, total::VARCHAR FROM "
                                       "coverage WHERE what = 'launches' AND "
                                       "covered > 0 AND share_percent < 99"));
    if (lost.rows() == 0) return {};
    report_.notices.push_back(
        Concat("'", path, "': ",
               recipes::FilledText("coverage.launches", {"", lost.Text(0, 0), lost.Text(1, 0)},
                                   recipes::Language::kEnglish)));
    return {};
  }

  Status AskTrace(const Asked& asked) {
    job::Job alone;
    alone.traces = {asked.trace};
    alone.traces.front().number = 0;
    SONDE_ASSIGN_OR_RETURN(
        const job::OpenedJob opened,
        job::Open(alone, {.threads = request_.threads,
                          .notify = notify_,
                          .complain = [](std::string_view) {},  // the failure is returned
                          .shows_progress = false,
                          .is_thrifty = true,
                          .statements = {}}));
    SONDE_RETURN_IF_ERROR(opened.store->Offer(
        job::MakeResults(opened.files, opened.columns, request_.threads, notify_)));
    SONDE_RETURN_IF_ERROR(ReportIssues(asked.trace.source.path, *opened.store));
    TraceFacts facts = FactsOf(asked.trace);
    for (std::string& notice : facts.notices) report_.notices.push_back(std::move(notice));
    if (facts.values["is_other"] == Value(int64_t{1})) {
      SONDE_RETURN_IF_ERROR(ReportLostWork(asked.trace.source.path, *opened.store));
    }
    Question question;
    question.store = opened.store.get();
    question.values = std::move(facts.values);
    question.language = request_.language;
    question.rank = asked.rank;
    question.path = asked.trace.source.path;
    question.trace = asked.trace.number;
    AddOptions(question);
    question.values["has_pair"] = static_cast<int64_t>(!asked.kernels.benchmark_path.empty() ||
                                                       !asked.calls.benchmark_path.empty());
    // Of several devices sums of kernels are not parts of one time.
    SONDE_ASSIGN_OR_RETURN(const bool has_one, HasOneDevice(*opened.store));
    question.values["is_single"] = static_cast<int64_t>(asked.rank < 0 && has_one);
    question.values["rank_column"] =
        asked.rank < 0 ? std::string() : Concat(std::to_string(asked.rank), " AS \"Rank id\", ");
    AddFunctions(asked, question);
    return AskRules(asked.sections, question);
  }

  static Result<bool> HasOneDevice(const store::JointStore& store) {
    SONDE_ASSIGN_OR_RETURN(
        const store::ResultTable devices,
        store.Query("SELECT count(DISTINCT (process_id, device_id)) FROM device_task"));
    return devices.Int(0, 0) <= 1;
  }

  void AddOptions(Question& question) const {
    question.values["language"] =
        std::string(request_.language == Language::kChinese ? "cn" : "en");
    question.values["cann"] = request_.cann_version;
    question.values["torch"] = request_.torch_version;
    question.values["has_no_benchmark"] = static_cast<int64_t>(request_.benchmark_path.empty());
  }

  void AddFunctions(const Asked& asked, Question& question) const {
    question.functions["overall_summary"] = [this, path = question.path](const Rule& rule) {
      return OverallSummary(rule, path, request_.language, request_.threads);
    };
    question.functions["kernel_compare"] = [this, pair = asked.kernels](const Rule& rule) {
      return KernelCompare(rule, pair, request_.threads);
    };
    question.functions["api_compare"] = [this, pair = asked.calls](const Rule& rule) {
      return ApiCompare(rule, pair, request_.threads);
    };
  }

  Status AskRules(const std::vector<Section>& sections, Question& question) {
    Needs needs(question);
    SONDE_RETURN_IF_ERROR(ChooseTables(report_.book.tables, needs, question));
    for (const Rule& rule : report_.book.rules) {
      if (rule.scope != Scope::kTrace || !Has(sections, rule.section)) continue;
      if (!IsAsked(rule, request_.dimension)) continue;
      if (!MayAsk(rule, needs)) continue;
      if (HasTables(rule, question)) AskRule(rule, question);
    }
    return {};
  }

  // Reports why not.
  bool HasTables(const Rule& rule, Question& question) {
    const Status made = MakeTables(rule, question);
    const auto empty = made.ok() ? EmptyNeed(rule, question) : Result<std::string>(made);
    if (empty.ok() && empty->empty()) return true;
    const std::string why = empty.ok() ? *empty : std::string(empty.status().message());
    report_.silences.push_back({rule.name, why, !empty.ok()});
    return false;
  }

  void AskRule(const Rule& rule, const Question& question) {
    auto advice = Evaluate(rule, question);
    if (!advice.ok()) {
      report_.silences.push_back({rule.name, std::string(advice.status().message()), true});
    } else if (advice->has_value()) {
      report_.advice.push_back(std::move(**advice));
    }
  }

  const Request& request_;
  const job::NoticeSink& notify_;
  Report& report_;
};

}  // namespace

Result<std::unique_ptr<Report>> Advise(const Request& request, const job::NoticeSink& notify) {
  SONDE_ASSIGN_OR_RETURN(const job::Job job, FindJob(request.path));
  return Advise(request, job, notify);
}

Result<std::unique_ptr<Report>> Advise(const Request& request, const job::Job& job,
                                       const job::NoticeSink& notify) {
  auto report = std::make_unique<Report>();
  SONDE_ASSIGN_OR_RETURN(report->book, LoadRules(request.rule_folders));
  report->path = request.path;
  report->language = request.language;
  SONDE_RETURN_IF_ERROR(Adviser(request, notify, *report).Run(job));
  return report;
}

}  // namespace sonde::advisor
