// GET /api/advisor?trace=&base=&lang=en|zh: what to do about a trace, or, without `trace`, about
// the ranks of all that are ready (src/advisor), each advice with its evidence and the slices that
// show it. `base`: the trace that one is compared with. Where there is no advice the answer has
// the reason.
#include "advisor/advisor.h"

#include <algorithm>

#include "advisor/output/needs.h"
#include "advisor/output/write.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "serve/cells.h"
#include "serve/handlers.h"
#include "serve/result_message.h"

namespace sonde::serve {
namespace {

constexpr size_t kMaxAdviceRows = 1000;  // of a sheet

struct Asked {
  job::Job job;              // numbered from 0
  std::vector<int32_t> ids;  // of the session, by number in the job
  std::string key;
};

// Those that are there as a whole; `only`: -1 all.
Asked AskedOf(const Session& session, int64_t only) {
  Asked asked;
  const job::Job whole = session.Job();
  for (const auto& trace : session.Ready()) {
    if (only >= 0 && trace->id != only) continue;
    if (trace->is_copy && only < 0) continue;
    job::Trace taken = whole.traces[static_cast<size_t>(trace->id)];
    taken.number = static_cast<int32_t>(asked.ids.size());
    taken.rank = trace->label().rank;
    asked.job.traces.push_back(std::move(taken));
    asked.ids.push_back(trace->id);
    asked.key += base::Concat("/", std::to_string(trace->store_id));
  }
  return asked;
}

void PassValue(const advisor::Value& value, CellSink& cells) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    cells.Int(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    cells.Double(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    cells.Text(*text);
  } else {
    cells.Null();
  }
}

RuleSheetMessage AdviceMessageOf(const advisor::AdviceSheet& sheet) {
  RuleSheetMessage message;
  message.name = sheet.name;
  message.columns = sheet.columns;
  message.total = static_cast<int64_t>(sheet.rows.size());
  const size_t shown = std::min(sheet.rows.size(), kMaxAdviceRows);
  CellSink cells(static_cast<int64_t>(shown));
  for (size_t row = 0; row < shown; ++row) {
    for (const advisor::Value& value : sheet.rows[row]) PassValue(value, cells);
    cells.EndRow();
  }
  message.rows.text = cells.Take();
  for (size_t row = 0; row < std::min(shown, sheet.slices.size()); ++row) {
    message.slices.push_back(sheet.slices[row]);
  }
  return message;
}

RuleAdviceMessage AdviceMessageOf(const advisor::Report& report, const advisor::Advice& advice,
                                  const std::vector<int32_t>& ids) {
  RuleAdviceMessage message;
  message.rule = advice.rule->name;
  message.section = advisor::NameOf(advice.rule->section);
  message.trace = advice.trace < 0 ? -1 : ids[static_cast<size_t>(advice.trace)];
  message.title = advice.title;
  message.description = advice.description;
  message.suggestions = advice.suggestions;
  message.priority = advisor::NameOf(advice.priority);
  message.confidence = advice.rule->confidence;
  message.evidence = advisor::EvidenceText(report, advice);
  message.place = advice.evidence.place_slice;
  if (advice.evidence.baseline.empty()) message.statement = advice.evidence.statement;
  if (!advice.sheet.rows.empty()) message.sheets.push_back(AdviceMessageOf(advice.sheet));
  for (const advisor::AdviceSheet& sheet : advice.more_sheets) {
    if (!sheet.rows.empty()) message.sheets.push_back(AdviceMessageOf(sheet));
  }
  return message;
}

AdvisorMessage AdviceMessageOf(const advisor::Report& report, const std::vector<int32_t>& ids) {
  AdvisorMessage message;
  for (const advisor::Advice& advice : report.advice) {
    if (advice.is_for_files) continue;
    message.advice.push_back(AdviceMessageOf(report, advice, ids));
  }
  for (const advisor::Silence& silence : report.silences) {
    message.silences.push_back({.rule = silence.rule,
                                .why = advisor::NeedText(silence, report.language),
                                .failed = silence.is_failure});
  }
  message.notices = report.notices;
  return message;
}

}  // namespace

Result<HttpAnswer> HandleAdvisor(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t only, request.Int("trace", -1));
  SONDE_ASSIGN_OR_RETURN(const int64_t base, request.Int("base", -1));
  if (only >= 0) SONDE_RETURN_IF_ERROR(session.Find(only).status());
  advisor::Request question;
  question.language = LanguageOf(request.Text("lang"));
  question.threads = base::AvailableThreads();
  const Asked asked = AskedOf(session, only);
  std::string key = base::Concat("advisor/", request.Text("lang"), asked.key);
  if (base >= 0) {
    SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(base));
    question.benchmark_path = session.Job().traces[static_cast<size_t>(trace->id)].source.path;
    key += base::Concat("/base/", std::to_string(trace->store_id));
  }
  HttpAnswer answer{.body = session.Remembered(key)};
  if (!answer.body.empty()) return answer;
  const auto report = advisor::Advise(question, asked.job, [](std::string_view) {});
  AdvisorMessage message;
  if (report.ok()) {
    message = AdviceMessageOf(**report, asked.ids);
  } else {
    message.missing = report.status().message();
  }
  answer.body = ToJson(message);
  session.Remember(key, answer.body);
  return answer;
}

}  // namespace sonde::serve
