// The call tree of one rank: modules, APIs, collections of loose APIs, gradients of parameters.
//
// Built from construct.json, dump.json and stack.json under one synthetic root; forward and
// backward are sibling trees. Nodes refer to each other by index; texts refer to the dump folder,
// which must outlive the graph. Threads: read-only after building.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "precision/dump/dump_folder.h"

namespace sonde::precision {

enum class NodeType : uint8_t { kModule = 0, kApi = 1, kApiList = 9 };

inline constexpr int32_t kNoNode = -1;
inline constexpr std::string_view kRootName = "DefaultModel";
// The text of a backward call whose forward call is unknown.
inline constexpr std::string_view kNoForwardStack =
    "This backward node cannot find the forward node and cannot retrieve stack information.";

struct GraphNode {
  std::string_view name;
  NodeType type = NodeType::kModule;
  int32_t parent = kNoNode;
  std::vector<int32_t> children;
  int32_t api = kNoNode;  // index into the dump's apis(), kNoNode when it recorded nothing
  int32_t stack = StackFile::kNoStack;
  bool forward_unknown = false;  // shows kNoForwardStack
  int32_t micro_step = 0;
};

class Graph {
 public:
  // Fails when construct.json is missing or empty: the dump's level must be L0 or mix. Fails for
  // more than a thousand levels: matched nodes name all that their partner lies in.
  static Result<Graph> Build(const DumpFolder& dump, const std::string& folder);

  const std::vector<GraphNode>& nodes() const { return nodes_; }
  const GraphNode& node(int32_t index) const { return nodes_[static_cast<size_t>(index)]; }
  int32_t root() const { return 0; }
  int32_t Find(std::string_view name) const;
  int32_t micro_step_count() const { return micro_step_count_; }
  // Children before parents, the root last: the order of the database.
  const std::vector<int32_t>& post_order() const { return post_order_; }
  const DumpFolder& dump() const { return *dump_; }
  // Micro steps of a graph that is shown next to another one: matched nodes below the root take
  // those of their partners, others the number in their own name. Megatron's own steps stay.
  void TakeMicroSteps(const Graph& target, const std::vector<int32_t>& target_of);

 private:
  friend class GraphBuilder;
  friend class MergedGraphMaker;
  friend class RecomputeMover;
  Graph() = default;
  size_t SetPostOrder();  // returns how many levels there are below the root

  std::vector<GraphNode> nodes_;
  std::unordered_map<std::string_view, int32_t, base::StringHash> index_;
  std::vector<int32_t> post_order_;
  TextArena arena_;
  int32_t micro_step_count_ = 1;
  const DumpFolder* dump_ = nullptr;
};

NodeType NodeTypeOf(std::string_view name);
// The forward call of a backward one and back; for modules the call number stays.
std::string ForwardName(std::string_view backward_name);
std::string BackwardName(std::string_view forward_name);

}  // namespace sonde::precision
