#include "precision/analysis/first_node.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;

std::string Number(int64_t n) { return std::to_string(n); }

// Collects the calls of all ranks under keys that are equal for calls of one communication.
class Linker {
 public:
  explicit Linker(const std::vector<RankTimeline>& timelines) : timelines_(timelines) {
    for (size_t t = 0; t < timelines.size(); ++t) AddTimeline(t);
  }

  std::vector<CommunicationLink> Links() const {
    std::vector<CommunicationLink> links;
    for (const auto& [key, sends] : sends_) {
      const auto found = receives_.find(key);
      if (found == receives_.end()) continue;
      const size_t count = std::min(sends.size(), found->second.size());
      for (size_t i = 0; i < count; ++i) links.push_back({sends[i], found->second[i]});
    }
    for (const auto& [key, members] : collectives_) LinkCollective(members, &links);
    return links;
  }

 private:
  void AddPair(const FoundCall& call, int64_t rank, int64_t peer, bool is_send) {
    if (is_send) {
      sends_[Concat(Number(rank), ">", Number(peer))].push_back(call);
    } else {
      receives_[Concat(Number(peer), ">", Number(rank))].push_back(call);
    }
  }

  void AddTimeline(size_t t) {
    std::unordered_map<std::string, int64_t> seen;
    const RankTimeline& timeline = timelines_[t];
    for (size_t c = 0; c < timeline.calls.size(); ++c) {
      if (!timeline.calls[c].is_communication) continue;
      const Communication& communication = timeline.calls[c].communication;
      const FoundCall call = {t, c};
      switch (communication.kind) {
        case Communication::Kind::kSend:
        case Communication::Kind::kReceive:
          AddPair(call, timeline.rank, communication.peer,
                  communication.kind == Communication::Kind::kSend);
          break;
        case Communication::Kind::kBatch:
          for (const PointToPoint& operation : communication.batch) {
            AddPair(call, timeline.rank, operation.peer, operation.is_send);
          }
          break;
        default: {
          const std::string group = Concat(communication.group_id, "|", communication.op);
          collectives_[Concat(group, "|", Number(seen[group]++))].push_back(call);
        }
      }
    }
  }

  void LinkCollective(const std::vector<FoundCall>& members,
                      std::vector<CommunicationLink>* links) const {
    for (const FoundCall& from : members) {
      for (const FoundCall& to : members) {
        if (from.timeline == to.timeline) continue;
        const RankTimeline& sender = timelines_[from.timeline];
        const RankTimeline& receiver = timelines_[to.timeline];
        const Communication& communication = sender.calls[from.call].communication;
        const bool flows = communication.kind == Communication::Kind::kAll ||
                           (communication.kind == Communication::Kind::kFromSource &&
                            communication.peer == sender.rank) ||
                           (communication.kind == Communication::Kind::kToDestination &&
                            communication.peer == receiver.rank);
        if (flows) links->push_back({from, to});
      }
    }
  }

  const std::vector<RankTimeline>& timelines_;
  std::map<std::string, std::vector<FoundCall>> sends_;
  std::map<std::string, std::vector<FoundCall>> receives_;
  std::map<std::string, std::vector<FoundCall>> collectives_;
};

// The place of every communication in the longest chain of communications.
class Layers {
 public:
  explicit Layers(const std::vector<RankTimeline>& timelines) {
    for (const RankTimeline& timeline : timelines) {
      layer_.emplace_back(timeline.calls.size(), 0);
    }
    const auto links = LinkCommunications(timelines);
    // A linked pair happens at once, so both get the larger layer. Layers only grow and are bounded
    // by the number of communications; data that contradicts itself stops at the bound.
    size_t communications = 0;
    for (const RankTimeline& timeline : timelines) {
      for (const TimelineCall& call : timeline.calls)
        communications += call.is_communication ? 1 : 0;
    }
    bool changed = true;
    for (size_t round = 0; changed && round <= communications; ++round) {
      changed = Advance(timelines);
      for (const CommunicationLink& link : links) {
        size_t& from = layer_[link.from.timeline][link.from.call];
        size_t& to = layer_[link.to.timeline][link.to.call];
        if (from == to) continue;
        from = to = std::max(from, to);
        changed = true;
      }
    }
  }

  size_t Of(size_t timeline, size_t call) const { return layer_[timeline][call]; }

 private:
  bool Advance(const std::vector<RankTimeline>& timelines) {
    bool changed = false;
    for (size_t t = 0; t < timelines.size(); ++t) {
      size_t layer = 0;
      for (size_t c = 0; c < timelines[t].calls.size(); ++c) {
        if (!timelines[t].calls[c].is_communication) continue;
        ++layer;
        if (layer_[t][c] < layer) {
          layer_[t][c] = layer;
          changed = true;
        }
        layer = layer_[t][c];
      }
    }
    return changed;
  }

  std::vector<std::vector<size_t>> layer_;
};

struct Phases {
  size_t first_communication = 0;  // calls before it are phase one
  size_t last_communication = 0;   // calls behind it are phase three
  bool any = false;
};

Phases PhasesOf(const RankTimeline& timeline) {
  Phases out;
  out.first_communication = timeline.calls.size();
  for (size_t c = 0; c < timeline.calls.size(); ++c) {
    if (!timeline.calls[c].is_communication) continue;
    if (!out.any) out.first_communication = c;
    out.last_communication = c;
    out.any = true;
  }
  return out;
}

// The first wrong call of every rank in [begin, end) of its phases.
template <class Range>
std::vector<FoundCall> FirstOfEachRank(const std::vector<RankTimeline>& timelines, Range range) {
  std::vector<FoundCall> found;
  for (size_t t = 0; t < timelines.size(); ++t) {
    const auto [begin, end] = range(timelines[t]);
    for (size_t c = begin; c < end; ++c) {
      if (!timelines[t].calls[c].wrong) continue;
      found.push_back({t, c});
      break;
    }
  }
  return found;
}

std::vector<FoundCall> InCommunicationPhase(const std::vector<RankTimeline>& timelines,
                                            bool only_one) {
  const Layers layers(timelines);
  std::vector<FoundCall> best;
  std::pair<size_t, size_t> best_place;
  for (size_t t = 0; t < timelines.size(); ++t) {
    const Phases phases = PhasesOf(timelines[t]);
    if (!phases.any) continue;
    size_t layer = 0;
    size_t behind = 0;
    for (size_t c = phases.first_communication; c <= phases.last_communication; ++c) {
      const TimelineCall& call = timelines[t].calls[c];
      behind = call.is_communication ? 0 : behind + 1;
      if (call.is_communication) layer = layers.Of(t, c);
      if (!call.wrong) continue;
      const std::pair<size_t, size_t> place = {layer, behind};
      if (best.empty() || place < best_place) {
        best.assign(1, {t, c});
        best_place = place;
      } else if (place == best_place && !only_one) {
        best.push_back({t, c});
      }
      break;
    }
  }
  return best;
}

}  // namespace

std::vector<CommunicationLink> LinkCommunications(const std::vector<RankTimeline>& timelines) {
  return Linker(timelines).Links();
}

std::vector<FoundCall> FindFirstNodes(const std::vector<RankTimeline>& timelines,
                                      const FirstNodeOptions& options) {
  auto found = FirstOfEachRank(timelines, [](const RankTimeline& timeline) {
    return std::pair<size_t, size_t>(0, PhasesOf(timeline).first_communication);
  });
  if (!found.empty()) return found;
  found = InCommunicationPhase(timelines, options.one_in_communication_phase);
  if (!found.empty()) return found;
  return FirstOfEachRank(timelines, [](const RankTimeline& timeline) {
    const Phases phases = PhasesOf(timeline);
    const size_t end = timeline.calls.size();
    return std::pair<size_t, size_t>(phases.any ? phases.last_communication + 1 : end, end);
  });
}

}  // namespace sonde::precision
