// Shapes of objects, learnt while they are read: a tree whose edges are the texts between two
// values, such as `, "connection_id": `. One comparison then takes a key with the text around it.
// Objects of one kind nearly always take the same path.
//
// Memory: bounded; further shapes are parsed in full. One thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sonde::importers::trace_events {

// `Facts`: the reader's data of an edge. With `kEndsText` the text is one object, so that a last
// edge has to reach its end.
template <class Facts, bool kEndsText>
class ShapeTree {
 public:
  struct Edge : Facts {
    std::string text;   // to the begin of the value; of the last one, to the end of the object
    bool last = false;  // no value follows
    uint32_t node = 0;  // target
    uint64_t uses = 0;  // so far; those of a node are tried in this order
  };
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNowhere = UINT32_MAX;  // has no edges and gets none
  static constexpr size_t kMaxText = 256;           // of an edge

  ShapeTree() : nodes_(1) {}

  // The edge from `node` that the text at `p` takes; null where none was learnt.
  const Edge* Match(uint32_t node, const char* p, const char* end) {
    if (node == kNowhere) return nullptr;
    std::vector<Edge>& edges = nodes_[node];
    for (size_t i = 0; i < edges.size(); ++i) {
      Edge& edge = edges[i];
      if (!Begins(p, static_cast<size_t>(end - p), edge)) continue;
      ++edge.uses;
      if (i > 0 && edge.uses > edges[i - 1].uses) {
        std::swap(edge, edges[i - 1]);
        return &edges[i - 1];
      }
      return &edge;
    }
    return nullptr;
  }

  // `edge.node` is set. Valid until the next call.
  const Edge* Learn(uint32_t node, Edge edge) {
    edge.node = kNowhere;
    if (node == kNowhere || nodes_[node].size() >= kMaxEdges || edge.text.size() > kMaxText ||
        nodes_.size() >= kMaxNodes) {
      unlearnt_ = std::move(edge);
      return &unlearnt_;
    }
    if (!edge.last) {
      edge.node = static_cast<uint32_t>(nodes_.size());
      nodes_.emplace_back();
    }
    return &nodes_[node].emplace_back(std::move(edge));
  }

 private:
  static constexpr size_t kMaxEdges = 24;
  static constexpr size_t kMaxNodes = 4096;

  static bool Begins(const char* p, size_t left, const Edge& edge) {
    const size_t size = edge.text.size();
    if (kEndsText && edge.last ? left != size : left < size) return false;
    const char* text = edge.text.data();
    if (size < sizeof(uint64_t)) return std::memcmp(p, text, size) == 0;
    size_t i = 0;
    for (; i + sizeof(uint64_t) < size; i += sizeof(uint64_t)) {
      if (!SameWord(p + i, text + i)) return false;
    }
    return SameWord(p + size - sizeof(uint64_t), text + size - sizeof(uint64_t));
  }
  static bool SameWord(const char* a, const char* b) {
    return std::memcmp(a, b, sizeof(uint64_t)) == 0;  // one comparison of registers
  }

  std::vector<std::vector<Edge>> nodes_;
  Edge unlearnt_;
};

}  // namespace sonde::importers::trace_events
