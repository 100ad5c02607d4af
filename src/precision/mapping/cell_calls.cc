#include "precision/mapping/cell_calls.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/count_of.h"
#include "base/strings.h"
#include "precision/compare/pairing.h"
#include "precision/mapping/call_name.h"

namespace sonde::precision {
namespace {

using base::Concat;

// The call that a row belongs to: "Functional.relu.3.forward" of "...forward.input.0".
std::string_view CallOfRow(std::string_view name) {
  std::string_view number;
  WithoutCallNumber(name, &number);
  if (number.empty()) return {};
  const size_t behind = static_cast<size_t>(number.data() - name.data()) + number.size() + 1;
  return name.substr(0, std::min(name.find('.', behind), name.size()));
}

// The place of a module's call, whatever its class: "layers.0|forward|2".
std::string PlaceOfModule(std::string_view name) {
  ModuleCall call;
  if (!ParseModuleCall(name, &call)) return std::string(name);  // "optimizer"
  return Concat(call.path, "|", call.state, "|", call.number);
}

// The calls of one dump that are no modules, in order, each with its place.
struct PlacedCall {
  std::string_view name;
  std::string key;    // place, name without number, which of that name it is there
  std::string place;  // empty: outside of all modules
};

class CallPlaces {
 public:
  CallPlaces(const DumpFile& dump, const ConstructFile* tree, const CellCalls::MapName& map_name)
      : tree_(tree), map_name_(map_name) {
    if (tree != nullptr) {
      for (const ConstructEntry& entry : tree->entries()) Add(entry.name);
    }
    for (const DumpApi& api : dump.apis()) Add(api.name);
  }

  const std::vector<PlacedCall>& calls() const { return calls_; }
  bool HasModule(const std::string& place) const { return modules_.contains(place); }

 private:
  void Add(std::string_view name) {
    if (!seen_.insert(name).second) return;
    const std::string mapped = map_name_(name);
    if (IsModuleName(mapped)) {
      modules_.insert(PlaceOfModule(mapped));
      return;
    }
    const ConstructEntry* entry = tree_ == nullptr ? nullptr : tree_->Find(name);
    const std::string place = entry == nullptr || entry->parent.empty()
                                  ? std::string()
                                  : PlaceOfModule(map_name_(entry->parent));
    const std::string group = Concat(place, "|", WithoutCallNumber(mapped));
    calls_.push_back({name, Concat(group, "|", std::to_string(counts_[group]++)), place});
  }

  const ConstructFile* tree_;
  const CellCalls::MapName& map_name_;
  std::vector<PlacedCall> calls_;
  std::unordered_set<std::string> modules_;
  std::unordered_set<std::string_view> seen_;
  std::unordered_map<std::string, int64_t> counts_;
};

std::string_view NumberOf(std::string_view name) {
  std::string_view number;
  WithoutCallNumber(name, &number);
  return number;
}

}  // namespace

CellCalls::CellCalls(const DumpFile& target, const ConstructFile& target_tree,
                     const DumpFile& golden, const ConstructFile& golden_tree,
                     const MapName& map_name) {
  const bool has_trees = !target_tree.entries().empty() && !golden_tree.entries().empty();
  const CallPlaces ours(target, has_trees ? &target_tree : nullptr, map_name);
  const MapName same = [](std::string_view name) { return std::string(name); };
  const CallPlaces theirs(golden, has_trees ? &golden_tree : nullptr, same);
  std::unordered_map<std::string_view, std::string_view, base::StringHash> golden_of;  // by key
  std::unordered_set<std::string_view, base::StringHash> golden_names;
  for (const PlacedCall& call : theirs.calls()) {
    golden_of.emplace(call.key, call.name);
    golden_names.insert(call.name);
  }
  std::unordered_set<std::string_view, base::StringHash> taken;
  const auto count = [](const PlacedCall& call, Lone* lone) {
    if (lone->count++ == 0) lone->first = std::string(call.name);
  };
  const auto pair = [&](const PlacedCall& call, std::string_view partner) {
    number_of_.emplace(call.name, NumberOf(partner));
    taken.insert(partner);
  };
  std::vector<const PlacedCall*> backward;
  for (const PlacedCall& call : ours.calls()) {
    if (NumberOf(call.name).empty()) continue;
    if (!ForwardTwin(call.name).empty()) {
      backward.push_back(&call);
      continue;
    }
    const auto found = golden_of.find(call.key);
    if (found != golden_of.end()) {
      pair(call, found->second);
    } else if (theirs.HasModule(call.place)) {
      count(call, &target_only_);
    }
  }
  for (const PlacedCall* call : backward) {
    const auto twin = number_of_.find(ForwardTwin(call->name));
    if (twin != number_of_.end()) {
      number_of_.emplace(call->name, twin->second);
    } else if (const auto found = golden_of.find(call->key); found != golden_of.end()) {
      pair(*call, found->second);
    }
  }
  for (const PlacedCall& call : theirs.calls()) {
    const bool counts = ForwardTwin(call.name).empty() && !NumberOf(call.name).empty();
    if (counts && !taken.contains(call.name) && ours.HasModule(call.place)) {
      count(call, &golden_only_);
    }
  }
}

std::string CellCalls::WithGoldenNumber(std::string_view name, std::string mapped) const {
  const std::string_view call = CallOfRow(name);
  if (call.empty()) return mapped;
  const auto found = number_of_.find(call);
  if (found == number_of_.end()) return {};
  const std::string_view number = NumberOf(mapped);
  if (number.empty()) return mapped;
  return mapped.replace(static_cast<size_t>(number.data() - mapped.data()), number.size(),
                        found->second);
}

std::string CellCalls::LoneCalls() const {
  std::string out;
  const auto add = [&out](const Lone& lone, std::string_view where) {
    if (lone.count == 0) return;
    out += Concat(out.empty() ? "" : ", ", base::CountOf(lone.count, "call"), " only in ", where,
                  " (the first: ", lone.first, ")");
  };
  add(target_only_, "the target's cells");
  add(golden_only_, "the golden run's modules");
  return out;
}

}  // namespace sonde::precision
