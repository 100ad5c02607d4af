#include "importers/ascend_raw/unit_facts.h"

#include <string_view>

#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/ge_names.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/record_stream.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

constexpr uint16_t kDeviceMask = 0xFFF;

uint64_t KernelKey(uint16_t device, uint32_t task) { return uint64_t{device} << 32U | task; }

}  // namespace

bool UnitFacts::Read(const Stream& stream) {
  const std::vector<std::string_view> parts = base::Split(stream.name, '.');
  if (parts.size() != 3) return false;
  const auto read = [&](const RecordForm& form, const auto& take) {
    ReadRecords(stream, form, rows_.issues, take);
    return true;
  };
  if (parts[1] == "compact" && parts[2] == "dpu_track") {
    return read(kCompactForm, [this](std::string_view r) { TakeDpuTask(r); });
  }
  if (parts[1] != "additional") return false;
  if (parts[2] == "dpu_hccl_info") {
    return read(kAdditionalForm, [this](std::string_view r) { TakeDpuTransfer(r); });
  }
  if (parts[2] == "ccu_task_info") {
    return read(kAdditionalForm, [this](std::string_view r) {
      items_[At<uint32_t>(r, kRecordData + 36)] = At<uint64_t>(r, kRecordData + 8);
    });
  }
  if (parts[2] == "ccu_group_info" || parts[2] == "ccu_wait_signal_info") {
    const bool is_wait = parts[2] != "ccu_group_info";
    return read(kAdditionalForm,
                [this, is_wait](std::string_view r) { TakeInstruction(r, is_wait); });
  }
  return false;
}

// Of one instruction the first record counts.
void UnitFacts::TakeInstruction(std::string_view record, bool is_wait) {
  const std::string_view data = record.substr(kRecordData);
  const auto key = std::tuple(At<uint32_t>(data, 36), uint32_t{At<uint16_t>(data, 42)}, is_wait);
  UnitInstruction instruction{.die = At<uint8_t>(data, 40)};
  if (is_wait) {
    instruction.mask = At<uint32_t>(data, 52);
  } else {
    instruction.bytes = At<uint64_t>(data, 48);
  }
  instructions_.try_emplace(key, instruction);
}

void UnitFacts::TakeDpuTask(std::string_view record) {
  const std::string_view data = record.substr(kRecordData);
  dpu_tasks_.push_back({.head = ReadHead(record),
                        .begin = At<uint64_t>(data, 16),
                        .device = At<uint16_t>(data, 0),
                        .stream = At<uint16_t>(data, 2),
                        .task = At<uint32_t>(data, 4)});
}

void UnitFacts::TakeDpuTransfer(std::string_view record) {
  const std::string_view data = record.substr(kRecordData);
  dpu_tasks_.push_back({.head = ReadHead(record),
                        .begin = At<uint64_t>(data, 48),
                        .device = At<uint16_t>(data, 102),
                        .stream = At<uint16_t>(data, 96),
                        .task = At<uint32_t>(data, 88),
                        .is_transfer = true,
                        .item = At<uint64_t>(data, 0),
                        .group = At<uint64_t>(data, 16),
                        .local_rank = At<uint32_t>(data, 24),
                        .remote_rank = At<uint32_t>(data, 28),
                        .bytes = At<uint64_t>(data, 80),
                        .data_type = At<uint8_t>(data, 105),
                        .link = At<uint8_t>(data, 106),
                        .transport = At<uint8_t>(data, 107)});
}

void UnitFacts::Build(HostLayer& host, int64_t pid) {
  if (dpu_tasks_.empty()) return;
  // Their names are in the records of their launches.
  std::map<uint64_t, uint64_t> kernels;
  for (const TaskTrack& track : host.tracks()) {
    if (track.is_dpu) kernels[KernelKey(track.device, track.task)] = track.kernel;
  }
  for (DpuTask& task : dpu_tasks_) {
    if (!task.is_transfer) {
      const auto kernel =
          kernels.find(KernelKey(static_cast<uint16_t>(task.device & kDeviceMask), task.task));
      if (kernel != kernels.end()) task.item = kernel->second;
    }
    AddDpuTask(task, host, pid);
  }
}

// Layers have the names that databases give them.
void UnitFacts::AddDpuTask(const DpuTask& task, HostLayer& host, int64_t pid) {
  if (task.head.time < task.begin) return rows_.issues.Add(kBadRecord, "dpu_track");
  Dictionary& dictionary = host.dictionary();
  const auto text = [&](uint64_t hash) {
    return std::string(hash == 0 ? "N/A" : dictionary.View(dictionary.Text(hash)));
  };
  const int32_t track =
      rows_.Track({.kind = capture::TrackKind::kDeviceLayer,
                   .name = Concat("DPU ", std::to_string(task.device & kDeviceMask), " Stream ",
                                  std::to_string(task.stream)),
                   .process_id = rows_.Process(pid)});
  const int64_t ts = clock_.FromTicks(task.begin);
  const int32_t slice =
      rows_.AddSlice(track, ts, SpanNs(ts, clock_.FromTicks(task.head.time)),
                     rows_.names.Intern(text(task.item)), rows_.names.Intern("dpu_task"));
  std::vector<ascend::Argument> arguments = {{"Thread Id", std::to_string(task.head.tid)},
                                             {"Physic Stream Id", std::to_string(task.stream)},
                                             {"Task Id", std::to_string(task.task)}};
  if (task.is_transfer) {
    arguments.push_back({"Group Name", text(task.group), /*is_number=*/false});
    arguments.push_back({"Src Rank", std::to_string(task.local_rank)});
    arguments.push_back({"Dst Rank", std::to_string(task.remote_rank)});
    arguments.push_back({"Size(Byte)", std::to_string(task.bytes)});
    arguments.push_back({"Data Type", HcclTypeName(task.data_type), /*is_number=*/false});
    arguments.push_back({"Link Type", LinkName(task.link), /*is_number=*/false});
    arguments.push_back({"Transport Type", TransportName(task.transport), /*is_number=*/false});
  }
  ascend::DeviceRows(rows_).AddArguments(slice, arguments);
}

const UnitInstruction* UnitFacts::InstructionOf(uint32_t task, uint32_t instruction,
                                                bool is_wait) const {
  const auto found = instructions_.find({task, instruction, is_wait});
  return found == instructions_.end() ? nullptr : &found->second;
}

const uint64_t* UnitFacts::ItemOf(uint32_t task) const {
  const auto found = items_.find(task);
  return found == items_.end() ? nullptr : &found->second;
}

}  // namespace sonde::importers::raw
