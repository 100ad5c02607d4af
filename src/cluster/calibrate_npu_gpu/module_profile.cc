#include "cluster/calibrate_npu_gpu/module_profile.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/host/sqlite_reader.h"
#include "base/strings.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using base::SqliteRow;

constexpr int64_t kPushPop = 59;

enum class Turn : uint8_t { kPush, kPop, kLaunch };
struct Event {
  int64_t ts = 0;
  Turn turn = Turn::kPush;
  size_t index = 0;  // of ranges or launches
};
struct Range {
  std::string name;
  bool is_module = false;
  bool is_op = false;
};
struct Launch {
  std::string kernel;
  int32_t rank = 0;
  double ns = 0;
};

bool IsModule(std::string_view name) {
  return std::any_of(kModuleWords.begin(), kModuleWords.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

struct KernelSum {
  double ns = 0;
  double count = 0;
};

// Events on the threads of the host, and their sums.
class Replay {
 public:
  void AddRange(int64_t thread, int64_t begin, std::optional<int64_t> end, std::string name) {
    const bool is_module = IsModule(name);
    const bool is_op = !is_module && name.find("::") != std::string::npos;
    if (is_op) name.resize(std::min(name.find(','), name.size()));
    ranges_.push_back({std::move(name), is_module, is_op});
    auto& events = threads_[thread];
    events.push_back({begin, Turn::kPush, ranges_.size() - 1});
    events.push_back(
        {end.value_or(std::numeric_limits<int64_t>::max()), Turn::kPop, ranges_.size() - 1});
  }
  void AddLaunch(int64_t thread, int64_t ts, Launch launch) {
    launches_.push_back(std::move(launch));
    threads_[thread].push_back({ts, Turn::kLaunch, launches_.size() - 1});
  }

  std::map<int32_t, std::vector<ModuleTime>> Run() {
    for (auto& [thread, events] : threads_) {
      std::stable_sort(events.begin(), events.end(),
                       [](const Event& a, const Event& b) { return a.ts < b.ts; });
      std::vector<size_t> modules;
      std::vector<size_t> ops;
      for (const Event& event : events) Take(event, modules, ops);
    }
    return Rows();
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // parent, module, op

  void Take(const Event& event, std::vector<size_t>& modules, std::vector<size_t>& ops) {
    if (event.turn == Turn::kLaunch) {
      if (!modules.empty()) Add(launches_[event.index], modules, ops);
      return;
    }
    const Range& range = ranges_[event.index];
    if (!range.is_module && !range.is_op) return;
    std::vector<size_t>& stack = range.is_module ? modules : ops;
    if (event.turn == Turn::kPush) {
      stack.push_back(event.index);
    } else {
      std::erase(stack, event.index);
    }
  }

  void Add(const Launch& launch, const std::vector<size_t>& modules,
           const std::vector<size_t>& ops) {
    std::string parent;
    for (size_t i = 0; i + 1 < modules.size(); ++i) {
      parent += Concat("/", ranges_[modules[i]].name);
    }
    const std::string op = ops.empty() ? "None" : ranges_[ops.back()].name;
    KernelSum& sum = sums_[launch.rank][{parent, ranges_[modules.back()].name, op}][launch.kernel];
    sum.ns += launch.ns;
    ++sum.count;
  }

  // Kernels of an operator by their time.
  std::map<int32_t, std::vector<ModuleTime>> Rows() const {
    std::map<int32_t, std::vector<ModuleTime>> all;
    for (const auto& [rank, keys] : sums_) {
      std::vector<ModuleTime> rows;
      for (const auto& [key, kernels] : keys) {
        std::vector<std::pair<std::string, KernelSum>> sorted(kernels.begin(), kernels.end());
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
        const auto& [parent, module, op] = key;
        for (const auto& [name, sum] : sorted) {
          rows.push_back(
              {parent, module, op, name, sum.count, sum.ns / 1e3, sum.ns / sum.count / 1e3});
        }
      }
      all[rank] = SumByOp(rows);
    }
    return all;
  }

  std::vector<Range> ranges_;
  std::vector<Launch> launches_;
  std::map<int64_t, std::vector<Event>> threads_;
  std::map<int32_t, std::map<Key, std::map<std::string, KernelSum>>> sums_;
};

Status ReadRanges(const base::SqliteReader& database, Replay& replay) {
  return database.Query(
      Concat("SELECT n.start, n.\"end\", n.globalTid, coalesce(n.text, s.value, 'Unknown_Region') "
             "FROM NVTX_EVENTS n LEFT JOIN StringIds s ON n.textId = s.id WHERE n.eventType = ",
             std::to_string(kPushPop), " ORDER BY n.start"),
      [&](const SqliteRow& row) {
        const auto begin = row.Int(0);
        if (!begin) return;
        replay.AddRange(row.Int(2).value_or(0), *begin, row.IsNull(1) ? std::nullopt : row.Int(1),
                        std::string(row.Text(3)));
      });
}

Status ReadKernels(const base::SqliteReader& database, Replay& replay) {
  return database.Query(
      "SELECT r.start, r.globalTid, k.\"end\" - k.start, s.value, k.deviceId "
      "FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
      "JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON r.correlationId = k.correlationId "
      "JOIN StringIds s ON k.demangledName = s.id",
      [&](const SqliteRow& row) {
        const auto begin = row.Int(0);
        const auto dur = row.Int(2);
        const auto device = row.Int(4);
        if (!begin || !dur || !device) return;
        replay.AddLaunch(
            row.Int(1).value_or(0), *begin,
            {std::string(row.Text(3)), static_cast<int32_t>(*device), static_cast<double>(*dur)});
      });
}

}  // namespace

std::vector<ModuleTime> SumByOp(const std::vector<ModuleTime>& rows) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<const ModuleTime*>> by_op;
  for (const ModuleTime& row : rows) by_op[{row.parent, row.module, row.op}].push_back(&row);
  std::vector<ModuleTime> sums;
  for (const auto& [key, list] : by_op) {
    ModuleTime sum{.parent = list.front()->parent,
                   .module = list.front()->module,
                   .op = list.front()->op,
                   .kernels = {}};
    std::vector<std::string> kernels;
    for (const ModuleTime* row : list) {
      kernels.push_back(row->kernels);
      sum.count += row->count;
      sum.total_us += row->total_us;
      sum.mean_us += row->mean_us / static_cast<double>(list.size());
    }
    sum.kernels = base::Join(kernels, ", ");
    sums.push_back(std::move(sum));
  }
  return sums;
}

namespace {

Result<base::SqliteReader> OpenGpuFile(const std::string& path) {
  if (path.empty()) {
    return base::InvalidArgumentError(
        "Must specify the --baseline_profiling_path parameter: what 'nsys export --type sqlite' "
        "wrote of the GPU");
  }
  if (!base::IsRegularFile(path)) {
    return base::NotFoundError(Concat("'", path,
                                      "' is no file: --baseline_profiling_path is what "
                                      "'nsys export --type sqlite' wrote"));
  }
  SONDE_ASSIGN_OR_RETURN(auto database, base::SqliteReader::Open(path));
  for (const std::string_view table :
       {"NVTX_EVENTS", "StringIds", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL"}) {
    if (database.HasTable(table)) continue;
    return base::InvalidArgumentError(
        Concat("'", path, "' has no table ", table,
               ": record with 'nsys profile "
               "--trace=cuda,nvtx' and export with 'nsys export --type sqlite'"));
  }
  return database;
}

}  // namespace

Status CheckGpuFile(const std::string& path) { return OpenGpuFile(path).status(); }

Result<std::map<int32_t, std::vector<ModuleTime>>> ReadGpuModules(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const auto database, OpenGpuFile(path));
  Replay replay;
  SONDE_RETURN_IF_ERROR(ReadRanges(database, replay).Annotate(path));
  SONDE_RETURN_IF_ERROR(ReadKernels(database, replay).Annotate(path));
  auto modules = replay.Run();
  if (modules.empty()) {
    return base::NotFoundError(Concat(
        "'", path, "' has no kernel that was launched inside an NVTX range of a module (",
        base::Join(std::vector<std::string>(kModuleWords.begin(), kModuleWords.end()), ", "), ")"));
  }
  return modules;
}

}  // namespace sonde::cluster
