#include "importers/capture/forward_index.h"

#include <algorithm>
#include <limits>

namespace sonde::importers::capture_import {
namespace {

using capture::RecordKind;

bool MayBeForward(const Node& node) {
  return node.sequence >= 0 &&
         (node.kind == RecordKind::kOp || node.kind == RecordKind::kFrameworkRange ||
          node.kind == RecordKind::kCompiledRegion);
}

}  // namespace

ForwardIndex::Ops::Ops(const ThreadStage& stage) : stage_(&stage) {
  int32_t low = std::numeric_limits<int32_t>::max();
  int32_t high = -1;
  size_t count = 0;
  for (const Node& node : stage.nodes) {
    if (!MayBeForward(node)) continue;
    low = std::min(low, node.sequence);
    high = std::max(high, node.sequence);
    ++count;
  }
  if (count == 0) return;
  low_ = low;
  const auto range = static_cast<size_t>(int64_t{high} - low + 1);
  dense_ = range <= count * 16 + 65536;
  if (dense_) table_.assign(range, store::kNone);
  for (const Node& node : stage.nodes) {
    if (MayBeForward(node)) Set(node);
  }
}

void ForwardIndex::Ops::Set(const Node& node) {
  const auto place = static_cast<int32_t>(&node - stage_->nodes.data());
  if (dense_) {
    table_[static_cast<size_t>(node.sequence - low_)] = place;
  } else {
    map_[node.sequence] = place;
  }
}

int32_t ForwardIndex::Ops::PlaceOf(int32_t sequence) const {
  if (dense_) {
    const int64_t index = int64_t{sequence} - low_;
    const bool inside = index >= 0 && index < static_cast<int64_t>(table_.size());
    return inside ? table_[static_cast<size_t>(index)] : store::kNone;
  }
  const auto found = map_.find(sequence);
  return found == map_.end() ? store::kNone : found->second;
}

const Node* ForwardIndex::Ops::Find(int32_t sequence) const {
  const int32_t place = PlaceOf(sequence);
  return place < 0 ? nullptr : &stage_->nodes[static_cast<size_t>(place)];
}

ForwardIndex::ForwardIndex(const CaptureTrace& trace) {
  for (const ThreadStage& stage : trace.stages) {
    const ThreadEntry* entry = trace.dictionary.FindThread(stage.thread_index);
    if (entry == nullptr || entry->framework_number == 0) continue;
    threads_[entry->framework_number].emplace_back(stage);
  }
}

std::pair<int32_t, const Node*> ForwardIndex::Find(const Node& backward) const {
  const auto found = threads_.find(backward.link);
  if (found == threads_.end()) return {store::kNone, nullptr};
  std::pair<int32_t, const Node*> last = {store::kNone, nullptr};
  for (const Ops& thread : found->second) {
    const Node* op = thread.Find(backward.sequence);
    if (op == nullptr || op->ts > backward.ts) continue;
    if (last.second == nullptr || op->ts > last.second->ts) last = {thread.thread_id(), op};
  }
  if (last.second == nullptr && found->second.size() == 1)
    last.first = found->second[0].thread_id();
  return last;
}

}  // namespace sonde::importers::capture_import
