#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "compare/overall/overall.h"

namespace sonde::compare {
namespace {

using base::Concat;

constexpr Column kOverallColumns[] = {
    {"Index", "part", Format::kPlain, 40},
    {"Duration(ms)", "duration_ms", Format::kFloat, 20, Of::kBase},
    {"Duration Ratio", "duration_ratio", Format::kRatio, 20, Of::kBase},
    {"Number", "number", Format::kPlain, 10, Of::kBase},
    {"Duration(ms)", "duration_ms", Format::kFloat, 20, Of::kComparison},
    {"Duration Ratio", "duration_ratio", Format::kRatio, 20, Of::kComparison},
    {"Number", "number", Format::kPlain, 10, Of::kComparison},
    {"Diff Duration(ms)", "diff_duration_ms", Format::kFloat, 20},
    {"Diff Ratio", "diff_ratio", Format::kRatio, 10, Of::kBoth, true}};
constexpr SheetInfo kOverallInfo = {"OverallMetrics", "a part of the time of both sides",
                                    kOverallColumns};

constexpr int64_t kNoCount = -1;  // "/"

struct Part {
  double ms = 0;
  int64_t count = kNoCount;
};

Amount Sum(const Overall& overall, std::initializer_list<KernelClass> classes) {
  Amount sum;
  for (const KernelClass one : classes) sum += overall.Of(one);
  return sum;
}

class Filler {
 public:
  Filler(const Overall& base, const Overall& comparison) : base_(base), comparison_(comparison) {
    sheet_.info = &kOverallInfo;
  }

  Sheet Run() {
    Add("Computing Time", Fill::kBlue, Computing(base_), Computing(comparison_));
    AddFused();
    AddClasses();
    Add("Uncovered Communication Time", Fill::kBlue, {base_.communication_ms},
        {comparison_.communication_ms});
    AddGroups();
    AddGroupOverlaps();
    Add("Free Time", Fill::kBlue, {base_.free_ms}, {comparison_.free_ms});
    Add("\tSDMA", Fill::kPlainFill, {base_.sdma.ms}, {comparison_.sdma.ms});
    Add("\tFree", Fill::kPlainFill, {base_.free_ms - base_.sdma.ms},
        {comparison_.free_ms - comparison_.sdma.ms});
    Add("E2E Time", Fill::kBlue, {base_.e2e_ms}, {comparison_.e2e_ms});
    return std::move(sheet_);
  }

 private:
  static Part Computing(const Overall& overall) {
    Part part{overall.computing_ms, 0};
    for (size_t i = 0; i < overall.classes.size(); ++i) {
      if (static_cast<KernelClass>(i) != KernelClass::kFused) {
        part.count += overall.classes[i].count;
      }
    }
    return part;
  }

  static Part Other(const Overall& overall) {
    double rest_ms = overall.computing_ms;
    for (const Amount& amount : overall.classes) rest_ms -= amount.ms;
    constexpr double kLessThanAnything = 1e-9;  // of sums of nanoseconds
    return {rest_ms < kLessThanAnything ? 0 : rest_ms, kNoCount};
  }

  void Add(std::string title, Fill fill, Part base, Part comparison) {
    constexpr double kNothing = 1e-12;
    if (std::abs(base.ms) < kNothing && std::abs(comparison.ms) < kNothing) return;
    Row& row = sheet_.rows.emplace_back();
    row.fill = fill;
    row.cells.emplace_back(std::move(title));
    for (const auto& [part, overall] :
         {std::pair(base, &base_), std::pair(comparison, &comparison_)}) {
      row.cells.emplace_back(part.ms);
      row.cells.emplace_back(overall->e2e_ms > 0 ? part.ms / overall->e2e_ms : 0.0);
      row.cells.push_back(part.count == kNoCount ? Cell("/") : Cell(part.count));
    }
    const Difference difference = DifferenceOf(base.ms, comparison.ms);
    row.cells.emplace_back(difference.diff);
    row.cells.emplace_back(difference.ratio);
  }

  void AddClass(std::string title, Fill fill, std::initializer_list<KernelClass> classes) {
    const Amount base = Sum(base_, classes);
    const Amount comparison = Sum(comparison_, classes);
    Add(std::move(title), fill, {base.ms, base.count}, {comparison.ms, comparison.count});
  }

  void AddPair(std::string_view title, KernelClass first, KernelClass second,
               std::string_view first_title = " (Cube)",
               std::string_view second_title = " (Vector)") {
    AddClass(Concat("\t", title), Fill::kLightBlue, {first, second});
    AddClass(Concat("\t\t", title, first_title), Fill::kPlainFill, {first});
    AddClass(Concat("\t\t", title, second_title), Fill::kPlainFill, {second});
  }

  void AddClasses() {
    using enum KernelClass;
    AddPair("Flash Attention (Forward)", kFlashForwardCube, kFlashForwardVector);
    AddPair("Flash Attention (Backward)", kFlashBackwardCube, kFlashBackwardVector);
    AddPair("Conv (Forward)", kConvForwardCube, kConvForwardVector);
    AddPair("Conv (Backward)", kConvBackwardCube, kConvBackwardVector);
    AddPair("Matmul", kMatmulCube, kMatmulVector);
    AddClass("\tPage Attention", Fill::kLightBlue, {kPagedAttention});
    AddPair("Vector", kVectorTrans, kVectorOther, " (Trans)", " (No Trans)");
    AddClass("\tCube", Fill::kLightBlue, {kCube});
    AddClass("\tSDMA (Tensor Move)", Fill::kLightBlue, {kTensorMove});
    Add("\tOther", Fill::kLightBlue, Other(base_), Other(comparison_));
  }

  void AddFused() {
    std::vector<std::string> names;
    for (const Overall* overall : {&base_, &comparison_}) {
      for (const auto& [name, time] : overall->fused) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    const auto of = [](const Overall& overall, const std::string& name) {
      for (const auto& [other, time] : overall.fused) {
        if (other == name) return time;
      }
      return FusedTime{};
    };
    for (const std::string& name : names) {
      const FusedTime base = of(base_, name);
      const FusedTime comparison = of(comparison_, name);
      Add(Concat("\t", name), Fill::kLightBlue, {base.all.ms, base.all.count},
          {comparison.all.ms, comparison.all.count});
      Add("\t\tComputing", Fill::kPlainFill, {base.computing_ms}, {comparison.computing_ms});
      Add("\t\tCommunication", Fill::kPlainFill, {base.communication_ms},
          {comparison.communication_ms});
    }
  }

  void AddGroup(const std::string& title, const GroupTime* base, const GroupTime* comparison) {
    static const GroupTime nobody;
    const GroupTime& a = base == nullptr ? nobody : *base;
    const GroupTime& b = comparison == nullptr ? nobody : *comparison;
    Add(title, Fill::kLightBlue, {a.wait_ms + a.transmit_ms}, {b.wait_ms + b.transmit_ms});
    Add("\t\tWait", Fill::kPlainFill, {a.wait_ms}, {b.wait_ms});
    Add("\t\tTransmit", Fill::kPlainFill, {a.transmit_ms}, {b.transmit_ms});
  }

  // The only group of that description.
  static const GroupTime* Only(const Overall& overall, const std::string& description) {
    const GroupTime* only = nullptr;
    for (const GroupTime& group : overall.groups) {
      if (group.description != description) continue;
      if (only != nullptr) return nullptr;
      only = &group;
    }
    return only;
  }

  // First those that have the same name of their own on both sides, then by title.
  void AddGroups() {
    std::vector<const GroupTime*> done;
    for (const GroupTime& group : base_.groups) {
      if (group.description.empty() || Only(base_, group.description) == nullptr) continue;
      const GroupTime* other = Only(comparison_, group.description);
      if (other == nullptr) continue;
      AddGroup(Concat("\t", group.description, ": Communication"), &group, other);
      done.insert(done.end(), {&group, other});
    }
    const auto is_done = [&done](const GroupTime* group) {
      return std::find(done.begin(), done.end(), group) != done.end();
    };
    const auto title = [](const GroupTime& group) {
      return group.description.empty() ? Concat("\t", group.title)
                                       : Concat("\t", group.description, ": ", group.title);
    };
    for (const GroupTime& group : base_.groups) {
      if (is_done(&group)) continue;
      const GroupTime* other = nullptr;
      for (const GroupTime& candidate : comparison_.groups) {
        if (candidate.title == group.title && !is_done(&candidate)) other = &candidate;
      }
      AddGroup(title(group), &group, other);
      if (other != nullptr) done.push_back(other);
    }
    for (const GroupTime& group : comparison_.groups) {
      if (!is_done(&group)) AddGroup(title(group), nullptr, &group);
    }
  }

  void AddGroupOverlaps() {
    std::vector<std::string> names;
    double base_ms = 0;
    double comparison_ms = 0;
    for (const auto& [name, ms] : base_.group_overlaps) {
      names.push_back(name);
      base_ms += ms;
    }
    for (const auto& [name, ms] : comparison_.group_overlaps) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      comparison_ms += ms;
    }
    const auto of = [](const Overall& overall, const std::string& name) {
      for (const auto& [other, ms] : overall.group_overlaps) {
        if (other == name) return ms;
      }
      return 0.0;
    };
    Add("\tUncovered Communication Overlapped", Fill::kLightBlue, {base_ms}, {comparison_ms});
    for (const std::string& name : names) {
      Add(Concat("\t\t", name), Fill::kPlainFill, {of(base_, name)}, {of(comparison_, name)});
    }
  }

  const Overall& base_;
  const Overall& comparison_;
  Sheet sheet_;
};

}  // namespace

Sheet OverallSheet(const Overall& base, const Overall& comparison) {
  if (base.e2e_ms <= 0 || comparison.e2e_ms <= 0) return {.info = &kOverallInfo, .rows = {}};
  return Filler(base, comparison).Run();
}

}  // namespace sonde::compare
