// FRAMEWORK/torch.*: operators of PyTorch and its task queue, as rows.
//
// A task of the device is launched by a thread that takes it off a queue: from the launch over the
// entry of the queue to the operator that put it there. Memory: three numbers an operator, one
// record a mark of the queue, an event of memory and a Python call, in the rows' pool. One thread.
// Units: nanoseconds of the Unix epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/ascend/span.h"
#include "importers/ascend_raw/clock.h"
#include "importers/ascend_raw/framework_records.h"
#include "importers/rows/number_table.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers::raw {

// Finds the range of a thread that is open at a moment. Filled, sorted once, then queried.
class OpenRanges {
 public:
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
    int32_t slice = store::kNone;
    int32_t parent = -1;  // index in the thread
  };

  explicit OpenRanges(base::SpillPool* pool) : pool_(pool) {}
  void Add(int64_t tid, int64_t begin, int64_t end, int32_t slice) {
    threads_.try_emplace(tid, base::SpillAllocator<Range>(pool_))
        .first->second.push_back({begin, end, slice});
  }
  void Sort();
  // The slice that began last, has not ended and is accepted; store::kNone where none is open.
  int32_t Innermost(
      int64_t tid, int64_t at,
      const std::function<bool(int32_t slice)>& accepts = [](int32_t) { return true; }) const;

 private:
  base::SpillPool* pool_;
  std::map<int64_t, base::SpillVector<Range>> threads_;
};

// An entry of the task queue, as it was put there or taken off.
struct QueueEntry {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t tid = 0;
  int64_t correlation = 0;
  int32_t slice = store::kNone;
};

class FrameworkLayer {
 public:
  explicit FrameworkLayer(TraceRows& rows)
      : rows_(rows), ops_(rows.pool()), marks_(Allocator<Mark>()), memory_(Allocator<Memory>()) {}

  // A file by its name ("torch.op_range"); false where it is none of the framework's. In any order.
  bool Read(const RecordFile& file, const Clock& clock);
  // When all are read: arrows, steps, blocks of memory.
  void Finish();

  // The operator that requested the work of the thread at that moment, over the queue or directly.
  int32_t OperatorAt(int64_t tid, int64_t at) const;
  // Thread and moment of the request: for threads that take entries off the queue those at which
  // the entry was queued, else the same; nothing where no entry is open.
  std::optional<std::pair<int64_t, int64_t>> AskedAt(int64_t tid, int64_t at) const;

  int64_t pid() const { return pid_; }
  bool is_empty() const { return pid_ < 0; }

 private:
  struct Memory {
    int64_t ts = 0;
    MemoryUse use = {};
    uint32_t order = 0;  // of the records
  };
  struct Call {
    int64_t ts = 0;
    uint64_t key = 0;
    uint32_t order = 0;  // of the records
    uint8_t kind = 0;
  };
  struct Mark {
    int64_t ts = 0;
    uint64_t correlation = 0;
    uint64_t tid = 0;
    uint64_t pid = 0;
    int32_t name = store::kNone;
    uint32_t order = 0;  // of the records
    uint8_t kind = 0;
  };
  struct Module {
    std::string shown;
    int32_t args = store::kNone;
  };
  struct Modules {  // of a thread
    std::map<std::string, int64_t, std::less<>> counts;
    std::map<std::string, Module, std::less<>> by_text;
  };
  struct Ends {
    int32_t forward = store::kNone;  // indices of rows.ops
    int32_t backward = store::kNone;
    uint64_t forward_thread = 0;
  };

  int32_t Thread(uint64_t pid, uint64_t tid);
  void TakeOp(const OpRange& op, const Clock& clock);
  int32_t SignatureOf(const OpRange& op);
  int32_t StackOf(std::string_view stack);
  void AddStep(int32_t slice, std::string_view name);
  void PairQueue();
  void AddQueueEntry(const Mark& begin, const Mark& end, bool is_put);
  void PairForwardBackward();
  void SetForwardThreads();
  int32_t ThreadOf(int32_t op) const;  // of an index of rows.ops
  void AddPythonCalls();
  void ReplayThread(int64_t tid, base::SpillVector<Call>& calls);
  void AddPython(int64_t tid, const Call& call, int64_t end, Modules& modules);
  const Module& ModuleOf(std::string_view text, Modules& modules);
  void AddMemory();
  void AddEvent(const Memory& memory);
  void AddBlocks(const std::vector<const Memory*>& of_pointer);
  void AddBlock(const std::vector<const Memory*>& life);
  int32_t OwnerName(const Memory& memory) const;
  void AddFlow(std::string_view kind, int64_t key, int32_t out, int32_t in);

  template <class Record>
  base::SpillAllocator<Record> Allocator() const {
    return base::SpillAllocator<Record>(rows_.pool());
  }

  TraceRows& rows_;
  int64_t pid_ = -1;
  OpenRanges ops_;
  std::map<int64_t, base::SpillVector<QueueEntry>> dequeued_;  // by thread, by begin
  NumberTable<QueueEntry> enqueued_{rows_.pool()};             // by correlation
  base::SpillVector<Mark> marks_;
  base::SpillVector<Memory> memory_;
  std::map<int64_t, base::SpillVector<Call>> calls_;  // by thread
  size_t call_count_ = 0;
  std::unordered_map<uint64_t, std::string> python_names_;
  std::unordered_map<std::string, int32_t> stacks_;
  std::map<int64_t, Ends> ends_;                        // by sequence number
  std::vector<std::pair<int32_t, uint64_t>> backward_;  // index of rows.ops, forward thread
  std::string file_;                                    // of the Python calls, for issues
};

}  // namespace sonde::importers::raw
