// GET /api/cluster?mode=&lang=en|zh&limit=: the tables of a mode of `sonde cluster` (src/cluster)
// over the traces that are ready, and its findings. A rank that fails is named, the others
// count; where no rank holds what the mode needs, the answer has that reason and no tables.
#include <algorithm>

#include "base/strings.h"
#include "cluster/frame/run.h"
#include "serve/cells.h"
#include "serve/handlers.h"
#include "serve/ranks.h"
#include "serve/result_message.h"

namespace sonde::serve {
namespace {

constexpr int64_t kMaxClusterRows = 200'000;  // of a table

ClusterTableMessage TableMessageOf(const cluster::Table& table, int64_t limit) {
  ClusterTableMessage message;
  message.name = table.info().reference_name;
  message.meaning = table.info().result.meaning;
  message.columns = ColumnsOf(table.info().result.columns);
  CellSink cells(limit);
  cluster::WriteRows(table, cells);
  message.complete = cells.is_complete();
  message.rows.text = cells.Take();
  return message;
}

void Fill(const cluster::RunResult& result, int64_t limit, recipes::Language language,
          ClusterMessage& message) {
  for (ClusterRankMessage& rank : message.ranks) {
    const auto& without = result.without;
    rank.empty = std::find(without.begin(), without.end(), rank.rank) != without.end();
  }
  for (const cluster::Table& table : result.outcome.tables) {
    message.tables.push_back(TableMessageOf(table, limit));
  }
  for (const recipes::Finding& finding : result.outcome.findings) {
    FindingMessage& added = message.findings.emplace_back(MessageOf(finding, -1, language));
    added.evidence.clear();  // a table of this answer
  }
  const auto& notices = result.outcome.notices;
  message.notices.insert(message.notices.end(), notices.begin(), notices.end());
}

void FillFailures(const std::vector<job::TraceFailure>& failures,
                  const std::vector<cluster::Rank>& ranks, ClusterMessage& message) {
  for (const job::TraceFailure& failure : failures) {
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i].trace.source.path != failure.path) continue;
      message.ranks[i].error = failure.why.message();
    }
  }
}

}  // namespace

Result<HttpAnswer> HandleCluster(Session& session, const HttpRequest& request) {
  const cluster::Mode* mode = cluster::FindMode(request.Text("mode"));
  if (mode == nullptr) {
    return base::NotFoundError(base::Concat("there is no mode '", request.Text("mode"), "'"));
  }
  SONDE_ASSIGN_OR_RETURN(const int64_t asked, request.Int("limit", kMaxClusterRows));
  const int64_t limit = std::clamp<int64_t>(asked, 1, kMaxClusterRows);
  const recipes::Language language = LanguageOf(request.Text("lang"));
  const auto ready = session.Ready();
  std::string key =
      base::Concat("cluster/", mode->name, "/", request.Text("lang"), "/", std::to_string(limit));
  for (const auto& trace : ready) key += "/" + std::to_string(trace->store_id);
  HttpAnswer answer{.body = session.Remembered(key)};
  if (!answer.body.empty()) return answer;
  const SessionRanks ranks(ready, session.Job());
  SONDE_ASSIGN_OR_RETURN(auto choice, ranks.Choose());
  ClusterMessage message;
  message.mode = mode->name;
  message.notices = std::move(choice.notices);
  for (const cluster::Rank& rank : choice.ranks) {
    message.ranks.push_back({.rank = rank.number, .trace = rank.trace.number});
  }
  const auto result = ranks.Run(*mode, choice.ranks);
  if (result.ok()) {
    FillFailures(result->failures, choice.ranks, message);
    Fill(*result, limit, language, message);
  } else {
    message.missing = result.status().message();
  }
  answer.body = ToJson(message);
  session.Remember(key, answer.body);
  return answer;
}

}  // namespace sonde::serve
