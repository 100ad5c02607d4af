// Finds the call that contains a record.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "importers/ascend_raw/host_layer.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {

namespace {

bool IsInTree(const Api& api) {
  const bool has_level = api.level == kLevelNode || api.level == kLevelAcl ||
                         api.level == kLevelModel || api.level == kLevelCommunication;
  return has_level && api.end > api.begin;
}

// How many of a thread a tree can hold.
std::unordered_map<uint32_t, size_t> CallsOfThreads(const Records<Api>& apis,
                                                    base::SpillPool* pool) {
  std::unordered_map<uint32_t, size_t> calls;
  base::SpillSteps steps(pool);
  for (const Api& api : apis) {
    steps.Next();
    if (IsInTree(api)) ++calls[api.tid];
  }
  return calls;
}

}  // namespace

// Calls of operators all count; on other levels a call that overlaps the last one of its thread and
// level is left out.
void HostLayer::BuildTree() {
  struct Thread {
    Records<Node>* nodes = nullptr;
    std::map<uint16_t, uint64_t> last_end;  // by level
  };
  const auto calls_of = CallsOfThreads(apis_, rows_.pool());
  std::map<uint32_t, Thread> threads;
  Thread* thread = nullptr;
  uint32_t tid = 0;
  base::SpillSteps steps(rows_.pool());
  for (size_t i = 0; i < apis_.size(); ++i) {
    steps.Next();
    const Api& api = apis_[i];
    if (!IsInTree(api)) continue;
    const bool is_node = api.level == kLevelNode;
    if (thread == nullptr || api.tid != tid) {
      thread = &threads[api.tid];
      tid = api.tid;
    }
    if (!is_node) {
      uint64_t& end = thread->last_end[api.level];
      if (end != 0 && api.begin <= end) continue;
      end = api.end;
    }
    if (thread->nodes == nullptr) {
      thread->nodes =
          &trees_.try_emplace(tid, Tree{.nodes = NoRecords<Node>()}).first->second.nodes;
      thread->nodes->reserve(calls_of.at(tid));
    }
    thread->nodes->push_back({api.begin, api.end, static_cast<int32_t>(i), -1});
  }
  for (auto& [id, tree] : trees_) {
    Records<Node>& nodes = tree.nodes;
    const auto before = [](const Node& a, const Node& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.end != b.end ? a.end > b.end : a.api < b.api;
    };
    if (!base::IsSorted(nodes.begin(), nodes.end(), rows_.pool(), before)) {
      std::sort(nodes.begin(), nodes.end(), before);
    }
    int32_t open = -1;
    for (size_t i = 0; i < nodes.size(); ++i) {
      steps.Next();
      while (open >= 0 && nodes[static_cast<size_t>(open)].end < nodes[i].end) {
        open = nodes[static_cast<size_t>(open)].parent;
      }
      nodes[i].parent = open;
      open = static_cast<int32_t>(i);
    }
  }
}

int32_t HostLayer::OutermostOf(uint16_t level, const Head& head) const {
  int32_t outermost = -1;
  ForEachOpen(head.tid, head.time, [&](int32_t api) {
    if (apis_[static_cast<size_t>(api)].level == level) outermost = api;
  });
  return outermost;
}

int32_t HostLayer::OuterNodeOf(int32_t api) const {
  if (api < 0) return api;
  const Api& call = apis_[static_cast<size_t>(api)];
  int32_t outer = api;
  ForEachOpen(call.tid, call.end, [&](int32_t open) {
    const Api& around = apis_[static_cast<size_t>(open)];
    if (around.level == kLevelNode && around.begin <= call.begin && around.end >= call.end) {
      outer = open;
    }
  });
  return outer;
}

std::optional<int64_t> HostLayer::ModelAt(const Head& head) const {
  const int32_t api = OutermostOf(kLevelModel, head);
  if (api < 0) return std::nullopt;
  return static_cast<int64_t>(apis_[static_cast<size_t>(api)].item);
}

// Communication launched by a kernel of the AI CPU is a call within a call: the inner one.
int32_t HostLayer::NodeOfBasic(const Head& head) const {
  int32_t outermost = -1;
  int32_t within = -1;
  ForEachOpen(head.tid, head.time, [&](int32_t api) {
    if (apis_[static_cast<size_t>(api)].level != kLevelNode) return;
    within = outermost;
    outermost = api;
  });
  return within >= 0 ? within : outermost;
}

// Behind the records that the call has already.
template <class Record>
void HostLayer::Link(Records<Record>& records, int32_t index, Facts& facts) {
  (facts.last < 0 ? facts.first : records[static_cast<size_t>(facts.last)].next) = index;
  facts.last = index;
}

// In the order of time, so that of several the newest wins; counts those without a call.
template <class Record, class Take>
void HostLayer::Attach(Records<Record>& records, Take&& take) {
  SortByTime(records, rows_.pool());
  int64_t without = 0;
  base::SpillSteps steps(rows_.pool());
  for (size_t i = 0; i < records.size(); ++i) {
    steps.Next();
    without += take(records[i].head, static_cast<int32_t>(i)) ? 0 : 1;
  }
  if (without > 0) rows_.issues.Add(kNoInterface, "host", -1, without);
}

HostLayer::Facts& HostLayer::FactsAt(int32_t api) {
  int32_t& facts = facts_of_api_[static_cast<size_t>(api)];
  if (facts < 0) {
    facts = static_cast<int32_t>(facts_.size());
    facts_.emplace_back();
  }
  return facts_[static_cast<size_t>(facts)];
}

const HostLayer::Facts& HostLayer::FactsOf(int32_t api) const {
  static constexpr Facts kNothing;
  const int32_t facts = facts_of_api_[static_cast<size_t>(api)];
  return facts < 0 ? kNothing : facts_[static_cast<size_t>(facts)];
}

void HostLayer::AttachAll() {
  facts_of_api_.resize(apis_.size(), -1);
  const size_t most = std::max(basics_.size(), tracks_.size()) + operations_.size() +
                      transfers_.size() + contexts_.size();
  facts_.reserve(std::min(apis_.size(), most));
  const auto of = [this](int32_t api) -> Facts& { return FactsAt(api); };
  Attach(basics_, [&](const Head& head, int32_t index) {
    const int32_t api = NodeOfBasic(head);
    if (api >= 0) of(api).basic = index;
    return api >= 0;
  });
  Attach(tensors_, [&](const Head& head, int32_t index) {
    const int32_t api = NodeOfBasic(head);
    if (api >= 0) Link(tensors_, index, of(api));
    return api >= 0;
  });
  Attach(attributes_, [&](const Head& head, int32_t index) {
    const int32_t api = NodeOfBasic(head);
    if (api >= 0) of(api).attributes = index;
    return api >= 0;
  });
  Attach(operations_, [&](const Head& head, int32_t index) {
    const int32_t api = OutermostOf(kLevelNode, head);
    if (api >= 0) of(api).operation = index;
    return api >= 0;
  });
  Attach(transfers_, [&](const Head& head, int32_t index) {
    const int32_t api = OutermostOf(kLevelCommunication, head);
    if (api >= 0) Link(transfers_, index, of(api));
    return api >= 0;
  });
  Attach(contexts_, [&](const Head& head, int32_t index) {
    const bool is_node = head.level == kLevelNode;
    const int32_t api = OutermostOf(is_node ? kLevelNode : kLevelCommunication, head);
    if (api >= 0) of(api).contexts = index;
    return api >= 0;
  });
}

}  // namespace sonde::importers::raw
