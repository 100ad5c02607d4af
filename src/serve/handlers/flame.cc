// GET /api/flame?lanes=&begin=&end=: nested slices of a window, equal paths merged.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/strings.h"
#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr size_t kMaxSlices = 2'000'000;
constexpr size_t kMaxNodes = 20'000;

class FlameBuilder {
 public:
  // Slices come callers first: a parent has a smaller id than its children.
  Status Add(const TracksOfTrace& group, const Window& window) {
    node_of_slice_.clear();
    const Trace& trace = *group.trace;
    const int64_t begin = window.begin + trace.base_ns;
    const int64_t end = window.end + trace.base_ns;
    return trace.store->Scan(
        Concat("SELECT slice_id, parent_id, name, greatest(ts, ", std::to_string(begin),
               "), least(ts + greatest(dur, 0), ", std::to_string(end), ") FROM slice_ WHERE ",
               AreaCondition(trace, group.tracks, window), " ORDER BY slice_id LIMIT ",
               std::to_string(kMaxSlices)),
        [&](const store::Chunk& chunk) -> Status {
          for (size_t row = 0; row < chunk.rows(); ++row) {
            AddSlice(trace, chunk.Values<int32_t>(0)[row], chunk.Values<int32_t>(1)[row],
                     chunk.Values<int32_t>(2)[row],
                     chunk.Values<int64_t>(4)[row] - chunk.Values<int64_t>(3)[row]);
          }
          slices_ += chunk.rows();
          return {};
        });
  }

  FlameMessage Take() {
    message_.complete = slices_ < kMaxSlices && message_.nodes.size() < kMaxNodes;
    return std::move(message_);
  }

 private:
  void AddSlice(const Trace& trace, int32_t id, int32_t parent, int32_t name, int64_t dur) {
    const auto above = node_of_slice_.find(parent);
    const int32_t parent_node = above == node_of_slice_.end() ? -1 : above->second;
    const auto [found, is_new] = nodes_.try_emplace({parent_node, trace.Name(name)}, 0);
    if (is_new) {
      if (message_.nodes.size() == kMaxNodes) {
        nodes_.erase(found);
        return;
      }
      found->second = static_cast<int32_t>(message_.nodes.size());
      message_.nodes.push_back({.parent = parent_node, .name = trace.Name(name)});
    }
    FlameNodeMessage& node = message_.nodes[static_cast<size_t>(found->second)];
    node.total += dur;
    node.self += dur;
    ++node.count;
    if (parent_node >= 0) message_.nodes[static_cast<size_t>(parent_node)].self -= dur;
    node_of_slice_[id] = found->second;
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
  for (const TracksOfTrace& group : groups) SONDE_RETURN_IF_ERROR(flame.Add(group, window));
  return HttpAnswer{.body = ToJson(flame.Take())};
}

}  // namespace sonde::serve
