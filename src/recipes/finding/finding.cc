#include "recipes/finding/finding.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/host/fixed.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "recipes/coverage/coverage.h"
#include "recipes/finding/limits.h"
#include "recipes/finding/rules.h"
#include "recipes/finding/slow_rank.h"
#include "recipes/meaning/meaning.h"
#include "recipes/recipe.h"
#include "recipes/request_time/request_time.h"
#include "recipes/serving_summary/serving_summary.h"

namespace sonde::recipes {
namespace {

using base::Concat;
using base::Fixed;

struct Text {
  std::string_view key;
  std::string_view english;
  std::string_view chinese;
};
#define TEXT(key, english, chinese) Text{key, english, chinese},
#define ADVICE(english, chinese) Text{english, english, chinese},
constexpr Text kTexts[] = {
#include "recipes/finding/advice.inc"
#include "recipes/finding/texts.inc"
};
#undef ADVICE
#undef TEXT

const Text* FindText(std::string_view key) {
  const auto* text = std::find_if(std::begin(kTexts), std::end(kTexts),
                                  [&](const Text& t) { return t.key == key; });
  return text == std::end(kTexts) ? nullptr : text;
}

// The text of an argument: "@key|arguments" refers to another text.
std::string ArgumentText(const std::string& argument, Language language) {
  if (!argument.starts_with('@')) return argument;
  const auto parts = base::Split(std::string_view(argument).substr(1), '|');
  if (FindText(parts[0]) == nullptr) return argument;
  return FilledText(parts[0], {parts.begin() + 1, parts.end()}, language);
}

// `place`: between the braces of a text, see texts.inc.
std::string FilledPlace(std::string_view place, const std::vector<std::string>& arguments,
                        Language language) {
  const size_t space = place.find(' ');
  const auto index = base::ParseUint64(place.substr(0, space));
  if (!index || *index >= arguments.size()) return {};
  std::string argument = ArgumentText(arguments[*index], language);
  if (space == std::string_view::npos) return argument;
  const std::string_view nouns = place.substr(space + 1);
  const size_t bar = nouns.find('|');
  CHECK(bar != std::string_view::npos, "a noun in a text of a finding has no plural");
  return Concat(argument, " ", argument == "1" ? nouns.substr(0, bar) : nouns.substr(bar + 1));
}

// Issues of one code and advice are one finding.
void AddIssues(const TraceData& data, std::vector<Finding>& findings) {
  std::map<std::pair<std::string_view, std::string_view>, Finding> sums;
  for (const ImportIssue& issue : data.issues) {
    Finding& sum = sums[{issue.code, issue.advice}];
    sum.rule = "import_issue";
    sum.severity = issue.severity;
    sum.subject = issue.code;
    sum.value += static_cast<double>(issue.count);
    sum.text_key = sum.rule;
    const bool has_text = FindText(issue.advice) != nullptr;  // else it is of the data
    sum.arguments = {issue.code, Fixed(sum.value, 0), Concat(has_text ? "@" : "", issue.advice)};
    sum.evidence = Concat("SELECT * FROM import_issue WHERE code = '", issue.code, "'");
  }
  for (auto& [key, sum] : sums) findings.push_back(std::move(sum));
}

}  // namespace

std::vector<Finding> CoverageFindings(const DeviceView& view) {
  std::vector<Finding> findings;
  for (const CoverageRow& row : Coverage(view)) {
    const double share = row.share_percent / 100;
    if (share >= kCoverageShare.value) continue;
    Finding finding;
    finding.rule = "coverage";
    finding.severity = "warning";
    finding.subject = row.what;
    finding.value = row.share_percent;
    finding.unit = "%";
    finding.limit = 100 * kCoverageShare.value;
    finding.text_key = Concat("coverage.", row.what);
    // None of the launches has work, and nothing else of a device is there.
    if (row.what == "launches" && view.data->tasks.empty()) finding.text_key += "_only";
    // Rounded down: not all that there is must not read as all.
    finding.arguments = {Fixed(std::floor(share * 1000) / 10, 1),
                         std::to_string(row.total - row.covered), std::to_string(row.total)};
    finding.evidence = "SELECT * FROM coverage";
    findings.push_back(std::move(finding));
  }
  return findings;
}

namespace {

// Copies of which computing and communication hide nothing.
void AddCopies(const DeviceView& view, std::vector<Finding>& findings) {
  const std::vector<CopySum> sums = SumCopies(view);
  int64_t alone_ns = 0;
  int64_t idle_ns = 0;
  int64_t span_ns = 0;
  for (size_t i = 0; i < view.devices.size(); ++i) {
    const Overlap& overlap = view.devices[i].overlap;
    const std::vector<Interval> copies = CopiesOf(view, i);
    const std::vector<Interval> busy = Unite(overlap.computing, overlap.communication);
    const std::vector<Interval> at_work = Unite(busy, copies);
    if (at_work.empty()) continue;
    const int64_t length_ns = at_work.back().end_ns - at_work.front().start_ns;
    alone_ns += TotalNs(Subtract(copies, busy));
    idle_ns += length_ns - TotalNs(at_work);
    span_ns += length_ns;
  }
  const double share =
      span_ns > 0 ? static_cast<double>(alone_ns) / static_cast<double>(span_ns) : 0;
  if (sums.empty() || share < kCopiesShare.value) return;
  Finding finding;
  finding.rule = "copies";
  finding.text_key = finding.rule;
  finding.severity = "info";
  finding.subject = sums.front().direction;
  finding.value = static_cast<double>(alone_ns) / 1e6;
  finding.unit = "ms";
  finding.limit = kCopiesShare.value * static_cast<double>(span_ns) / 1e6;
  finding.arguments = {Fixed(finding.value, 3),
                       Fixed(100 * share, 1),
                       std::to_string(sums.front().count),
                       Concat("@direction.", sums.front().direction),
                       Fixed(static_cast<double>(sums.front().total_ns) / 1e6, 3),
                       Fixed(static_cast<double>(idle_ns) / 1e6, 3)};
  finding.evidence =
      "SELECT name, count(*) AS tasks, sum(dur) AS dur_ns FROM device_task WHERE task_type IN "
      "('MEMCPY', 'MEMCPY_ASYNC', 'SDMA_SQE', 'PCIE_DMA_SQE', 'MEMSET') GROUP BY name ORDER BY 3 "
      "DESC";
  findings.push_back(std::move(finding));
}

void AddSlowRequests(const DeviceView& view, std::vector<Finding>& findings) {
  if (view.data->tables == nullptr || !HasServing(*view.data->tables)) return;
  const RequestTimes times = ExplainRequests(*view.data->tables);
  for (const SlowCause& cause : times.causes) {
    const std::string_view part = KeyOfPart(cause.part);
    std::vector<std::string> words = CauseParts(times, cause);
    Finding finding;
    finding.rule = "slow_request";
    finding.severity = "info";
    finding.subject = part;
    finding.value = static_cast<double>(cause.p99_ns) / 1e6;
    finding.unit = "ms";
    finding.limit = static_cast<double>(cause.p99_without_ns) / 1e6;
    finding.text_key = words[0];
    finding.arguments.assign(words.begin() + 1, words.end());
    finding.evidence = Concat("SELECT * FROM request_time WHERE is_slow = 1 AND '", part,
                              "' IN (why, why_next) ORDER BY client_ns DESC");
    findings.push_back(std::move(finding));
  }
}

void RunFinding(const DeviceView& view, store::RowSink& rows) {
  for (const Finding& finding : FindingsOf(view)) WriteFinding(finding, rows);
}

class SlowRanksOfJob final : public Together {
 public:
  void Take(const DeviceView& view, const TraceNumbers& numbers) override {
    RankWork& work = work_.emplace_back(WorkOf(view));
    work.trace = numbers.trace;
    work.run = numbers.run;
    work.rank = numbers.rank;
  }
  void Finish(const RowsOf& rows) override {
    for (const Finding& finding : SlowRanks(work_)) {
      WriteFinding(finding, rows(static_cast<int32_t>(finding.trace)));
    }
  }

 private:
  std::vector<RankWork> work_;
};

}  // namespace

std::string FilledText(std::string_view key, const std::vector<std::string>& arguments,
                       Language language) {
  const Text* text = FindText(key);
  if (text == nullptr) return {};
  std::string out;
  std::string_view rest = language == Language::kEnglish ? text->english : text->chinese;
  for (size_t at = rest.find('{'); at != std::string_view::npos; at = rest.find('{')) {
    const size_t end = rest.find('}', at);
    CHECK(end != std::string_view::npos, "a text of a finding has an open brace");
    out += rest.substr(0, at);
    out += FilledPlace(rest.substr(at + 1, end - at - 1), arguments, language);
    rest.remove_prefix(end + 1);
  }
  return out.append(rest);
}

std::vector<Advice> KnownAdvice() {
  std::vector<Advice> known;
  for (const Text& text : kTexts) {
    if (text.key == text.english) known.push_back({text.english, text.chinese});
  }
  return known;
}

std::string TextOf(const Finding& finding, Language language) {
  return FilledText(finding.text_key, finding.arguments, language);
}

void WriteFinding(const Finding& finding, store::RowSink& rows) {
  base::JsonWriter json(nullptr);
  json.BeginArray();
  for (const std::string& argument : finding.arguments) {
    json.String(ArgumentText(argument, Language::kEnglish));
  }
  json.EndArray();
  const std::string arguments = json.Take();
  const std::string message = TextOf(finding, Language::kEnglish);
  FindingRow{finding.rule,  finding.severity, finding.confidence, finding.rank,
             finding.step,  finding.subject,  finding.value,      finding.unit,
             finding.limit, finding.text_key, arguments,          finding.evidence,
             message}
      .Write(rows);
}

std::vector<Finding> FindingsOf(const DeviceView& view) {
  std::vector<Finding> findings = CoverageFindings(view);
  AddCopies(view, findings);
  AddIssues(*view.data, findings);
  AddDelivered(view, findings);
  AddCompiledSteps(view, findings);
  AddSlowRequests(view, findings);
  for (Finding& finding : findings) finding.rank = view.settings.rank.value_or(-1);
  return findings;
}

extern const Recipe kFindingRecipe;
constexpr Recipe kFindingRecipe = {
    .result = &kFinding,
    .needs = kFindingNeeds,
    .run = &RunFinding,
    .together = []() -> std::unique_ptr<Together> { return std::make_unique<SlowRanksOfJob>(); },
    .needs_together = kSlowRankNeeds};

}  // namespace sonde::recipes
