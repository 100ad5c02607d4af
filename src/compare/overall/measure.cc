#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/strings.h"
#include "compare/frame/communicates.h"
#include "compare/frame/name_predicate.h"
#include "compare/overall/overall.h"

namespace sonde::compare {
namespace {

using recipes::Interval;

// Time of `a` that lies in `b` as well; both merged.
double CommonMs(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  return Ms(recipes::TotalNs(a) - recipes::TotalNs(recipes::Subtract(a, b)));
}

// Waiting, but for the waits that are part of a transfer over RDMA: those behind two sends, and
// behind two sends, a wait and a send.
class WaitScan {
 public:
  bool Take(std::string_view task_name) {
    const bool is_wait = task_name == "Notify_Wait";
    const bool is_transfer = history_ == "RRNR" || history_.ends_with("RR");
    history_.erase(history_.begin());
    history_ += task_name == "RDMASend" ? 'R' : is_wait ? 'N' : 'O';
    return is_wait && !is_transfer;
  }

 private:
  std::string history_ = "OOOO";
};

// Waits of each plane of a group.
using PlaneWaits = std::map<int32_t, std::vector<Interval>>;
PlaneWaits WaitsOfGroup(const Side& side, size_t group) {
  std::map<int32_t, WaitScan> scans;
  PlaneWaits waits;
  // Texts show all lanes of a group, those without a wait among them; databases only what waits.
  if (side.kind == SideKind::kNpuText) {
    for (const int32_t plane : side.groups[group].planes) waits[plane];
  }
  for (const CommunicationOp& op : side.communications) {
    if (op.group != group) continue;
    for (const uint32_t place : op.tasks) {
      const CommunicationTask& task = side.communication_tasks[place];
      if (scans[task.plane].Take(side.Name(task.name))) {
        waits[task.plane].push_back({task.begin_ns, task.end_ns});
      }
    }
  }
  return waits;
}

// Of the plane that waited least.
std::vector<Interval> LeastWaits(const PlaneWaits& planes) {
  std::vector<Interval> least;
  int64_t least_ns = std::numeric_limits<int64_t>::max();
  for (const auto& [plane, waits] : planes) {
    int64_t sum_ns = 0;
    for (const Interval& wait : waits) sum_ns += wait.end_ns - wait.start_ns;
    if (sum_ns >= least_ns) continue;
    least_ns = sum_ns;
    least = waits;
  }
  return recipes::Merge(std::move(least));
}

int64_t FirstWait(const PlaneWaits& planes) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const auto& [plane, waits] : planes) {
    for (const Interval& wait : waits) first = std::min(first, wait.start_ns);
  }
  return first;
}

std::vector<Interval> UncoveredOf(const Side& side, size_t group) {
  std::vector<Interval> ops;
  for (const CommunicationOp& op : side.communications) {
    if (op.group == group) ops.push_back({op.begin_ns, op.end_ns});
  }
  const std::vector<Interval> merged = recipes::Merge(std::move(ops));
  const std::vector<Interval> hidden = recipes::Subtract(merged, side.overlap.not_overlapped);
  return recipes::Subtract(merged, hidden);
}

}  // namespace

double Overall::WaitMs() const {
  double wait_ms = 0;
  for (const GroupTime& group : groups) wait_ms += group.wait_ms;
  return wait_ms;
}

void MeasureGroups(const Side& side, Overall& overall) {
  std::vector<std::vector<Interval>> uncovered;
  std::vector<std::pair<int64_t, size_t>> by_first_wait;
  for (size_t i = 0; i < side.groups.size(); ++i) {
    const PlaneWaits waits = WaitsOfGroup(side, i);
    by_first_wait.emplace_back(FirstWait(waits), i);
    uncovered.push_back(UncoveredOf(side, i));
    GroupTime& group = overall.groups.emplace_back();
    group.title = side.groups[i].title;
    group.description = side.groups[i].description;
    group.wait_ms = CommonMs(LeastWaits(waits), side.overlap.not_overlapped);
    group.transmit_ms = Ms(recipes::TotalNs(uncovered[i])) - group.wait_ms;
  }
  for (size_t i = 0; i < uncovered.size(); ++i) {
    for (size_t j = i + 1; j < uncovered.size(); ++j) {
      const double common_ms = CommonMs(uncovered[i], uncovered[j]);
      if (common_ms <= 0) continue;
      const auto name = [&](const GroupTime& group) {
        return group.description.empty() ? group.title : group.description;
      };
      overall.group_overlaps.emplace_back(
          base::Concat(name(overall.groups[i]), " & ", name(overall.groups[j])), common_ms);
    }
  }
  if (side.kind != SideKind::kNpuDb) return;
  // As the reference lists them: those that wait by their first wait, then the others.
  std::ranges::sort(by_first_wait);
  std::vector<GroupTime> listed;
  for (const auto& [first, i] : by_first_wait) listed.push_back(overall.groups[i]);
  overall.groups = std::move(listed);
}

std::vector<std::pair<std::string, FusedTime>> MeasureFused(const Side& side,
                                                            std::span<const KernelClass> classes) {
  std::vector<std::pair<std::string, FusedTime>> times;
  std::vector<const Kernel*> marks;
  for (const Kernel& kernel : side.kernels) {
    if (side.Name(kernel.name) == "C_CORE_SQE") marks.push_back(&kernel);
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] != KernelClass::kFused) continue;
    const Kernel& kernel = side.kernels[i];
    std::vector<int64_t> ends_ns;
    for (const Kernel* mark : marks) {
      if (mark->EndNs() >= kernel.begin_ns && mark->EndNs() <= kernel.EndNs()) {
        ends_ns.push_back(mark->EndNs());
      }
    }
    const std::string name(side.Name(kernel.name));
    auto found = std::find_if(times.begin(), times.end(),
                              [&](const auto& entry) { return entry.first == name; });
    if (found == times.end()) found = times.emplace(times.end(), name, FusedTime{});
    FusedTime& time = found->second;
    time.all += {Ms(kernel.dur_ns), 1};
    const double mac_us = std::isnan(kernel.mac_us) ? 0 : kernel.mac_us;
    time.computing_ms += (std::max(mac_us, kernel.mte2_us) + kernel.aiv_us) / 1e3;
    for (size_t mark = 0; mark + 1 < ends_ns.size(); mark += 2) {
      time.communication_ms += Ms(ends_ns[mark + 1] - ends_ns[mark]);
    }
  }
  return times;
}

namespace {

bool IsComputeTask(std::string_view type) {
  return type == "AI_CORE" || type == "MIX_AIC" || type == "MIX_AIV" || type == "AI_CPU" ||
         type == "AI_VECTOR_CORE" || type == "FFTS_PLUS";
}

Amount SdmaOfNpu(const Side& side) {
  std::set<int64_t> waits;
  std::set<int64_t> computes;
  std::map<int64_t, Amount> sdma;
  for (const Kernel& kernel : side.kernels) {
    if (kernel.is_communication || kernel.stream <= 0) continue;
    const std::string_view type = side.Name(kernel.task_type);
    if (type == "EVENT_WAIT_SQE" || type == "EVENT_WAIT") waits.insert(kernel.stream);
    if (type == "SDMA_SQE" || type == "PCIE_DMA_SQE" || type == "MEMCPY_ASYNC") {
      sdma[kernel.stream] += {Ms(kernel.dur_ns), 1};
    }
    const bool computes_here =
        side.kind == SideKind::kNpuText ? IsComputeTask(type) : kernel.core != kNone;
    if (computes_here) computes.insert(kernel.stream);
  }
  Amount sum;
  for (const auto& [stream, amount] : sdma) {
    if (computes.contains(stream) && (waits.empty() || waits.contains(stream))) sum += amount;
  }
  return sum;
}

bool IsCopyOfGpu(std::string_view kernel) {
  const std::string name = base::ToLower(kernel);
  for (const std::string_view mark : {"htod", "dtod", "dtoh", "memset (device)"}) {
    if (name.find(mark) != std::string::npos) return true;
  }
  return false;
}

bool IsOfLightLibrary(std::string_view kernel) { return base::ToLower(kernel) == "kernel_aivec"; }

Amount SdmaOfGpu(const Side& side) {
  std::map<int64_t, int64_t> kernels;  // by stream
  for (const Kernel& kernel : side.kernels) {
    if (kernel.core != kNone && !Communicates(side, kernel)) {
      ++kernels[kernel.stream];
    }
  }
  const auto most =
      std::max_element(kernels.begin(), kernels.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Amount sum;
  NamePredicate copies(side.names, IsCopyOfGpu);
  for (const Kernel& kernel : side.kernels) {
    if (most == kernels.end() || kernel.stream != most->first) continue;
    if (copies.Of(kernel.name)) sum += {Ms(kernel.dur_ns), 1};
  }
  return sum;
}

void MeasureClasses(const Side& side, std::span<const KernelClass> classes, Overall& overall) {
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == KernelClass::kNotKnown) continue;
    overall.has_classes = true;
    overall.classes[static_cast<size_t>(classes[i])] += {Ms(side.kernels[i].dur_ns), 1};
  }
}

}  // namespace

Amount MeasureSdma(const Side& side) { return side.IsNpu() ? SdmaOfNpu(side) : SdmaOfGpu(side); }

Overall MeasureOverall(const Side& side) {
  Overall overall;
  const std::vector<KernelClass> classes = Classify(side);
  MeasureClasses(side, classes, overall);
  overall.fused = MeasureFused(side, classes);
  MeasureGroups(side, overall);
  overall.computing_ms = Ms(recipes::TotalNs(side.overlap.computing));
  overall.communication_ms = Ms(recipes::TotalNs(side.overlap.not_overlapped));
  overall.sdma = MeasureSdma(side);
  NamePredicate light(side.names, IsOfLightLibrary);
  for (const Kernel& kernel : side.kernels) {
    if (!light.Of(kernel.name)) continue;
    overall.library_ms += Ms(kernel.dur_ns);
    ++overall.library_count;
  }
  overall.e2e_ms = side.last_ns > side.first_ns ? Ms(side.last_ns - side.first_ns) : 0;
  overall.free_ms =
      overall.e2e_ms - overall.computing_ms - overall.library_ms - overall.communication_ms;
  constexpr double kGigabyte = 1024.0 * 1024 * 1024;
  overall.reserved_gb = static_cast<double>(side.reserved_bytes) / kGigabyte;
  return overall;
}

}  // namespace sonde::compare
