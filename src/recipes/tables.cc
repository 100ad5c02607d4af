#include "recipes/tables.h"

#include <string>
#include <utility>
#include <vector>

#include "recipes/api_statistic/api_statistic.h"
#include "recipes/communication/communication.h"
#include "recipes/communication_matrix/communication_matrix.h"
#include "recipes/kernel_details/kernel_details.h"
#include "recipes/lane_depth/lane_depth.h"
#include "recipes/memory_record/memory_record.h"
#include "recipes/memory_summary/memory_summary.h"
#include "recipes/op_statistic/op_statistic.h"
#include "recipes/operator_details/operator_details.h"
#include "recipes/operator_memory/operator_memory.h"
#include "recipes/top_modules/top_modules.h"

namespace sonde::recipes {
namespace {

using store::ResultTable;

// Adds columns of values that a function takes from each row.
template <class Row>
class TableMaker {
 public:
  explicit TableMaker(const std::vector<Row>& rows) : rows_(rows) {}

  template <class Value, class Take>
  TableMaker& Add(const char* name, Take take) {
    std::vector<Value> values;
    values.reserve(rows_.size());
    for (const Row& row : rows_) values.push_back(Value(take(row)));
    table_.AddColumn(name, std::move(values));
    return *this;
  }
  template <class Take>
  TableMaker& Int(const char* name, Take take) {
    return Add<int64_t>(name, take);
  }
  template <class Take>
  TableMaker& Text(const char* name, Take take) {
    return Add<std::string>(name, take);
  }
  ResultTable Table() { return std::move(table_); }

 private:
  const std::vector<Row>& rows_;
  ResultTable table_;
};

}  // namespace

ResultTable StepTraceTable(const DeviceView& view) {
  std::vector<std::pair<int64_t, StepTraceRow>> rows;
  for (const Device& device : view.devices) {
    for (const StepTraceRow& row : device.steps) rows.emplace_back(device.device_id, row);
  }
  TableMaker maker(rows);
  maker.Int("device_id", [](const auto& r) { return r.first; })
      .Int("step_id", [](const auto& r) { return r.second.step_id.value_or(-1); })
      .Int("computing_ns", [](const auto& r) { return r.second.computing_ns; })
      .Int("not_overlapped_ns", [](const auto& r) { return r.second.not_overlapped_ns; })
      .Int("overlapped_ns", [](const auto& r) { return r.second.overlapped_ns; })
      .Int("communication_ns", [](const auto& r) { return r.second.communication_ns; })
      .Int("free_ns", [](const auto& r) { return r.second.free_ns; })
      .Int("stage_ns", [](const auto& r) { return r.second.stage_ns; })
      .Int("bubble_ns", [](const auto& r) { return r.second.bubble_ns; })
      .Int("preparing_ns", [](const auto& r) { return r.second.preparing_ns; });
  return maker.Table();
}

ResultTable OverlapTable(const DeviceView& view) {
  struct Row {
    int64_t device_id;
    const char* type;
    Interval interval;
  };
  std::vector<Row> rows;
  for (const Device& device : view.devices) {
    const auto add = [&](const char* type, const std::vector<Interval>& intervals) {
      for (const Interval& interval : intervals) rows.push_back({device.device_id, type, interval});
    };
    add("Computing", device.overlap.computing);
    add("Communication", device.overlap.communication);
    add("Communication(Not Overlapped)", device.overlap.not_overlapped);
    add("Free", device.overlap.free);
  }
  TableMaker maker(rows);
  maker.Int("device_id", [](const Row& r) { return r.device_id; })
      .Text("type", [](const Row& r) { return r.type; })
      .Int("start_ns", [](const Row& r) { return r.interval.start_ns; })
      .Int("end_ns", [](const Row& r) { return r.interval.end_ns; });
  return maker.Table();
}

ResultTable LaneDepthTable(const DeviceView& view) {
  const std::vector<int32_t> depths = LaneDepths(*view.data);
  const std::vector<store::SliceRow> slices(view.data->slices.begin(), view.data->slices.end());
  TableMaker maker(slices);
  maker.Int("slice_id", [](const auto& slice) { return slice.slice_id; })
      .Int("depth", [&](const auto& slice) { return depths[static_cast<size_t>(slice.slice_id)]; });
  return maker.Table();
}

ResultTable OpStatisticTable(const DeviceView& view) {
  const std::vector<OpStatisticRow> rows = OpStatistic(view);
  TableMaker maker(rows);
  maker.Int("device_id", [&](const auto& r) { return view.devices[r.device].device_id; })
      .Text("op_type", [](const auto& r) { return r.op_type; })
      .Text("core", [](const auto& r) { return r.core; })
      .Int("count", [](const auto& r) { return r.count; })
      .Int("total_ns", [](const auto& r) { return r.total_ns; })
      .Int("min_ns", [](const auto& r) { return r.min_ns; })
      .template Add<double>("average_ns", [](const auto& r) { return r.AverageNs(); })
      .Int("max_ns", [](const auto& r) { return r.max_ns; })
      .template Add<double>("ratio_percent", [](const auto& r) { return r.ratio_percent; });
  return maker.Table();
}

ResultTable ApiStatisticTable(const DeviceView& view) {
  const std::vector<ApiStatisticRow> rows = ApiStatistic(view);
  TableMaker maker(rows);
  maker.Text("level", [](const auto& r) { return r.level; })
      .Text("name", [](const auto& r) { return r.name; })
      .Int("count", [](const auto& r) { return r.count; })
      .Int("total_ns", [](const auto& r) { return r.total_ns; })
      .Int("average_ns", [](const auto& r) { return r.average_ns; })
      .Int("min_ns", [](const auto& r) { return r.min_ns; })
      .Int("max_ns", [](const auto& r) { return r.max_ns; })
      .template Add<double>("variance_us2", [](const auto& r) { return r.variance_us2; });
  return maker.Table();
}

ResultTable OperatorDetailsTable(const DeviceView& view) {
  const TraceData& data = *view.data;
  const std::vector<OperatorRow> rows = OperatorDetails(data);
  const auto slice = [&](const OperatorRow& r) -> const store::SliceRow& {
    return data.Slice(data.ops[r.op].slice_id);
  };
  TableMaker maker(rows);
  maker.Int("slice_id", [&](const auto& r) { return slice(r).slice_id; })
      .Text("name", [&](const auto& r) { return data.Name(slice(r).name); })
      .Int("start_ns", [&](const auto& r) { return slice(r).ts; })
      .Int("host_self_ns", [](const auto& r) { return r.host_self_ns; })
      .Int("host_total_ns", [](const auto& r) { return r.host_total_ns; })
      .Int("device_self_ns", [](const auto& r) { return r.device_self_ns; })
      .Int("device_total_ns", [](const auto& r) { return r.device_total_ns; });
  return maker.Table();
}

ResultTable KernelDetailsTable(const DeviceView& view) {
  const TraceData& data = *view.data;
  const std::vector<KernelRow> rows = KernelDetails(view);
  const auto kind = [&](const KernelRow& r) -> const store::TaskKindRow& {
    return data.kinds[static_cast<size_t>(data.tasks[r.index].kind_id)];
  };
  TableMaker maker(rows);
  maker
      .Text("name",
            [&](const auto& r) {
              return r.is_communication ? std::string_view(view.communications[r.index].name)
                                        : data.Name(kind(r).name);
            })
      .Text("type",
            [&](const auto& r) {
              return r.is_communication ? std::string_view(view.communications[r.index].type)
                                        : data.Name(kind(r).op_type);
            })
      .Text("core",
            [&](const auto& r) {
              return r.is_communication ? std::string_view("COMMUNICATION")
                                        : data.Name(kind(r).core);
            })
      .Int("start_ns",
           [&](const auto& r) {
             return r.is_communication ? data.communications[r.index].ts : data.tasks[r.index].ts;
           })
      .Int("dur_ns",
           [&](const auto& r) {
             if (!r.is_communication) return data.tasks[r.index].dur;
             return view.EndNs(data.communications[r.index]) - data.communications[r.index].ts;
           })
      .Int("wait_ns", [](const auto& r) { return r.wait_ns; });
  return maker.Table();
}

ResultTable OperatorMemoryTable(const DeviceView& view) {
  const TraceData& data = *view.data;
  const std::vector<OperatorMemoryRow> rows = OperatorMemory(data);
  const auto block = [&](const OperatorMemoryRow& r) -> const store::MemoryBlockRow& {
    return data.memory_blocks[r.block];
  };
  TableMaker maker(rows);
  maker.Text("name", [&](const auto& r) { return data.Name(r.name); })
      .Int("size_bytes", [&](const auto& r) { return block(r).size_bytes; })
      .Int("alloc_ns", [&](const auto& r) { return block(r).alloc_ts; })
      .Int("free_ns", [&](const auto& r) { return block(r).free_ts; })
      .Text("device", [&](const auto& r) {
        return DeviceTypeText(block(r).device_type, block(r).device_index);
      });
  return maker.Table();
}

ResultTable MemoryRecordTable(const DeviceView& view) {
  const TraceData& data = *view.data;
  const std::vector<store::MemoryEventRow> rows(data.memory_events.begin(),
                                                data.memory_events.end());
  TableMaker maker(rows);
  maker.Int("time_ns", [](const auto& r) { return r.ts; })
      .Text("device", [](const auto& r) { return DeviceTypeText(r.device_type, r.device_index); })
      .Int("size_bytes", [](const auto& r) { return r.size_bytes; })
      .Int("total_allocated_bytes", [](const auto& r) { return r.total_allocated; })
      .Int("total_reserved_bytes", [](const auto& r) { return r.total_reserved; })
      .Int("total_active_bytes", [](const auto& r) { return r.total_active; })
      .Text("owner", [&](const auto& r) { return data.Name(OwnerName(data, r.owner_slice_id)); })
      .Text("component", [&](const auto& r) { return MemoryComponent(data, r.component); });
  return maker.Table();
}

ResultTable MemorySummaryTable(const DeviceView& view) {
  const TraceData& data = *view.data;
  const std::vector<MemorySummaryRow> rows = MemorySummary(data);
  TableMaker maker(rows);
  maker.Int("pid", [&](const auto& r) { return data.PidOf(r.process_id); })
      .Text("device", [](const auto& r) { return DeviceTypeText(r.device_type, r.device_index); })
      .Text("component", [](const auto& r) { return r.component; })
      .Int("allocations", [](const auto& r) { return r.allocations; })
      .Int("releases", [](const auto& r) { return r.releases; })
      .Int("allocated_bytes", [](const auto& r) { return r.allocated_bytes; })
      .Int("released_bytes", [](const auto& r) { return r.released_bytes; })
      .Int("peak_allocated_bytes", [](const auto& r) { return r.peak_allocated_bytes; })
      .Int("peak_reserved_bytes", [](const auto& r) { return r.peak_reserved_bytes; })
      .Int("peak_active_bytes", [](const auto& r) { return r.peak_active_bytes; })
      .Int("peak_ns", [](const auto& r) { return r.peak_ns; })
      .Int("alive_blocks", [](const auto& r) { return r.alive_blocks; })
      .Int("alive_bytes", [](const auto& r) { return r.alive_bytes; });
  return maker.Table();
}

ResultTable CommunicationTable(const DeviceView& view) {
  std::vector<std::pair<int64_t, CommunicationRow>> rows;
  for (CommunicationStep& step : Communication(view)) {
    for (CommunicationRow& row : step.rows) {
      rows.emplace_back(step.step_id.value_or(-1), std::move(row));
    }
  }
  TableMaker maker(rows);
  maker.Int("step_id", [](const auto& r) { return r.first; })
      .Text("name", [&](const auto& r) { return view.communications[r.second.index].name; })
      .Text("group", [&](const auto& r) { return view.communications[r.second.index].group_name; })
      .Int("elapse_ns", [](const auto& r) { return r.second.times.elapse_ns; })
      .Int("transit_ns", [](const auto& r) { return r.second.times.transit_ns; })
      .Int("wait_ns", [](const auto& r) { return r.second.times.wait_ns; })
      .Int("idle_ns", [](const auto& r) { return r.second.times.idle_ns; })
      .Int("size_bytes", [](const auto& r) { return r.second.SizeBytes(); });
  return maker.Table();
}

ResultTable CommunicationMatrixTable(const DeviceView& view) {
  struct Row {
    int64_t step_id;
    std::string name;
    MatrixCell cell;
  };
  std::vector<Row> rows;
  for (const CommunicationStep& step : Communication(view)) {
    for (const MatrixEntry& entry : CommunicationMatrix(view, step)) {
      for (const MatrixCell& cell : entry.cells) {
        rows.push_back({step.step_id.value_or(-1), entry.name, cell});
      }
    }
  }
  TableMaker maker(rows);
  maker.Int("step_id", [](const Row& r) { return r.step_id; })
      .Text("name", [](const Row& r) { return r.name; })
      .Int("src_rank", [](const Row& r) { return r.cell.link.src_rank; })
      .Int("dst_rank", [](const Row& r) { return r.cell.link.dst_rank; })
      .Text("transport", [](const Row& r) { return TransportName(r.cell.link.transport); })
      .Int("size_bytes", [](const Row& r) { return r.cell.link.size_bytes; })
      .Int("time_ns", [](const Row& r) { return r.cell.link.time_ns; })
      .Text("op_name", [](const Row& r) { return r.cell.op_name; });
  return maker.Table();
}

ResultTable TopModulesTable(const DeviceView& view) {
  const std::vector<ModuleRow> rows = TopModules(view);
  TableMaker maker(rows);
  maker.Text("path", [](const auto& r) { return r.path; })
      .Text("class", [](const auto& r) { return r.module_class; })
      .Int("calls", [](const auto& r) { return r.calls; })
      .Int("host_total_ns", [](const auto& r) { return r.host_total_ns; })
      .Int("device_self_ns", [](const auto& r) { return r.device_self_ns; })
      .Int("device_total_ns", [](const auto& r) { return r.device_total_ns; });
  return maker.Table();
}

}  // namespace sonde::recipes
