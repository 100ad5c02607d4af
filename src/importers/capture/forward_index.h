// Finds the forward op of a backward node, by the framework's number of the forward op's thread and
// its sequence number.
//
// Several threads may have one number: libraries that the framework calls (gloo) restart the count.
// Refers to the trace; any thread after it was made.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/capture/trace.h"

namespace sonde::importers::capture_import {

class ForwardIndex {
 public:
  explicit ForwardIndex(const CaptureTrace& trace);

  // Of the threads that share the number: the op that began last before the backward node; null
  // where none was recorded.
  const Node* OpOf(const Node& backward) const { return Find(backward).second; }
  // The thread of that op; without one, the only thread of that number; else none.
  int32_t ThreadOf(const Node& backward) const { return Find(backward).first; }

 private:
  // The forward op of each sequence number of one thread: the one that began last, which is also
  // the innermost where they nest.
  class Ops {
   public:
    explicit Ops(const ThreadStage& stage);
    const Node* Find(int32_t sequence) const;  // null where there is none
    int32_t thread_id() const { return stage_->thread_id; }

   private:
    int32_t PlaceOf(int32_t sequence) const;
    void Set(const Node& node);

    const ThreadStage* stage_;
    int32_t low_ = 0;
    bool dense_ = true;
    std::vector<int32_t> table_;
    std::unordered_map<int32_t, int32_t> map_;
  };

  std::pair<int32_t, const Node*> Find(const Node& backward) const;

  std::unordered_map<uint32_t, std::vector<Ops>> threads_;  // by number of the framework
};

}  // namespace sonde::importers::capture_import
