// GET /api/flame?lanes=&begin=&end=&from=slices|stacks: nested slices of a window, equal paths
// merged; or the recorded call stacks of the operators in it, each with the time of its operator
// outside of other operators.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/strings.h"
#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr size_t kMaxFlameSlices = 2'000'000;
constexpr size_t kMaxNodes = 20'000;

class FlameBuilder {
 public:
  // Slices come callers first: a parent has a smaller id than its children.
  Status Add(const TracksOfTrace& group, const Window& window) {
    node_of_slice_.clear();
    const Trace& trace = *group.trace;
    return trace.tables->Scan(
        Concat("SELECT slice_id, parent_id, name, ", ClippedDuration(trace, window),
               " FROM slice_ WHERE ", AreaCondition(trace, group.tracks, window),
               " ORDER BY slice_id LIMIT ", std::to_string(kMaxFlameSlices)),
        [&](const store::Chunk& chunk) -> Status {
          for (size_t row = 0; row < chunk.rows(); ++row) {
            AddSlice(trace, chunk.Values<int32_t>(0)[row], chunk.Values<int32_t>(1)[row],
                     chunk.Values<int32_t>(2)[row], chunk.Values<int64_t>(3)[row]);
          }
          slices_ += chunk.rows();
          return {};
        });
  }

  // Call stacks: frames from the outermost, then the operator.
  Status AddStacks(const TracksOfTrace& group, const Window& window) {
    const Trace& trace = *group.trace;
    const std::string area = AreaCondition(trace, group.tracks, window);
    std::map<int64_t, std::vector<std::string>> stacks;
    SONDE_RETURN_IF_ERROR(trace.tables->Scan(
        Concat("SELECT stack_id, frame FROM callstack_ WHERE stack_id IN (SELECT stack_id FROM "
               "framework_op_ WHERE slice_id IN (SELECT slice_id FROM slice_ WHERE ",
               area, ")) ORDER BY stack_id, depth DESC"),
        [&](const store::Chunk& chunk) -> Status {
          for (size_t row = 0; row < chunk.rows(); ++row) {
            stacks[chunk.Values<int32_t>(0)[row]].push_back(
                trace.Name(chunk.Values<int32_t>(1)[row]));
          }
          return {};
        }));
    return trace.tables->Scan(
        Concat(
            "WITH a AS (SELECT slice_id, name, parent_id, ", ClippedDuration(trace, window),
            " AS dur FROM slice_ WHERE ", area,
            "), c AS (SELECT parent_id AS id, sum(dur)::BIGINT AS children FROM a GROUP BY 1) "
            "SELECT f.stack_id, a.name, sum(greatest(a.dur - coalesce(children, 0), 0))::BIGINT, "
            "count(*) FROM a JOIN framework_op_ f USING (slice_id) LEFT JOIN c ON c.id = "
            "a.slice_id WHERE f.stack_id >= 0 GROUP BY 1, 2 ORDER BY 1, 2"),
        [&](const store::Chunk& chunk) -> Status {
          for (size_t row = 0; row < chunk.rows(); ++row) {
            AddPath(stacks[chunk.Values<int32_t>(0)[row]],
                    trace.Name(chunk.Values<int32_t>(1)[row]), chunk.Values<int64_t>(2)[row],
                    chunk.Values<int64_t>(3)[row]);
          }
          return {};
        });
  }

  FlameMessage Take() {
    message_.complete = slices_ < kMaxFlameSlices && message_.nodes.size() < kMaxNodes;
    return std::move(message_);
  }

 private:
  // The node below `parent`, made where there is none; -1 where there are too many.
  int32_t NodeBelow(int32_t parent, const std::string& name) {
    const auto [found, is_new] = nodes_.try_emplace({parent, name}, 0);
    if (!is_new) return found->second;
    if (message_.nodes.size() == kMaxNodes) {
      nodes_.erase(found);
      return -1;
    }
    found->second = static_cast<int32_t>(message_.nodes.size());
    message_.nodes.push_back({.parent = parent, .name = name});
    return found->second;
  }

  void AddPath(const std::vector<std::string>& frames, const std::string& name, int64_t self,
               int64_t count) {
    int32_t node = -1;
    const auto enter = [&](const std::string& frame) {
      const int32_t below = NodeBelow(node, frame);
      if (below < 0) return false;
      node = below;
      message_.nodes[static_cast<size_t>(node)].total += self;
      message_.nodes[static_cast<size_t>(node)].count += count;
      return true;
    };
    for (const std::string& frame : frames) {
      if (!enter(frame)) return;
    }
    if (enter(name)) message_.nodes[static_cast<size_t>(node)].self += self;
  }

  void AddSlice(const Trace& trace, int32_t id, int32_t parent, int32_t name, int64_t dur) {
    const auto above = node_of_slice_.find(parent);
    const int32_t parent_node = above == node_of_slice_.end() ? -1 : above->second;
    const int32_t own = NodeBelow(parent_node, trace.Name(name));
    if (own < 0) return;
    FlameNodeMessage& node = message_.nodes[static_cast<size_t>(own)];
    node.total += dur;
    node.self += dur;
    ++node.count;
    if (parent_node >= 0) message_.nodes[static_cast<size_t>(parent_node)].self -= dur;
    node_of_slice_[id] = own;
  }

  std::unordered_map<int32_t, int32_t> node_of_slice_;
  std::map<std::pair<int32_t, std::string>, int32_t> nodes_;
  FlameMessage message_;
  size_t slices_ = 0;
};

}  // namespace

Result<HttpAnswer> HandleFlame(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const auto lanes, ParseLanes(request));
  SONDE_ASSIGN_OR_RETURN(const Window window, ParseWindow(request));
  SONDE_ASSIGN_OR_RETURN(const auto groups, GroupLanes(session, lanes));
  FlameBuilder flame;
  const bool of_stacks = request.Text("from") == "stacks";
  for (const TracksOfTrace& group : groups) {
    SONDE_RETURN_IF_ERROR(of_stacks ? flame.AddStacks(group, window) : flame.Add(group, window));
  }
  return HttpAnswer{.body = ToJson(flame.Take())};
}

}  // namespace sonde::serve
