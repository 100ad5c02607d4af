// Records of a device's AI CPU (aicpu.data, DATA_PREPROCESS.AICPU and .DP): its kernels, its data
// queues, preprocessing, and the communication that it launched.
//
// Records have the form of additional ones; times are ticks of the device unless stated otherwise.
// One thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "importers/ascend_raw/aicpu_communication.h"
#include "importers/ascend_raw/device_layer.h"

namespace sonde::importers::raw {

class AiCpu {
 public:
  AiCpu(TraceRows& rows, const DeviceLayer& device, int64_t pid)
      : rows_(rows), device_(device), pid_(pid) {}
  AiCpu(const AiCpu&) = delete;
  AiCpu& operator=(const AiCpu&) = delete;

  // False where nothing is made of the stream.
  bool Read(const Stream& stream, bool expands_streams);
  // Records of the communication that it launched.
  AiCpuRecords& communication() { return communication_; }
  // When all are read, and the device's tasks are joined to the host's.
  void Build(const Records<RanTask>& ran, const HostLayer& host);

 private:
  struct Node {
    TaskPlace place = {};
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t compute_us = 0;  // moments of the AI CPU's own clock
    uint64_t copy_us = 0;
    uint64_t copied_us = 0;
    uint64_t submitted = 0;
    uint64_t after_run = 0;
    uint32_t dispatch_us = 0;
  };
  struct Turn {  // of a kernel that communicates while it computes
    TaskPlace place = {};
    uint32_t number = 0;
    std::vector<uint64_t> moments;
    bool is_compute = false;
  };

  void Take(std::string_view record, bool expands_streams);
  void TakeLegacy(std::string_view record, bool expands_streams);
  void TakeNode(std::string_view data, bool expands_streams);
  void ReadPreprocess(const Stream& stream);
  void TakePreprocessLine(std::string_view line);
  void TakePreprocess(uint64_t ns, std::string_view data);
  void AddPreprocess(uint64_t ns, std::string_view action, std::string_view source, uint64_t size);
  void TakeQueue(std::string_view data);
  void TakeTurn(std::string_view data, bool is_compute, bool expands_streams);
  void TakeOperation(uint64_t time, std::string_view data);
  void TakeTransfers(uint64_t time, std::string_view data);
  TaskPlace PlaceOf(std::string_view data, size_t at, bool expands_streams) const;
  const RanTask* TaskAt(const TaskPlace& place, uint64_t moment, const Records<RanTask>& ran) const;
  void AddNode(const Node& node, const RanTask* task, const HostLayer& host);
  void AddTurn(const Turn& turn, const RanTask* task);
  int32_t AddSlice(std::string_view layer, std::string_view kind, int64_t ts, int64_t dur,
                   int32_t name);

  TraceRows& rows_;
  const DeviceLayer& device_;
  int64_t pid_;
  std::vector<Node> nodes_;
  std::vector<Turn> turns_;
  AiCpuRecords communication_;
};

}  // namespace sonde::importers::raw
