#include "cli/analyse_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/shortened.h"
#include "base/strings.h"
#include "cli/analyse_waits.h"

namespace sonde::cli {
namespace {

using base::Concat;
using recipes::NamedTime;
using recipes::RankSummary;
using recipes::StepTraceRow;

constexpr size_t kTop = 8;
constexpr auto kLanguage = recipes::Language::kEnglish;

// A table of texts: the first column to the left, the others to the right.
class TextTable {
 public:
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string Render() const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
      std::string line = "  ";
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string blanks(widths[i] - row[i].size(), ' ');
        line += i == 0 ? row[i] + blanks : Concat("  ", blanks, row[i]);
      }
      out += Concat(line.substr(0, line.find_last_not_of(' ') + 1), "\n");
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string Fixed(double value, int decimals) {
  int64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  const auto scaled = std::llround(value * static_cast<double>(scale));
  std::string fraction = std::to_string(scaled % scale);
  fraction.insert(0, static_cast<size_t>(decimals) - fraction.size(), '0');
  return Concat(std::to_string(scaled / scale), ".", fraction);
}

std::string Ms(int64_t ns) { return Fixed(static_cast<double>(ns) / 1e6, 3); }

std::string Percent(int64_t part, int64_t whole) {
  if (whole <= 0) return "";
  return Concat(Fixed(100 * static_cast<double>(part) / static_cast<double>(whole), 1), "%");
}

std::string RankName(const RankSummary& summary) {
  if (summary.rank) return Concat("rank ", std::to_string(*summary.rank));
  if (summary.is_worker) return Concat("worker ", std::to_string(summary.pid));
  return summary.pid > 0 ? Concat("process ", std::to_string(summary.pid)) : "no rank";
}

// A name each: of several runs with the run, and where that is not enough with that of the trace.
std::vector<std::string> RankNames(std::span<const AnalysedRank> ranks) {
  const bool has_runs = std::any_of(ranks.begin(), ranks.end(), [&](const AnalysedRank& rank) {
    return rank.run != ranks.front().run;
  });
  std::vector<std::string> names;
  std::map<std::string, int> counts;
  for (const AnalysedRank& rank : ranks) {
    const std::string run = has_runs ? Concat("run ", std::to_string(rank.run), " ") : "";
    names.push_back(run + RankName(rank.summary));
    ++counts[names.back()];
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (counts[names[i]] > 1) names[i] += Concat(" ", ranks[i].span_name);
  }
  return names;
}

bool HasCopies(const AnalysedRank& rank) {
  return std::ranges::any_of(rank.summary.devices, [](const recipes::DeviceSteps& steps) {
    return steps.mean_copies.copying_ns > 0;
  });
}

std::vector<std::string> StepRow(const std::string& name, const recipes::DeviceSteps& steps,
                                 bool has_copies) {
  if (steps.count == 0) return {name, "0", "-", "-", "-", "-", "-", "-"};
  std::string count = std::to_string(steps.count);
  if (steps.left_out > 0) count += Concat(" of ", std::to_string(steps.count + steps.left_out));
  const StepTraceRow& mean = steps.mean;
  std::vector<std::string> row = {name,
                                  count,
                                  Ms(mean.computing_ns),
                                  Ms(mean.communication_ns),
                                  Ms(mean.not_overlapped_ns),
                                  Ms(mean.free_ns),
                                  Ms(mean.bubble_ns),
                                  Ms(mean.stage_ns)};
  if (has_copies) row.push_back(Ms(steps.mean_copies.copying_ns));
  return row;
}

std::string Steps(std::span<const AnalysedRank> ranks) {
  const std::vector<std::string> names = RankNames(ranks);
  TextTable table;
  const bool has_copies = std::ranges::any_of(ranks, &HasCopies);
  std::vector<std::string> head = {"",     "steps",  "computing", "communication", "of it alone",
                                   "free", "bubble", "stage"};
  if (has_copies) head.emplace_back("copies alone");
  table.Add(head);
  std::string unknown;
  bool leaves_out = false;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto& devices = ranks[i].summary.devices;
    const bool has_steps = std::ranges::any_of(
        devices, [](const recipes::DeviceSteps& device) { return device.count > 0; });
    if (!has_steps) {
      table.Add(StepRow(names[i], {}, false));
      unknown += Concat("  ", names[i], ": no work of a device is known in this trace\n");
      continue;
    }
    for (const recipes::DeviceSteps& device : devices) {
      const std::string number = std::to_string(device.device_id);
      const bool is_alone = devices.size() == 1;
      leaves_out = leaves_out || device.left_out > 0;
      table.Add(
          StepRow(is_alone ? names[i] : Concat(names[i], " device ", number), device, has_copies));
    }
  }
  return Concat("Mean step, ms (stage = computing + communication alone + free - bubble",
                leaves_out ? "; without warm-up and fragments" : "", ")\n", table.Render(),
                unknown);
}

// Sums over the ranks, by total, descending.
std::vector<NamedTime> Sum(std::span<const AnalysedRank> ranks,
                           std::vector<NamedTime> RankSummary::* list) {
  std::map<std::string, NamedTime> sums;
  for (const AnalysedRank& rank : ranks) {
    for (const NamedTime& item : rank.summary.*list) {
      NamedTime& sum = sums[item.name];
      sum.name = item.name;
      sum.count += item.count;
      sum.total_ns += item.total_ns;
    }
  }
  std::vector<NamedTime> sorted;
  for (auto& [name, sum] : sums) sorted.push_back(std::move(sum));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const NamedTime& a, const NamedTime& b) { return a.total_ns > b.total_ns; });
  return sorted;
}

std::string Top(std::string_view title, std::span<const NamedTime> items, int64_t whole_ns) {
  if (items.empty()) return {};
  TextTable table;
  table.Add({"", "calls", "ms", whole_ns > 0 ? "share" : ""});
  for (const NamedTime& item : items.first(std::min(kTop, items.size()))) {
    const std::string name =
        item.name.empty() ? "(type not recorded: level0)" : base::Shortened(item.name);
    table.Add(
        {name, std::to_string(item.count), Ms(item.total_ns), Percent(item.total_ns, whole_ns)});
  }
  return Concat("\n", title, "\n", table.Render());
}

// A line in place of a table of zeros.
std::string Modules(std::span<const AnalysedRank> ranks) {
  const std::vector<NamedTime> modules = Sum(ranks, &RankSummary::modules);
  const bool has_time =
      std::any_of(modules.begin(), modules.end(), [](const auto& one) { return one.total_ns > 0; });
  if (has_time || modules.empty()) {
    return Top("Modules by device time, forward (all ranks)", modules, 0);
  }
  return "\nModules: no work of a device lies in any; the table top_modules has their host time\n";
}

std::string Bytes(int64_t bytes) { return base::FormatBytes(static_cast<uint64_t>(bytes)); }

std::string Memory(std::span<const AnalysedRank> ranks) {
  const std::vector<std::string> names = RankNames(ranks);
  std::vector<std::string> peaks;
  std::string since;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RankSummary& summary = ranks[i].summary;
    if (summary.peak_memory_bytes < 0) continue;
    std::vector<std::string> others;
    if (summary.peak_reserved_bytes >= 0) {
      others.push_back(Concat("reserved ", Bytes(summary.peak_reserved_bytes)));
    }
    if (summary.peak_process_bytes >= 0) {
      others.push_back(Concat("process ", Bytes(summary.peak_process_bytes)));
    }
    peaks.push_back(Concat(names[i], " ", Bytes(summary.peak_memory_bytes),
                           others.empty() ? "" : Concat(" (", base::Join(others, ", "), ")")));
    if (!summary.memory_since_recording || !since.empty()) continue;
    since = " since recording began";
    if (summary.first_step) {
      since += Concat(" (step ", std::to_string(*summary.first_step), ")");
    }
  }
  if (peaks.empty()) return {};
  return Concat("\nMemory at its peak", since, ": ", base::Join(peaks, ", "), "\n");
}

// Coverage of the summary, of all ranks together; comes first.
std::string Covered(std::span<const AnalysedRank> ranks) {
  std::vector<std::pair<std::string_view, std::pair<int64_t, int64_t>>> sums;
  for (const AnalysedRank& rank : ranks) {
    for (const recipes::CoverageRow& row : rank.summary.coverage) {
      auto sum = std::find_if(sums.begin(), sums.end(),
                              [&](const auto& known) { return known.first == row.what; });
      if (sum == sums.end()) sum = sums.insert(sum, {row.what, {0, 0}});
      sum->second.first += row.covered;
      sum->second.second += row.total;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [what, sum] : sums) {
    // Rounded down: not all that there is must not read as all.
    const double share = static_cast<double>(sum.first) / static_cast<double>(sum.second);
    parts.push_back(Concat(recipes::FilledText(Concat("covered.", what), {}, kLanguage), " ",
                           Fixed(std::floor(1000 * share) / 10, 1), "%"));
  }
  return parts.empty() ? "" : Concat("Covered: ", base::Join(parts, ", "), "\n");
}

// Which rank is slow, or that none is: of several ranks what everybody asks first.
std::string Answer(std::span<const AnalysedRank> ranks) {
  std::vector<recipes::RankWork> work;
  for (const AnalysedRank& rank : ranks) {
    work.push_back(rank.summary.work);
    work.back().run = rank.run;
  }
  std::string out;
  for (const recipes::Finding& finding : recipes::SlowRanksOrNone(work)) {
    out += Concat(recipes::TextOf(finding, kLanguage), "\n");
  }
  return out.empty() ? out : Concat(out, "\n");
}

// Findings of one key and subject are shown once, for the rank where they weigh most.
std::string Findings(std::span<const AnalysedRank> ranks) {
  std::string out;
  const std::vector<std::string> names = RankNames(ranks);
  std::map<std::string, std::vector<std::pair<double, std::string>>> by_key;
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (const recipes::Finding& finding : ranks[i].summary.findings) {
      const bool is_delivered = finding.rule == "delivered";
      const bool is_longest = finding.rule == "copies" || finding.rule == "compiled_step";
      const bool is_shown = finding.rule == "coverage" || is_longest || is_delivered;
      if (!is_shown) continue;
      by_key[Concat(finding.text_key, finding.subject)].emplace_back(
          is_delivered ? -std::fabs(finding.value - finding.limit)
          : is_longest ? -finding.value
                       : finding.value,
          Concat(finding.severity, ": ", names[i], ": ", recipes::TextOf(finding, kLanguage)));
    }
  }
  for (const auto& [key, all] : by_key) {
    out += Concat("  ", std::min_element(all.begin(), all.end())->second);
    if (all.size() > 1) out += Concat(" (and ", std::to_string(all.size() - 1), " more)");
    out += '\n';
  }
  return out.empty() ? out : Concat("Findings\n", out, "\n");
}

int64_t Dropped(std::span<const AnalysedRank> ranks) {
  int64_t dropped = 0;
  for (const AnalysedRank& rank : ranks) {
    for (const recipes::Finding& finding : rank.summary.findings) {
      if (finding.subject == "records_dropped") dropped += std::llround(finding.value);
    }
  }
  return dropped;
}

// Issues of all ranks by code and advice; information only where something was lost.
std::string Issues(std::span<const AnalysedRank> ranks) {
  std::map<std::pair<std::string, std::string>, recipes::Finding> sums;
  for (const AnalysedRank& rank : ranks) {
    for (const recipes::Finding& issue : rank.summary.findings) {
      if (issue.rule != "import_issue" || issue.severity == "info") continue;
      const auto [sum, is_new] = sums.try_emplace({issue.subject, issue.arguments[2]}, issue);
      if (!is_new) sum->second.value += issue.value;
      sum->second.arguments[1] = std::to_string(std::llround(sum->second.value));
    }
  }
  std::string out;
  for (const auto& [key, sum] : sums) {
    out += Concat("  ", sum.severity, ": ", recipes::TextOf(sum, kLanguage), "\n");
  }
  return out.empty() ? out : Concat("\nProblems with the captures\n", out);
}

}  // namespace

std::string RenderSummary(std::span<const AnalysedRank> ranks) {
  if (ranks.empty()) return {};
  std::string out = Concat(Answer(ranks), Covered(ranks), Findings(ranks), Steps(ranks),
                           RenderWaits(ranks, RankNames(ranks)));
  const std::vector<NamedTime> operators = Sum(ranks, &RankSummary::operators);
  int64_t all_ns = 0;
  for (const NamedTime& item : operators) all_ns += item.total_ns;
  out += Top("Operators by device time (all ranks)", operators, all_ns);
  out += Top("Copies by direction (all ranks)", Sum(ranks, &RankSummary::copies), 0);
  out += Modules(ranks);
  out += Memory(ranks);
  out += Concat("\nDropped records: ", std::to_string(Dropped(ranks)), "\n");
  out += Issues(ranks);
  out += "\nFiles\n";
  for (const AnalysedRank& rank : ranks) {
    for (const std::string& path : rank.written) out += Concat("  ", path, "\n");
  }
  return out;
}

}  // namespace sonde::cli
