// GET /api/recipe?trace=&name=&limit=: the first rows of an analysis (src/recipes) with what its
// columns mean. GET /api/results?traces=&name=&limit=: those of several traces in one answer;
// `traces`: "0-15,20". One that fails has the reason in its part, and where the answer grows too
// long the others are left out, to be asked for again. GET /api/recipes: which there are. Rows are
// kept while there is room for them.
#include <algorithm>
#include <chrono>
#include <set>
#include <span>

#include "base/strings.h"
#include "recipes/registry.h"
#include "serve/cells.h"
#include "serve/handlers.h"
#include "serve/result_message.h"

namespace sonde::serve {
namespace {

constexpr int64_t kMaxRecipeRows = 100'000;
constexpr int64_t kMostTraces = 100'000;
constexpr size_t kMostBytes = size_t{32} << 20U;  // of an answer, from which on no trace is added
constexpr size_t kTracesAtOnce = 256;

ResultMessage Described(const store::ResultInfo& result) {
  ResultMessage message;
  message.name = result.name;
  message.meaning = result.meaning;
  message.columns = ColumnsOf(result.columns);
  return message;
}

Result<const recipes::Recipe*> RecipeOf(const HttpRequest& request) {
  const recipes::Recipe* recipe = recipes::FindRecipe(request.Text("name"));
  if (recipe != nullptr) return recipe;
  return base::NotFoundError(base::Concat("there is no recipe '", request.Text("name"), "'"));
}

Result<int64_t> LimitOf(const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t limit, request.Int("limit", kMaxRecipeRows));
  return std::clamp<int64_t>(limit, 1, kMaxRecipeRows);
}

// The rows of one trace; what is remembered of them begins with whether they are all.
constexpr char kAll = '1';

// `among`: number of other traces that the rows depend on.
std::string KeyOfRows(const Trace& trace, const recipes::Recipe& recipe, int64_t limit,
                      size_t among) {
  return base::Concat(std::to_string(trace.store_id), "/", recipe.result->name, "/",
                      std::to_string(limit), "/", std::to_string(among));
}

// Notices about the clocks of traces that waits are computed from: a line each.
std::string KeyOfClocks(const recipes::Recipe& recipe,
                        const std::vector<std::shared_ptr<const Trace>>& all) {
  std::string key = base::Concat("clocks/", recipe.result->name);
  for (const auto& trace : all) key += base::Concat("/", std::to_string(trace->store_id));
  return key;
}

std::vector<std::string> LinesOf(std::string_view remembered) {
  if (remembered.empty()) return {};
  const auto lines = base::Split(remembered, '\n');
  return {lines.begin(), lines.end()};
}

void TakeRows(std::string remembered, ResultPartMessage& part) {
  part.complete = remembered.front() == kAll;
  part.rows.text = std::move(remembered.erase(0, 1));
}

// Fills the rows, or the error, of the parts of these traces. Where rows depend on the other traces
// (Needs::waits), on all that are ready, whichever were asked for. Returns notices about their
// clocks.
std::vector<std::string> FillParts(Session& session, const recipes::Recipe& recipe, int64_t limit,
                                   std::span<const std::shared_ptr<const Trace>> traces,
                                   std::span<ResultPartMessage> parts) {
  const auto all = recipe.needs.waits ? session.Ready() : decltype(session.Ready()){};
  std::vector<std::shared_ptr<const Trace>> in_hand;  // first those whose part is missing
  std::vector<size_t> places;
  for (size_t i = 0; i < traces.size(); ++i) {
    std::string known = session.Remembered(KeyOfRows(*traces[i], recipe, limit, all.size()));
    if (!known.empty()) {
      TakeRows(std::move(known), parts[i]);
    } else {
      in_hand.push_back(traces[i]);
      places.push_back(i);
    }
  }
  const std::string clocks = KeyOfClocks(recipe, all);
  if (in_hand.empty()) return LinesOf(session.Remembered(clocks));
  for (const auto& trace : all) {
    const auto missing = in_hand.begin() + static_cast<std::ptrdiff_t>(places.size());
    if (std::find(in_hand.begin(), missing, trace) == missing) in_hand.push_back(trace);
  }
  const auto fill = [&](size_t at, const job::TraceInHand& trace) -> Status {
    CellSink rows(limit);
    recipe.run(trace.View(recipe.needs), rows);
    std::string kept = (rows.is_complete() ? kAll : '0') + rows.Take();
    session.Remember(KeyOfRows(*in_hand[at], recipe, limit, all.size()), kept);
    if (at < places.size()) TakeRows(std::move(kept), parts[places[at]]);
    return {};
  };
  std::vector<std::string> lines;
  const auto statuses = OverTraces(in_hand, recipe.needs, fill,
                                   [&](std::string_view line) { lines.emplace_back(line); });
  for (size_t at = 0; at < places.size(); ++at) parts[places[at]].error = statuses[at].message();
  if (!lines.empty()) session.Remember(clocks, base::Join(lines, "\n"));
  return lines;
}

// "0-15,20", each once.
Result<std::vector<int64_t>> ParseNumbers(std::string_view text) {
  std::set<int64_t> numbers;
  for (const std::string_view item : base::Split(text, ',')) {
    const auto ends = base::Split(item, '-');
    const auto first = base::ParseInt64(ends[0]);
    const auto last = base::ParseInt64(ends.back());
    if (!first || !last || ends.size() > 2 || *first < 0 || *last < *first ||
        *last - *first > kMostTraces || numbers.size() > kMostTraces) {
      return base::InvalidArgumentError("'traces' must be numbers of traces: 0-15,20");
    }
    for (int64_t number = *first; number <= *last; ++number) numbers.insert(number);
  }
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

}  // namespace

Result<HttpAnswer> HandleRecipe(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t id, request.Int("trace"));
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(id));
  SONDE_ASSIGN_OR_RETURN(const int64_t limit, LimitOf(request));
  SONDE_ASSIGN_OR_RETURN(const recipes::Recipe* recipe, RecipeOf(request));
  ResultMessage message = Described(*recipe->result);
  ResultPartMessage part;
  const auto started = std::chrono::steady_clock::now();
  FillParts(session, *recipe, limit, {&trace, 1}, {&part, 1});
  if (!part.error.empty()) return base::InternalError(part.error);
  message.elapsed = std::chrono::nanoseconds(std::chrono::steady_clock::now() - started).count();
  message.complete = part.complete;
  message.rows = std::move(part.rows);
  return HttpAnswer{.body = ToJson(message)};
}

Result<HttpAnswer> HandleResults(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const auto numbers, ParseNumbers(request.Text("traces")));
  SONDE_ASSIGN_OR_RETURN(const int64_t limit, LimitOf(request));
  SONDE_ASSIGN_OR_RETURN(const recipes::Recipe* recipe, RecipeOf(request));
  ResultsMessage message;
  message.name = recipe->result->name;
  message.columns = Described(*recipe->result).columns;
  size_t bytes = 0;
  for (size_t begin = 0; begin < numbers.size() && bytes < kMostBytes; begin += kTracesAtOnce) {
    std::vector<std::shared_ptr<const Trace>> traces;
    std::vector<ResultPartMessage> parts;
    for (size_t i = begin; i < std::min(numbers.size(), begin + kTracesAtOnce); ++i) {
      ResultPartMessage part = {.trace = static_cast<int32_t>(numbers[i])};
      auto trace = session.Find(numbers[i]);
      if (!trace.ok()) {
        part.error = trace.status().message();
        message.parts.push_back(std::move(part));
        continue;
      }
      traces.push_back(*std::move(trace));
      parts.push_back(std::move(part));
    }
    message.notices = FillParts(session, *recipe, limit, traces, parts);
    for (ResultPartMessage& part : parts) {
      bytes += part.rows.text.size();
      message.parts.push_back(std::move(part));
    }
  }
  return HttpAnswer{.body = ToJson(message)};
}

Result<HttpAnswer> HandleRecipes(Session& /*session*/, const HttpRequest& /*request*/) {
  std::vector<ResultMessage> messages;
  for (const store::ResultInfo* result : recipes::Results()) {
    messages.push_back(Described(*result));
  }
  return HttpAnswer{.body = ToJson(messages)};
}

}  // namespace sonde::serve
