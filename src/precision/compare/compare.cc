#include "precision/compare/compare.h"

#include <span>

#include "base/host/parallel.h"
#include "base/strings.h"
#include "precision/compare/rules.h"
#include "precision/compare/statistics.h"

namespace sonde::precision {
namespace {

constexpr size_t kGroupsAtATime = 256;

std::string_view FrameworkOf(const DumpFile& dump) {
  return dump.framework().empty() ? std::string_view("pytorch") : dump.framework();
}

void JudgeGroup(Comparison* comparison, const ComparedGroup& group) {
  JudgeApi(comparison->mode, RuleSet::Of(*comparison),
           std::span(comparison->rows).subspan(group.first_row, group.row_count));
}

// Compares the rows of all groups; `prepare(row, index)` comes before.
template <class Prepare>
void PrepareAndCompare(Comparison* out, const Prepare& prepare) {
  base::ParallelFor(
      out->groups.size(), {.grain_size = kGroupsAtATime}, [&](size_t begin, size_t end) {
        for (size_t g = begin; g < end; ++g) {
          const ComparedGroup& group = out->groups[g];
          for (size_t i = group.first_row; i < group.first_row + group.row_count; ++i) {
            ComparedRow& row = out->rows[i];
            prepare(&row, i);
            if (out->mode == Mode::kStatistics) {
              row.cells = CompareStatistics(*row.target, row.golden);
            }
          }
          if (out->mode != Mode::kTensor) JudgeGroup(out, group);
        }
      });
}

}  // namespace

Result<Mode> DecideMode(const DumpFile& target, const DumpFile& golden) {
  if (target.task() != golden.task()) {
    return base::InvalidArgumentError(base::Concat(
        "the dumps have different tasks: '", target.task(), "' in ", target.path(), ", '",
        golden.task(), "' in ", golden.path(), " (dump both with the same task)"));
  }
  if (target.task() == "tensor") return Mode::kTensor;
  if (target.task() == "statistics") {
    if (target.has_md5() == golden.has_md5()) {
      return target.has_md5() ? Mode::kMd5 : Mode::kStatistics;
    }
    // A dump without any tensor holds no checksum in either summary mode.
    const DumpFile& without = target.has_md5() ? golden : target;
    return base::InvalidArgumentError(
        base::Concat("only one of the dumps holds checksums; ", without.path(),
                     " has none (dump both with the same summary_mode)"));
  }
  return base::InvalidArgumentError(
      base::Concat(target.path(), ": task '", target.task(),
                   "' has no numbers to compare; wanted: statistics or tensor"));
}

Result<bool> DecideCrossFramework(const DumpFile& target, const DumpFile& golden) {
  const std::string_view t = FrameworkOf(target);
  const std::string_view g = FrameworkOf(golden);
  for (const std::string_view framework : {t, g}) {
    if (framework != "pytorch" && framework != "mindspore" && framework != "mindtorch") {
      return base::InvalidArgumentError(
          base::Concat("unknown framework '", framework, "' in ",
                       framework == t ? target.path() : golden.path()));
    }
  }
  if (t == "pytorch" && g != "pytorch") {
    return base::InvalidArgumentError(
        base::Concat("the target is a PyTorch dump and the golden one of ", g,
                     ": exchange them (-tp the MindSpore dump, -gp the PyTorch dump)"));
  }
  return t != g;
}

Comparison PairAndCompare(const DumpFile& target, const DumpFile& golden, Mode mode,
                          const PairingOptions& options) {
  const Pairing pairing = PairRows(target, golden, options);
  Comparison out;
  out.mode = mode;
  out.cross_framework = options.cross_framework;
  out.golden_only_begin = static_cast<uint32_t>(target.rows().size());
  out.rows.resize(target.rows().size() + pairing.golden_only.size());
  out.groups.reserve(target.apis().size());
  for (const DumpApi& api : target.apis()) {
    if (api.row_count > 0) out.groups.push_back({api.name, api.first_row, api.row_count});
  }
  PrepareAndCompare(&out, [&](ComparedRow* row, size_t i) {
    row->target = &target.rows()[i];
    const int32_t partner = pairing.golden_of[i];
    if (partner != kNoPartner) row->golden = &golden.rows()[static_cast<size_t>(partner)];
  });
  for (size_t i = 0; i < pairing.golden_only.size(); ++i) {
    ComparedRow& row = out.rows[out.golden_only_begin + i];
    row.golden = &golden.rows()[static_cast<size_t>(pairing.golden_only[i])];
    row.Report(Message::kGoldenOnly, Verdict::kUnmatched);
  }
  return out;
}

void CompareGroups(Comparison* comparison) {
  PrepareAndCompare(comparison, [](ComparedRow*, size_t) {});
}

void JudgeAll(Comparison* comparison) {
  for (const ComparedGroup& group : comparison->groups) JudgeGroup(comparison, group);
}

}  // namespace sonde::precision
