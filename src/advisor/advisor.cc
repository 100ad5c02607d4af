#include "advisor/advisor.h"

#include <algorithm>
#include <utility>

#include "advisor/frame/evaluate.h"
#include "advisor/frame/trace_facts.h"
#include "advisor/functions/functions.h"
#include "base/strings.h"
#include "job/job.h"
#include "job/results.h"

namespace sonde::advisor {
namespace {

using base::Concat;

bool IsAsked(const Rule& rule, Dimension dimension) {
  if (dimension == Dimension::kAll || rule.dimension == Section::kOverall) return true;
  return rule.dimension ==
         (dimension == Dimension::kSchedule ? Section::kSchedule : Section::kComputation);
}

class Adviser {
 public:
  Adviser(const Request& request, const job::Say& notify, Report& report)
      : request_(request), notify_(notify), report_(report) {}

  Status Run() {
    SONDE_ASSIGN_OR_RETURN(const job::Job job, job::FindWholeJob({request_.path}));
    if (job.traces.size() > 1) {
      return base::InvalidArgumentError(
          Concat("'", request_.path, "' holds ", std::to_string(job.traces.size()), " traces"));
    }
    return AskTrace(job.traces.front(), -1);
  }

 private:
  Status AskTrace(const job::Trace& trace, int64_t rank) {
    job::Job alone;
    alone.traces = {trace};
    alone.traces.front().number = 0;
    SONDE_ASSIGN_OR_RETURN(
        const job::OpenedJob opened,
        job::Open(alone, {.threads = request_.threads,
                          .notify = notify_,
                          .complain = [](std::string_view) {},  // the failure is returned
                          .shows_progress = false,
                          .statements = {.threads = request_.threads}}));
    SONDE_RETURN_IF_ERROR(opened.store->Offer(
        job::MakeResults(opened.files, opened.columns, request_.threads, notify_)));
    TraceFacts facts = FactsOf(trace);
    for (std::string& notice : facts.notices) report_.notices.push_back(std::move(notice));
    Question question;
    question.store = opened.store.get();
    question.values = std::move(facts.values);
    question.language = request_.language;
    question.rank = rank;
    question.path = trace.source.path;
    AddOptions(question);
    AddFunctions(question);
    return AskRules(question);
  }

  void AddOptions(Question& question) const {
    question.values["language"] =
        std::string(request_.language == Language::kChinese ? "cn" : "en");
    question.values["cann"] = request_.cann_version;
    question.values["torch"] = request_.torch_version;
    question.values["has_benchmark"] = static_cast<int64_t>(!request_.benchmark_path.empty());
    question.values["has_no_benchmark"] = static_cast<int64_t>(request_.benchmark_path.empty());
  }

  void AddFunctions(Question& question) const {
    const std::string path = question.path;
    const Pair pair{.path = path, .benchmark_path = request_.benchmark_path};
    question.functions["overall_summary"] = [this, path](const Rule& rule) {
      return OverallSummary(rule, path, request_.language, request_.threads);
    };
    question.functions["kernel_compare"] = [this, pair](const Rule& rule) {
      return KernelCompare(rule, pair, request_.threads);
    };
    question.functions["api_compare"] = [this, pair](const Rule& rule) {
      return ApiCompare(rule, pair, request_.threads);
    };
  }

  Status AskRules(Question& question) {
    Needs needs(question);
    SONDE_RETURN_IF_ERROR(ChooseTables(report_.book.tables, needs, question));
    for (const Rule& rule : report_.book.rules) {
      if (!IsAsked(rule, request_.dimension) || rule.scope != Scope::kTrace) continue;
      if (request_.only_reference && !rule.is_reference) continue;
      const auto missing = needs.Missing(rule.needs);
      if (!missing.ok()) {
        report_.silences.push_back({rule.name, std::string(missing.status().message()), true});
        continue;
      }
      if (!missing->empty()) {
        report_.silences.push_back({rule.name, *missing, false});
        continue;
      }
      auto advice = Evaluate(rule, question);
      if (!advice.ok()) {
        report_.silences.push_back({rule.name, std::string(advice.status().message()), true});
      } else if (advice->has_value()) {
        report_.advice.push_back(std::move(**advice));
      }
    }
    return {};
  }

  const Request& request_;
  const job::Say& notify_;
  Report& report_;
};

}  // namespace

Result<std::unique_ptr<Report>> Advise(const Request& request, const job::Say& notify) {
  auto report = std::make_unique<Report>();
  SONDE_ASSIGN_OR_RETURN(report->book, LoadRules(request.rule_folders));
  report->path = request.path;
  report->language = request.language;
  SONDE_RETURN_IF_ERROR(Adviser(request, notify, *report).Run());
  return report;
}

}  // namespace sonde::advisor
