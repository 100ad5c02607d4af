#include "precision/output/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/count_of.h"
#include "base/strings.h"
#include "precision/cause/evidence.h"
#include "precision/output/advice.h"
#include "precision/output/result_table.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr size_t kMaxShownRows = 24;
constexpr size_t kMaxCellWidth = 24;

std::string Count(uint64_t n) { return std::to_string(n); }

// The part of a row's name behind its API.
std::string_view ShortName(const ComparedRow& row, std::string_view api) {
  const std::string_view name = row.target->name;
  return name.starts_with(api) && name.size() > api.size() ? name.substr(api.size() + 1) : name;
}

std::string StatText(const DumpRow* row, Statistic which) {
  std::string out;
  if (row == nullptr) return "N/A";
  AppendStatistic(row->stats[which], &out);
  return std::string(base::Trim(out));
}

std::string ShownCell(const Cell& cell) {
  std::string out;
  cell.AppendTo(&out);
  return out;
}

std::vector<std::string> SideBySideHeader(Mode mode, bool with_shapes) {
  std::vector<std::string> out = {"parameter"};
  const auto add = [&out](std::initializer_list<const char*> names) {
    out.insert(out.end(), names.begin(), names.end());
  };
  if (with_shapes) add({"NPU shape", "Bench shape"});
  if (mode == Mode::kMd5) {
    add({"NPU MD5", "BENCH MD5", "Result"});
  } else if (mode == Mode::kTensor) {
    add({"NPU l2norm", "Bench l2norm", "Cosine", "MaxAbsErr", "1/1000", "Result"});
  } else {
    add({"NPU max", "Bench max", "NPU mean", "Bench mean", "NPU l2norm", "Bench l2norm",
         "NormRelativeErr", "Result"});
  }
  return out;
}

std::vector<std::string> SideBySideRow(Mode mode, const ComparedRow& row, std::string_view api,
                                       bool with_shapes) {
  std::vector<std::string> out = {std::string(ShortName(row, api))};
  if (with_shapes) {
    out.emplace_back(OrNotAvailable(row.target->shape));
    out.emplace_back(row.golden == nullptr ? "N/A" : OrNotAvailable(row.golden->shape));
  }
  if (mode == Mode::kMd5) {
    out.push_back(ChecksumText(*row.target));
    out.push_back(row.golden == nullptr ? "N/A" : ChecksumText(*row.golden));
  } else if (mode == Mode::kTensor) {
    out.push_back(StatText(row.target, kNorm));
    out.push_back(StatText(row.golden, kNorm));
    out.push_back(ShownCell(row.cells[kCosine]));
    out.push_back(ShownCell(row.cells[kMaxAbsErr]));
    out.push_back(ShownCell(row.cells[kOneThousandth]));
  } else {
    for (const Statistic which : {kMax, kMean, kNorm}) {
      out.push_back(StatText(row.target, which));
      out.push_back(StatText(row.golden, which));
    }
    out.push_back(ShownCell(row.cells[kStatisticCount + kNorm]));
  }
  out.emplace_back(VerdictText(row.verdict));
  return out;
}

std::string AlignedTable(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], std::min(line[i].size(), kMaxCellWidth));
    }
  }
  std::string out;
  for (const auto& line : lines) {
    out += "   ";
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string cell = line[i].substr(0, kMaxCellWidth);
      out += ' ';
      out += cell;
      if (i + 1 < line.size()) out.append(widths[i] - cell.size() + 1, ' ');
    }
    out += '\n';
  }
  return out;
}

std::string SideBySide(const Comparison& comparison, const ComparedGroup& group) {
  const auto rows = std::span(comparison.rows).subspan(group.first_row, group.row_count);
  const bool with_shapes = std::any_of(
      rows.begin(), rows.end(), [](const ComparedRow& row) { return row.Has(Message::kShape); });
  std::vector<std::vector<std::string>> lines = {SideBySideHeader(comparison.mode, with_shapes)};
  const size_t shown = std::min<size_t>(group.row_count, kMaxShownRows);
  for (const ComparedRow& row : rows.first(shown)) {
    lines.push_back(SideBySideRow(comparison.mode, row, group.api, with_shapes));
  }
  std::string out = AlignedTable(lines);
  if (shown < group.row_count) out += Concat("    (", Count(group.row_count - shown), " more)\n");
  return out;
}

std::string FirstMessage(const ComparedRow& row) {
  for (int i = 0; i < kMessageCount; ++i) {
    if (row.Has(static_cast<Message>(i))) return std::string(MessageText(static_cast<Message>(i)));
  }
  return {};
}

void CountRows(const Comparison& comparison, Summary* out) {
  out->target_rows = comparison.target_row_count();
  out->golden_only = comparison.rows.size() - comparison.target_row_count();
  for (size_t i = 0; i < comparison.target_row_count(); ++i) {
    const ComparedRow& row = comparison.rows[i];
    (row.golden != nullptr ? out->matched : out->unmatched) += 1;
    switch (row.verdict) {
      case Verdict::kPass:
        ++out->pass;
        break;
      case Verdict::kWarning:
        ++out->warning;
        break;
      case Verdict::kError:
        ++out->error;
        break;
      case Verdict::kUnmatched:
        break;
    }
  }
}

void FindFirstBad(const Comparison& comparison, Summary* out) {
  for (size_t g = 0; g < comparison.groups.size(); ++g) {
    const ComparedGroup& group = comparison.groups[g];
    Verdict worst = Verdict::kPass;
    for (size_t i = group.first_row; i < group.first_row + group.row_count; ++i) {
      if (comparison.rows[i].verdict > worst) {
        worst = comparison.rows[i].verdict;
        out->first_bad_row = static_cast<int64_t>(i);
      }
    }
    if (worst != Verdict::kPass) {
      out->first_bad_group = static_cast<int64_t>(g);
      return;
    }
  }
}

std::string CountText(const Summary& summary) {
  return Concat("  rows       ", Count(summary.target_rows), " (", Count(summary.matched),
                " matched, ", Count(summary.unmatched), " without a match), ",
                Count(summary.golden_only), " more only in the golden dump\n", "  verdicts   ",
                Count(summary.pass), " pass, ", Count(summary.warning), " warning, ",
                Count(summary.error), " error\n");
}

std::string Percent(double share) { return ShortNumber(std::ceil(share * 1000) / 10) + " %"; }

std::string UnreadableText(const FirstCause& cause) {
  if (cause.unreadable == 0) return {};
  return Concat(" (", base::CountOf(cause.unreadable, "value"), " could not be compared)");
}

bool NameHolds(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [name](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

// The suggestion of the row's own messages, after that of its place.
std::string_view AdviceOfMessages(const ComparedRow& row) {
  if (row.Has(Message::kShape)) {
    return " The runs worked on tensors of different shapes: compare the same request, batch and "
           "step.";
  }
  if (row.Has(Message::kDtype)) return " The runs use different element types here.";
  if (row.Has(Message::kScalarParameter)) return " An argument of the call differs.";
  if (row.Has(Message::kOverflow)) {
    return " Numbers overflow: sonde probe overflow_check finds the call where that begins.";
  }
  return "";
}

}  // namespace

Summary Summarize(const Comparison& comparison, const ConstructFile* construct) {
  Summary out;
  CountRows(comparison, &out);
  FindFirstBad(comparison, &out);
  if (out.first_bad_group >= 0) {
    const std::string_view api = comparison.groups[static_cast<size_t>(out.first_bad_group)].api;
    if (construct != nullptr) {
      out.module = construct->ModuleOf(api);
      out.outside = out.module.empty() && construct->Find(api) != nullptr;
    }
    if (out.module.empty() && IsModuleName(api)) out.module = api;
  }
  return out;
}

std::string CauseRows(const Comparison& comparison, const FirstCause& cause) {
  std::string out;
  if (!cause.IsFinding() || cause.kind == CauseKind::kNotCompared) return out;
  for (const ComparedGroup& group : comparison.groups) {
    const DumpRow& first = *comparison.rows[group.first_row].target;
    if (static_cast<int32_t>(first.api) == cause.target_call) out += SideBySide(comparison, group);
  }
  return out;
}

std::string CauseSummaryText(const Summary& summary, const FirstCause& cause,
                             std::string_view rows) {
  std::string out = CountText(summary) + Concat("  first      ", CauseText(cause.kind));
  if (!cause.IsFinding()) {
    out += Concat(": ", Count(cause.exact), " of ", Count(cause.values),
                  " values are equal to the last digit");
    if (cause.kind == CauseKind::kRounding) {
      out += Concat(",\n             the others lie at most ", ShortNumber(cause.largest_relative),
                    " of their size apart, at ", cause.largest_place);
      if (cause.largest_share > 0) {
        out += Concat(",\n             and use at most ", Percent(cause.largest_share),
                      " of what rounding explains, at ", cause.share_place);
      }
    }
    out += UnreadableText(cause) + "\n";
    for (const std::string& line : cause.evidence) out += Concat("             ", line, "\n");
    return out;
  }
  out += Concat(": ", cause.place, UnreadableText(cause), "\n");
  for (const std::string& line : cause.evidence) out += Concat("             ", line, "\n");
  if (cause.kind == CauseKind::kNotCompared) return out;
  out += Concat("  module     ",
                cause.module.empty() ? "none is known around it" : cause.module.c_str(), "\n");
  out += Concat(rows, "  advice     ", AdviceOf(cause.kind), "\n");
  return out;
}

std::string SummaryText(const Comparison& comparison, const Summary& summary) {
  std::string out = CountText(summary);
  if (summary.first_bad_group < 0) {
    out += "  first bad  none\n";
    return out;
  }
  const ComparedGroup& group = comparison.groups[static_cast<size_t>(summary.first_bad_group)];
  const ComparedRow& row = comparison.rows[static_cast<size_t>(summary.first_bad_row)];
  out += Concat("  first bad  ", row.target->name, "\n             ", FirstMessage(row), "\n");
  out += Concat("  module     ",
                !summary.module.empty() ? std::string_view(summary.module)
                : summary.outside       ? std::string_view("none, the call is outside all modules")
                                        : std::string_view("unknown (no construct.json names it)"),
                "\n");
  out += SideBySide(comparison, group);
  out += Concat("  advice     ", Advise(comparison, summary).text, "\n");
  return out;
}

Advice Advise(const Comparison& comparison, const Summary& summary) {
  Advice out;
  if (summary.first_bad_row < 0) {
    out.text = "All data in comparison result meets the accuracy requirements.";
    return out;
  }
  const ComparedRow& row = comparison.rows[static_cast<size_t>(summary.first_bad_row)];
  const std::string_view name = row.target->name;
  out.line = static_cast<uint64_t>(summary.first_bad_row) + 2;
  out.suspect = name;
  const bool backward = NameHolds(name, {"backward"});
  if (!row.target->IsOutput()) {
    out.text = backward ? "Check whether the forward computation result is affected."
                        : "Check where the input comes from, whether an operation overwrites it in "
                          "place, and whether memory is overwritten.";
  } else {
    out.text = base::Concat("This is a ", backward ? "backward" : "forward",
                            " API computation error. Check the computation implementation.");
  }
  out.text += AdviceOfMessages(row);
  if (NameHolds(name, {"batch_norm"})) {
    out.text += " For batch_norm try training=False, affine=False and seed_all(mode=True).";
  } else if (NameHolds(name, {"conv2d", "conv3d", "matmul", "nll_loss", "layer_norm", "lstm"})) {
    out.text += " Switch deterministic computation on and compare again.";
  }
  return out;
}

std::string AdviceText(const Advice& advice) {
  std::string out;
  if (advice.line > 0) {
    out += Concat("Line: ", Count(advice.line), "\nSuspect Nodes: ", advice.suspect, "\n");
  }
  out += Concat("Expert Advice: ", advice.text, "\n");
  return out;
}

}  // namespace sonde::precision
