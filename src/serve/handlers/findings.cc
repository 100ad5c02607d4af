// GET /api/findings?lang=en|zh: the findings of the analyses of all traces that are ready, the most
// important first. GET /api/advice?lang=en|zh: what importers advise, by the text in the tables.
#include <algorithm>

#include "base/strings.h"
#include "recipes/finding/slow_rank.h"
#include "serve/handlers.h"
#include "serve/result_message.h"

namespace sonde::serve {
namespace {

using recipes::Finding;

int Weight(const FindingMessage& message) {
  return message.severity == "error" ? 0 : message.severity == "warning" ? 1 : 2;
}

using Found = std::shared_ptr<const recipes::TraceFindings>;

// The findings of each trace, which are computed once.
Result<std::vector<Found>> FindingsOf(const std::vector<std::shared_ptr<const Trace>>& traces) {
  std::vector<Found> found(traces.size());
  std::vector<std::shared_ptr<const Trace>> missing;
  std::vector<size_t> places;
  for (size_t i = 0; i < traces.size(); ++i) {
    found[i] = traces[i]->findings.load();
    if (found[i] != nullptr) continue;
    missing.push_back(traces[i]);
    places.push_back(i);
  }
  const auto find = [&](size_t at, const job::TraceInHand& trace) -> Status {
    const auto view = recipes::DeviceView::Make(trace.data);
    found[places[at]] = std::make_shared<const recipes::TraceFindings>(
        recipes::TraceFindings{recipes::FindingsOf(view), recipes::WorkOf(view)});
    missing[at]->findings.store(found[places[at]]);
    return {};
  };
  for (const Status& status : OverTraces(missing, recipes::kSlowRankNeeds, find)) {
    SONDE_RETURN_IF_ERROR(status);
  }
  return found;
}

}  // namespace

Result<HttpAnswer> HandleFindings(Session& session, const HttpRequest& request) {
  const recipes::Language language = LanguageOf(request.Text("lang"));
  const bool is_chinese = language == recipes::Language::kChinese;
  const auto ready = session.Ready();
  std::string key = base::Concat("findings/", is_chinese ? "zh" : "en");
  for (const auto& trace : ready) key += "/" + std::to_string(trace->store_id);
  HttpAnswer answer{.body = session.Remembered(key)};
  if (!answer.body.empty()) return answer;
  std::vector<FindingMessage> messages;
  std::vector<recipes::RankWork> work;
  SONDE_ASSIGN_OR_RETURN(const auto found, FindingsOf(ready));
  for (size_t i = 0; i < ready.size(); ++i) {
    const Trace& trace = *ready[i];
    for (const Finding& finding : found[i]->findings) {
      messages.push_back(MessageOf(finding, trace.id, language));
    }
    work.push_back(found[i]->work);
    work.back().rank = trace.label().rank;
    work.back().run = trace.label().run;
  }
  for (const Finding& finding : recipes::SlowRanks(work)) {
    messages.push_back(MessageOf(finding, -1, language));
  }
  std::stable_sort(messages.begin(), messages.end(), [](const auto& a, const auto& b) {
    return std::pair(Weight(a), a.trace) < std::pair(Weight(b), b.trace);
  });
  answer.body = ToJson(messages);
  session.Remember(key, answer.body);
  return answer;
}

Result<HttpAnswer> HandleAdvice(Session& /*session*/, const HttpRequest& request) {
  const recipes::Language language = LanguageOf(request.Text("lang"));
  std::vector<AdviceMessage> messages;
  for (const auto& [english, chinese] : recipes::KnownAdvice()) {
    const auto text = language == recipes::Language::kChinese ? chinese : english;
    messages.push_back({.advice = std::string(english), .text = std::string(text)});
  }
  return HttpAnswer{.body = ToJson(messages)};
}

}  // namespace sonde::serve
