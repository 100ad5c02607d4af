// Which call contains which record.
#include <algorithm>

#include "importers/ascend_raw/host_layer.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {

// Calls of operators all count; of the other levels one that overlaps the last one of its thread
// and level says nothing new.
void HostLayer::BuildTree() {
  std::map<std::pair<uint32_t, uint16_t>, uint64_t> last_end;
  for (size_t i = 0; i < apis_.size(); ++i) {
    const Api& api = apis_[i];
    const Head& head = api.record.head;
    const bool is_node = head.level == kLevelNode;
    if (!is_node && head.level != kLevelAcl && head.level != kLevelModel &&
        head.level != kLevelCommunication) {
      continue;
    }
    if (api.end <= api.begin) continue;
    if (!is_node) {
      uint64_t& end = last_end[{head.tid, head.level}];
      if (end != 0 && api.begin <= end) continue;
      end = api.end;
    }
    trees_[head.tid].push_back({api.begin, api.end, static_cast<int32_t>(i), -1});
  }
  for (auto& [tid, nodes] : trees_) {
    std::stable_sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    int32_t open = -1;
    for (size_t i = 0; i < nodes.size(); ++i) {
      while (open >= 0 && nodes[static_cast<size_t>(open)].end < nodes[i].end) {
        open = nodes[static_cast<size_t>(open)].parent;
      }
      nodes[i].parent = open;
      open = static_cast<int32_t>(i);
    }
  }
}

void HostLayer::ForEachOpen(uint32_t tid, uint64_t at,
                            const std::function<void(int32_t api)>& take) const {
  const auto tree = trees_.find(tid);
  if (tree == trees_.end()) return;
  const std::vector<Node>& nodes = tree->second;
  const auto after = std::lower_bound(nodes.begin(), nodes.end(), at,
                                      [](const Node& node, uint64_t t) { return node.begin < t; });
  auto index = static_cast<int32_t>(after - nodes.begin()) - 1;
  while (index >= 0) {
    const Node& node = nodes[static_cast<size_t>(index)];
    if (at <= node.end) take(node.api);
    index = node.parent;
  }
}

int32_t HostLayer::OutermostOf(uint16_t level, const Head& head) const {
  int32_t outermost = -1;
  ForEachOpen(head.tid, head.time, [&](int32_t api) {
    if (apis_[static_cast<size_t>(api)].record.head.level == level) outermost = api;
  });
  return outermost;
}

// Communication launched by a kernel of the AI CPU is a call within a call: the inner one.
int32_t HostLayer::NodeOfBasic(const Head& head) const {
  int32_t outermost = -1;
  int32_t within = -1;
  ForEachOpen(head.tid, head.time, [&](int32_t api) {
    if (apis_[static_cast<size_t>(api)].record.head.level != kLevelNode) return;
    within = outermost;
    outermost = api;
  });
  return within >= 0 ? within : outermost;
}

// In the order of time, so that of several the newest wins; counts those without a call.
template <class Record, class Take>
void HostLayer::Attach(std::vector<Record>& records, Take&& take) {
  std::stable_sort(records.begin(), records.end(),
                   [](const Record& a, const Record& b) { return a.head.time < b.head.time; });
  int64_t without = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    without += take(records[i].head, static_cast<int32_t>(i)) ? 0 : 1;
  }
  if (without > 0) rows_.issues.Add(kNoInterface, "host", -1, without);
}

void HostLayer::AttachAll() {
  Attach(basics_, [this](const Head& head, int32_t index) {
    const int32_t api = NodeOfBasic(head);
    if (api >= 0) node_facts_[api].basic = index;
    return api >= 0;
  });
  Attach(tensors_, [this](const Head& head, int32_t index) {
    const int32_t api = NodeOfBasic(head);
    if (api >= 0) node_facts_[api].tensors.push_back(index);
    return api >= 0;
  });
  Attach(operations_, [this](const Head& head, int32_t index) {
    const int32_t api = OutermostOf(kLevelNode, head);
    if (api >= 0) node_facts_[api].operation = index;
    return api >= 0;
  });
  Attach(transfers_, [this](const Head& head, int32_t index) {
    const int32_t api = OutermostOf(kLevelCommunication, head);
    if (api >= 0) call_facts_[api].transfers.push_back(index);
    return api >= 0;
  });
  Attach(contexts_, [this](const Head& head, int32_t index) {
    const bool is_node = head.level == kLevelNode;
    const int32_t api = OutermostOf(is_node ? kLevelNode : kLevelCommunication, head);
    if (api < 0) return false;
    (is_node ? node_facts_[api].contexts : call_facts_[api].contexts) = index;
    return true;
  });
}

}  // namespace sonde::importers::raw
