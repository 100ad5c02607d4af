#include <algorithm>

#include "base/host/fixed.h"
#include "base/strings.h"
#include "compare/overall/overall.h"

namespace sonde::compare {
namespace {

using base::Concat;
using base::Fixed;
using enum KernelClass;

std::string Seconds(double ms) { return Concat(Fixed(ms / 1e3, 3), "s"); }
std::string Counted(const Amount& amount) {
  return Concat(Seconds(amount.ms), "(", std::to_string(amount.count), ")");
}

Amount SumOfClasses(const Overall& overall, std::initializer_list<KernelClass> classes) {
  Amount sum;
  for (const KernelClass one : classes) sum += overall.Of(one);
  return sum;
}

struct SideTexts {
  const Side* side;
  const Overall* overall;
  std::vector<std::string> cells = {};
};

class TableMaker {
 public:
  TableMaker(SideTexts base, SideTexts comparison)
      : sides_{std::move(base), std::move(comparison)} {}

  std::string Run() {
    Always("", [](const SideTexts& one) { return std::string(one.side->Device()); });
    AddClasses();
    Always("Computing Time", [](const auto& one) { return Seconds(one.overall->computing_ms); });
    Where(
        "Mem Usage", [](const Overall& overall) { return overall.reserved_gb; },
        [](const auto& one) { return Concat(Fixed(one.overall->reserved_gb, 2), "G"); });
    Always("Uncovered Communication Time(Wait Time)", [](const auto& one) {
      const double wait_ms = one.overall->WaitMs();
      return Concat(Seconds(one.overall->communication_ms),
                    wait_ms > 0 ? Concat("(", Seconds(wait_ms), ")") : "( / )");
    });
    AddBandwidths();
    const auto moved = [](const Overall& overall) {
      Amount sum = overall.Of(kTensorMove);
      sum += overall.sdma;
      return sum;
    };
    Where(
        "SDMA Time(Num)", [&](const Overall& overall) { return moved(overall).ms; },
        [&](const auto& one) { return Counted(moved(*one.overall)); });
    Always("Free Time", [](const auto& one) { return Seconds(one.overall->free_ms); });
    const bool has_npu = sides_[0].side->IsNpu() || sides_[1].side->IsNpu();
    Always(has_npu ? "E2E Time(Not minimal profiling)" : "E2E Time",
           [](const auto& one) { return Seconds(one.overall->e2e_ms); });
    return Frame();
  }

 private:
  template <class Text>
  void Always(std::string heading, const Text& text) {
    headings_.push_back(std::move(heading));
    for (SideTexts& side : sides_) side.cells.push_back(text(side));
  }
  template <class Value, class Text>
  void Where(std::string heading, const Value& value, const Text& text) {
    if (value(*sides_[0].overall) != 0 || value(*sides_[1].overall) != 0) {
      Always(std::move(heading), text);
    }
  }

  void AddClass(std::string heading, std::initializer_list<KernelClass> classes) {
    Where(
        std::move(heading),
        [&](const Overall& overall) { return SumOfClasses(overall, classes).ms; },
        [&](const auto& one) { return Counted(SumOfClasses(*one.overall, classes)); });
  }

  void AddClasses() {
    if (sides_[0].overall->has_classes && sides_[1].overall->has_classes) {
      Always("Cube Time(Num)", [](const auto& one) {
        Amount cube = SumOfClasses(*one.overall, {kMatmulCube, kMatmulVector, kCube});
        for (const auto& [name, time] : one.overall->fused) cube.ms += time.all.ms;
        return Counted(cube);
      });
      Always("Vector Time(Num)", [](const auto& one) {
        return Counted(SumOfClasses(*one.overall, {kVectorTrans, kVectorOther}));
      });
    }
    AddClass("Conv Time(Forward)(Num)", {kConvForwardCube, kConvForwardVector});
    AddClass("Conv Time(Backward)(Num)", {kConvBackwardCube, kConvBackwardVector});
    AddClass("Flash Attention Time(Forward)(Num)", {kFlashForwardCube, kFlashForwardVector});
    AddClass("Flash Attention Time(Backward)(Num)", {kFlashBackwardCube, kFlashBackwardVector});
    AddClass("Paged Attention Time(Num)", {kPagedAttention});
    Where(
        "Lccl Time(Num)", [](const Overall& overall) { return overall.library_ms; },
        [](const auto& one) {
          return Counted({one.overall->library_ms, one.overall->library_count});
        });
    const auto other_ms = [](const Overall& overall) {
      double rest_ms = overall.computing_ms;
      for (const Amount& amount : overall.classes) rest_ms -= amount.ms;
      return std::max(0.0, Round(rest_ms, 6));
    };
    Where("Other Time", other_ms, [&](const auto& one) { return Seconds(other_ms(*one.overall)); });
  }

  void AddBandwidths() {
    const auto add = [this](std::string heading, double Side::* gbps) {
      if (sides_[0].side->*gbps == 0 && sides_[1].side->*gbps == 0) return;
      Always(std::move(heading),
             [gbps](const auto& one) { return Concat(Fixed(one.side->*gbps, 3), "GB/s"); });
    };
    add("RDMA Bandwidth", &Side::rdma_gbps);
    add("SDMA Bandwidth", &Side::sdma_gbps);
  }

  // One line a part, so that a terminal's width does for it.
  std::string Frame() const {
    size_t width = 0;
    size_t cell = 0;
    for (size_t i = 0; i < headings_.size(); ++i) {
      width = std::max(width, headings_[i].size());
      cell = std::max({cell, sides_[0].cells[i].size(), sides_[1].cells[i].size()});
    }
    cell = std::max(cell, std::string_view("comparison").size());
    const auto line = [&](std::string_view heading, std::string_view a, std::string_view b) {
      const auto padded = [](std::string_view text, size_t size) {
        return Concat(text, std::string(size - text.size(), ' '));
      };
      return Concat("  ", padded(heading, width), "  ", padded(a, cell), "  ", b, "\n");
    };
    std::string text = "Model Profiling Time Distribution\n";
    text += line("", "base", "comparison");
    for (size_t i = 0; i < headings_.size(); ++i) {
      text += line(headings_[i], sides_[0].cells[i], sides_[1].cells[i]);
    }
    return text;
  }

  SideTexts sides_[2];
  std::vector<std::string> headings_;
};

}  // namespace

std::string OverallTable(const Side& base_side, const Overall& base, const Side& comparison_side,
                         const Overall& comparison) {
  return TableMaker({&base_side, &base}, {&comparison_side, &comparison}).Run();
}

}  // namespace sonde::compare
