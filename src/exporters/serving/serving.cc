#include "exporters/serving/serving.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/count_of.h"
#include "base/host/fixed.h"
#include "base/strings.h"
#include "exporters/format/result_sinks.h"
#include "recipes/finding/finding.h"

namespace sonde::exporters {
namespace {

using base::Concat;
using base::Fixed;
using recipes::BatchKind;
using recipes::Distribution;
using recipes::ServingSummary;

std::string Ms(double ns) { return Fixed(ns / 1e6, 3); }

// A first column to the left, then numbers to the right.
std::string Line(std::string_view first, size_t width, std::initializer_list<std::string> cells) {
  constexpr size_t kWidth = 11;
  std::string line = Concat("  ", first);
  if (first.size() < width) line.append(width - first.size(), ' ');
  for (const std::string& cell : cells) {
    line.append(cell.size() < kWidth ? kWidth - cell.size() : 1, ' ');
    line += cell;
  }
  return line + "\n";
}

constexpr size_t kNameWidth = 22;
constexpr size_t kStepWidth = 36;

// Reasons of the requests that are not whole.
void RenderFates(const ServingSummary& summary, std::string& out) {
  const std::pair<int64_t, std::string_view> fates[] = {
      {summary.cut_requests, " cut by an error of the engine or its end"},
      {summary.refused_requests, " refused"},
      {summary.open_requests, " still running at the end"},
      {summary.earlier_requests, " begun before"},
  };
  for (const auto& [count, words] : fates) {
    if (count > 0) out += Concat(", ", std::to_string(count), words);
  }
}

void RenderTotals(const ServingSummary& summary, std::string& out) {
  out += Concat("Served: ", base::CountOf(summary.requests, "request"), ", ",
                std::to_string(summary.whole_requests), " of them whole");
  if (summary.failed_requests > 0) {
    out += Concat(" (", std::to_string(summary.failed_requests), " aborted)");
  }
  RenderFates(summary, out);
  out += Concat("; ", Fixed(static_cast<double>(summary.duration_ns) / 1e9, 2), " s\n");
  const bool all_whole = summary.whole_requests == summary.requests;
  out += Concat(all_whole ? "  prompt tokens " : "  of the whole ones: prompt tokens ",
                std::to_string(summary.prompt_tokens), ", of them cached ",
                std::to_string(summary.cached_tokens), "; output tokens ",
                std::to_string(summary.output_tokens), "\n");
  out += Concat("  ", Fixed(summary.PerSecond(summary.whole_requests), 2), " requests/s, ",
                Fixed(summary.PerSecond(summary.output_tokens), 2), " output tokens/s, ",
                Fixed(summary.PerSecond(summary.output_tokens + summary.prompt_tokens), 2),
                " tokens/s\n");
  if (all_whole) return;
  out += Concat("  of all, as far as recorded: ", std::to_string(summary.step_output_tokens),
                " output tokens, ", Fixed(summary.StepTokensPerSecond(), 2), " output tokens/s\n");
}

void RenderSpeculation(const ServingSummary& summary, std::string& out) {
  if (summary.drafted_tokens == 0) return;
  out += Concat("  speculation: ", base::CountOf(summary.drafted_tokens, "token"), " drafted, ",
                std::to_string(summary.accepted_tokens), " accepted (",
                Fixed(100 * summary.AcceptanceShare(), 2), " %), ",
                Fixed(summary.AcceptanceLength(), 2), " tokens a drafted step\n");
}

void RenderDistribution(const Distribution& one, std::string& out) {
  if (one.count == 0) return;
  out += Line(one.name, kNameWidth,
              {std::to_string(one.count), Ms(one.mean_ns), Ms(one.p50_ns), Ms(one.p90_ns),
               Ms(one.p99_ns), Ms(one.max_ns)});
}

void RenderLatencies(const ServingSummary& summary, std::string& out) {
  out += "\n" + Line("ms", kNameWidth, {"count", "mean", "P50", "P90", "P99", "max"});
  for (const Distribution& one : summary.latencies) RenderDistribution(one, out);
  RenderDistribution(summary.interference, out);
}

void RenderBatches(const ServingSummary& summary, std::string& out) {
  out += "\n" + Line("engine steps", kNameWidth, {"count", "requests", "tokens", "ms"});
  for (const BatchKind& kind : summary.batches) {
    out += Line(kind.name, kNameWidth,
                {std::to_string(kind.steps), Fixed(kind.mean_requests, 2),
                 Fixed(kind.mean_tokens, 2), Ms(kind.mean_ns)});
  }
  out += Concat("  all together: ", std::to_string(summary.step_output_tokens), " output tokens, ",
                Fixed(summary.StepTokensPerSecond(), 2), " output tokens/s\n");
  out += Concat("  at most ", std::to_string(summary.max_running), " running, ",
                std::to_string(summary.max_waiting), " waiting; KV cache at most ",
                Fixed(100 * summary.max_kv_cache_usage, 2), " % in use; ",
                base::CountOf(summary.preemptions, "preemption"), "\n");
  RenderSpeculation(summary, out);
}

void RenderCauses(const ServingSummary& summary, std::string& out) {
  if (summary.times.causes.empty()) return;
  out += '\n';
  for (const recipes::SlowCause& cause : summary.times.causes) {
    const std::vector<std::string> words = recipes::CauseParts(summary.times, cause);
    out += Concat("  ",
                  recipes::FilledText(words[0], {words.begin() + 1, words.end()},
                                      recipes::Language::kEnglish),
                  "\n");
  }
}

void RenderSlowest(const ServingSummary& summary, size_t count, std::string& out) {
  constexpr size_t kIdWidth = 44;
  if (summary.slowest.empty()) return;
  out += "\n" + Line("slowest requests", kIdWidth, {"ms", "tokens", "  why"});
  for (size_t i = 0; i < std::min(count, summary.slowest.size()); ++i) {
    const recipes::RequestTime& request = summary.times.requests[summary.slowest[i]];
    std::string line = Line(
        request.name, kIdWidth,
        {Ms(static_cast<double>(request.client_ns)), std::to_string(request.row->output_tokens)});
    line.pop_back();
    out += Concat(line, "  ", recipes::ReasonOf(request), "\n");
  }
}

std::string StepTitle(const recipes::StepParts& step) {
  return Concat("step ", std::to_string(step.step_id));
}

// The median step of each kind next to the slowest, part by part.
void RenderSteps(const ServingSummary& summary, std::string& out) {
  for (const recipes::StepComparison& one : summary.step_kinds) {
    out += "\n" + Line(Concat("what one ", recipes::LabelOf(one), " does, ms"), kStepWidth,
                       {"median", "slowest"});
    out += Line(Concat("  of ", std::to_string(one.steps)), kStepWidth,
                {StepTitle(one.median), StepTitle(one.slowest)});
    for (size_t i = 0; i < recipes::kStepPartKeys.size(); ++i) {
      if (one.median.ns[i] == 0 && one.slowest.ns[i] == 0) continue;
      out += Line(
          Concat("  ", recipes::LabelOf(static_cast<recipes::StepPart>(i))), kStepWidth,
          {Ms(static_cast<double>(one.median.ns[i])), Ms(static_cast<double>(one.slowest.ns[i]))});
    }
    out += Line(
        "  all", kStepWidth,
        {Ms(static_cast<double>(one.median.Sum())), Ms(static_cast<double>(one.slowest.Sum()))});
  }
  if (!summary.step_kinds.empty()) out += '\n';
  for (const recipes::StepComparison& one : summary.step_kinds) {
    out += Concat("  ", recipes::SentenceOf(one), "\n");
  }
}

}  // namespace

std::string RenderServing(const ServingSummary& summary, bool is_long) {
  constexpr size_t kShort = 3;
  std::string out;
  RenderTotals(summary, out);
  RenderLatencies(summary, out);
  RenderBatches(summary, out);
  RenderCauses(summary, out);
  RenderSlowest(summary, is_long ? summary.slowest.size() : kShort, out);
  RenderSteps(summary, out);
  return out;
}

std::string ServingCsv(const ServingSummary& summary) {
  CsvSink csv(recipes::kServingSummary);
  recipes::WriteServing(summary, csv);
  return csv.Take();
}

}  // namespace sonde::exporters
