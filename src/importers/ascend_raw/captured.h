// Graphs that were captured (aclgraph): their streams, and the operators that their tasks run.
// Their tasks are launched once and run many times.
//
// Memory: a row an operator of a graph. One thread. Units: ticks of the host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/ascend_raw/host_records.h"
#include "store/import_issues.h"

namespace sonde::importers::raw {

struct CapturedOperator {
  uint64_t name = 0;
  uint64_t op_type = 0;
  uint64_t attributes = 0;
  uint32_t task_type = 0;
  uint32_t model = 0;
  uint16_t blocks = 0;
  uint32_t mix_blocks = 0;
  bool is_hf32 = false;
  std::string tensors;  // bytes of the records of tensors
};

class CapturedGraphs {
 public:
  explicit CapturedGraphs(store::ImportIssues& issues) : issues_(issues) {}

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);
  // When all are read.
  void Build();

  // The operator of a task; null where no graph has it.
  const CapturedOperator* OperatorOf(uint16_t device, uint16_t stream, uint32_t task) const;
  // The graph that a task belongs to; `batch`: how often the numbers of its stream restarted.
  std::optional<int64_t> ModelOf(uint16_t device, uint16_t stream, uint32_t batch,
                                 uint64_t time) const;

 private:
  struct StreamRecord {
    uint64_t time = 0;
    bool is_end = false;
    uint16_t stream = 0;
    uint16_t original = 0;
    uint16_t model = 0;
    uint16_t device = 0;
    auto operator<=>(const StreamRecord&) const = default;
  };
  struct Life {
    uint64_t begin = 0;
    uint64_t end = UINT64_MAX;
    uint16_t model = 0;
  };
  // `data`: behind the head.
  void TakeOperator(std::string_view data, bool with_tensors);
  void ReadOperators(const Stream& stream);

  store::ImportIssues& issues_;
  std::vector<StreamRecord> records_;
  std::map<std::pair<uint16_t, uint16_t>, std::vector<Life>> lives_;  // by device and stream
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, CapturedOperator> operators_;
};

}  // namespace sonde::importers::raw
