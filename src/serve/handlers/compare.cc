// GET /api/compare?base=&comparison=&lang=en|zh: how a step of one trace differs from one of
// another (src/compare): sentences, stages, causes and the tree. Two traces that hold nothing to
// compare are an answer with that reason.
#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "compare/difference/tables.h"
#include "compare/frame/load.h"
#include "serve/cells.h"
#include "serve/handlers.h"
#include "serve/result_message.h"

namespace sonde::serve {
namespace {

constexpr int64_t kMaxCompareRows = 200'000;  // of a table

using Both = std::array<std::shared_ptr<const Trace>, 2>;

Result<std::array<compare::Side, 2>> SidesOf(const Both& traces) {
  std::array<compare::Side, 2> sides;
  const auto take = [&](size_t at, const job::TraceInHand& trace) -> Status {
    SONDE_ASSIGN_OR_RETURN(sides[at],
                           compare::SideOf(trace.data, traces[at]->file.path, compare::kNone));
    return {};
  };
  for (const Status& status : OverTraces(traces, compare::SideNeeds(), take)) {
    SONDE_RETURN_IF_ERROR(status);
  }
  return sides;
}

ClusterTableMessage TableMessageOf(const compare::Sheet& sheet) {
  const store::ResultInfo& result = compare::ResultOf(sheet);
  ClusterTableMessage message;
  message.name = result.name;
  message.meaning = result.meaning;
  message.columns = ColumnsOf(result.columns);
  CellSink cells(kMaxCompareRows);
  compare::WriteRows(sheet, cells);
  message.complete = cells.is_complete();
  message.rows.text = cells.Take();
  return message;
}

void Fill(const std::array<compare::Side, 2>& sides, recipes::Language language,
          ComparisonMessage& message) {
  if (sides[0].IsEmpty() || sides[1].IsEmpty()) {
    message.missing = base::Concat(sides[0].IsEmpty() ? "the base" : "the trace under study",
                                   " holds neither operators nor work of a device");
    return;
  }
  const compare::Judgement judgement = compare::Judge(sides[0], sides[1]);
  message.verdict = compare::TextOf(judgement.stages.front().verdict);
  const std::string sentences = compare::SentencesOf(judgement, language);
  for (const std::string_view line : base::Split(sentences, '\n')) {
    if (!line.empty()) message.sentences.emplace_back(line);
  }
  for (auto& [cell, text] : compare::WordsOf(language)) {
    message.words.push_back({.cell = std::move(cell), .text = std::move(text)});
  }
  for (const compare::Sheet& sheet : compare::ResultSheets(judgement)) {
    message.tables.push_back(TableMessageOf(sheet));
  }
}

}  // namespace

Result<HttpAnswer> HandleCompare(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t base, request.Int("base"));
  SONDE_ASSIGN_OR_RETURN(const int64_t comparison, request.Int("comparison"));
  Both traces;
  SONDE_ASSIGN_OR_RETURN(traces[0], session.Find(base));
  SONDE_ASSIGN_OR_RETURN(traces[1], session.Find(comparison));
  const std::string key =
      base::Concat("compare/", std::to_string(traces[0]->store_id), "/",
                   std::to_string(traces[1]->store_id), "/", request.Text("lang"));
  HttpAnswer answer{.body = session.Remembered(key)};
  if (!answer.body.empty()) return answer;
  ComparisonMessage message;
  message.base = traces[0]->label().trace;
  message.comparison = traces[1]->label().trace;
  SONDE_ASSIGN_OR_RETURN(const auto sides, SidesOf(traces));
  Fill(sides, LanguageOf(request.Text("lang")), message);
  answer.body = ToJson(message);
  session.Remember(key, answer.body);
  return answer;
}

}  // namespace sonde::serve
