#include "precision/mapping/layer_mapping.h"

#include <algorithm>
#include <limits>

#include "base/host/yaml_file.h"
#include "base/strings.h"
#include "precision/mapping/call_name.h"
#include "precision/mapping/parameter_pairs.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::YamlNode;

constexpr std::string_view kTop = "TopLayer";

// Gives every call of one side a key that is equal on both sides for matching calls.
class CallKeys {
 public:
  CallKeys(const DumpFile& dump, const ConstructFile& tree, const LayerMapping* mapping)
      : tree_(tree), mapping_(mapping) {
    for (const DumpApi& api : dump.apis()) AddModule(api.name);
    for (const ConstructEntry& entry : tree.entries()) AddModule(entry.name);
    FindFirstLayer();
    // Forward calls first: backward ones stand where their twins stand.
    for (const ConstructEntry& entry : tree.entries()) AddApi(entry.name, false);
    for (const DumpApi& api : dump.apis()) AddApi(api.name, false);
    for (const ConstructEntry& entry : tree.entries()) AddApi(entry.name, true);
    for (const DumpApi& api : dump.apis()) AddApi(api.name, true);
  }

  // `used`: takes the lines of the mapping that a module's path is mapped by; may be null.
  using Used = std::vector<const LayerMapping::Child*>;
  std::string KeyOf(std::string_view name, Used* used = nullptr) const {
    ModuleCall call;
    if (ParseModuleCall(name, &call)) {
      return Concat("module|", MappedPath(call.path, used), "|", call.state, "|", call.number);
    }
    const auto found = api_keys_.find(name);
    return found == api_keys_.end() ? std::string() : found->second;
  }

 private:
  void AddModule(std::string_view name) {
    ModuleCall call;
    if (ParseModuleCall(name, &call)) class_of_.emplace(call.path, call.class_name);
  }

  // Pipeline stages begin at a later layer.
  void FindFirstLayer() {
    for (const auto& [path, klass] : class_of_) {
      const size_t at = path.rfind(".layers.");
      if (at == std::string::npos || ClassOf(path.substr(0, at)) != "ParallelTransformer") continue;
      const auto number = base::ParseInt64(path.substr(at + 8));
      if (number) first_layer_ = std::min(first_layer_, *number);
    }
  }

  std::string_view ClassOf(std::string_view path) const {
    const auto found = class_of_.find(path);
    return found == class_of_.end() ? std::string_view() : std::string_view(found->second);
  }

  // The path with every child renamed by the class it belongs to.
  std::string MappedPath(std::string_view path, Used* used = nullptr) const {
    std::string out;
    std::string_view parent_class = kTop;
    size_t begin = 0;
    while (begin < path.size()) {
      // The next module on the way down; its name below the parent may have several parts.
      size_t end = begin;
      std::string_view klass;
      do {
        end = std::min(path.find('.', end == begin ? end : end + 1), path.size());
        klass = ClassOf(path.substr(0, end));
      } while (klass.empty() && end < path.size());
      if (!out.empty()) out += '.';
      out += MappedChild(parent_class, path.substr(begin, end - begin), used);
      parent_class = klass;
      begin = end + 1;
    }
    return out;
  }

  std::string MappedChild(std::string_view parent_class, std::string_view child, Used* used) const {
    std::string renumbered;
    if (parent_class == "ParallelTransformer" && child.starts_with("layers.")) {
      const size_t end = std::min(child.find('.', 7), child.size());
      if (const auto number = base::ParseInt64(child.substr(7, end - 7))) {
        renumbered = Concat("layers.", std::to_string(*number - first_layer_), child.substr(end));
        child = renumbered;
      }
    }
    const auto* children = mapping_ == nullptr ? nullptr : mapping_->ChildrenOf(parent_class);
    const LayerMapping::Child* best = nullptr;
    for (size_t i = 0; children != nullptr && i < children->size(); ++i) {
      const LayerMapping::Child& line = (*children)[i];
      const std::string& name = line.name;
      const bool fits = child == name || (child.starts_with(name) && child[name.size()] == '.');
      if (fits && (best == nullptr || name.size() > best->name.size())) best = &line;
    }
    if (best == nullptr) return std::string(child);
    if (used != nullptr) used->push_back(best);
    return Concat(best->other, child.substr(best->name.size()));
  }

  // An API's key: its module call, its short name, and how many of that name came before it there.
  void AddApi(std::string_view name, bool backward) {
    if (IsModuleName(name) || api_keys_.contains(name)) return;
    if ((name.find("backward") != std::string_view::npos) != backward) return;
    if (backward) {
      const auto twin = api_keys_.find(ForwardTwin(name));
      if (twin != api_keys_.end()) {
        api_keys_.emplace(name, Concat(twin->second, "|backward"));
        return;
      }
    }
    const ConstructEntry* entry = tree_.Find(name);
    std::string scope;
    ModuleCall parent;
    if (entry != nullptr && ParseModuleCall(entry->parent, &parent)) {
      scope = Concat(MappedPath(parent.path), "|", parent.state, "|", parent.number);
    } else if (entry != nullptr) {
      scope = entry->parent;  // optimizer, clip_grad, or the top
    }
    const std::string group =
        Concat("api|", scope, "|", ShortApiName(name), backward ? "|backward" : "|forward");
    api_keys_.emplace(name, Concat(group, "|", std::to_string(seen_[group]++)));
  }

  const ConstructFile& tree_;
  const LayerMapping* mapping_;
  int64_t first_layer_ = std::numeric_limits<int64_t>::max();
  std::map<std::string, std::string, std::less<>> class_of_;
  std::unordered_map<std::string, std::string, base::StringHash, std::equal_to<>> api_keys_;
  std::unordered_map<std::string, int64_t> seen_;
};

std::string_view SuffixOf(const DumpFile& dump, const DumpRow& row) {
  const std::string_view api = dump.apis()[row.api].name;
  return row.name.starts_with(api) ? row.name.substr(api.size()) : std::string_view();
}

std::vector<const DumpRow*> RowsOfSection(const DumpFile& dump, const DumpApi& api,
                                          Section section) {
  std::vector<const DumpRow*> out;
  for (uint32_t r = api.first_row; r < api.first_row + api.row_count; ++r) {
    if (dump.rows()[r].section == section) out.push_back(&dump.rows()[r]);
  }
  return out;
}

// The golden row of each target row of a section: of parameters by what they are, else by suffix.
void PairSection(const DumpFile& target, const DumpApi& ours, const DumpFile& golden,
                 const DumpApi& theirs, Section section,
                 std::unordered_map<const DumpRow*, const DumpRow*>* partners) {
  const std::vector<const DumpRow*> of_target = RowsOfSection(target, ours, section);
  const std::vector<const DumpRow*> of_golden = RowsOfSection(golden, theirs, section);
  std::vector<std::string_view> names;
  std::vector<std::string_view> golden_names;
  for (const DumpRow* row : of_target) names.push_back(SuffixOf(target, *row));
  for (const DumpRow* row : of_golden) golden_names.push_back(SuffixOf(golden, *row));
  if (section == Section::kParameters || section == Section::kParametersGrad) {
    const std::vector<int> found = PairParameterNames(names, golden_names);
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i] >= 0) partners->emplace(of_target[i], of_golden[static_cast<size_t>(found[i])]);
    }
    return;
  }
  std::unordered_map<std::string_view, const DumpRow*> by_suffix;
  for (size_t i = 0; i < of_golden.size(); ++i) by_suffix.emplace(golden_names[i], of_golden[i]);
  for (size_t i = 0; i < of_target.size(); ++i) {
    const auto found = by_suffix.find(names[i]);
    if (found != by_suffix.end()) partners->emplace(of_target[i], found->second);
  }
}

}  // namespace

Result<LayerMapping> LayerMapping::Load(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const YamlNode root, base::ReadYaml(path));
  LayerMapping out;
  if (root.kind == YamlNode::Kind::kNull) return out;
  const auto wrong = [&path](std::string_view where) {
    return base::InvalidArgumentError(
        Concat(path, ": expected 'ClassName:' with lines 'child: other child'", where));
  };
  if (!root.IsMap()) return wrong("");
  for (const auto& [klass, children] : root.members) {
    if (children.kind == YamlNode::Kind::kNull) continue;
    if (!children.IsMap()) return wrong(Concat(" below '", klass, "'"));
    Children& list = out.classes_[klass == "Cell" ? std::string(kTop) : klass];
    for (const auto& [child, other] : children.members) {
      if (!other.IsText()) return wrong(Concat(" below '", klass, "'"));
      list.push_back({child, other.text, LineText(path, Concat(klass, ": ", child), other.text)});
    }
  }
  return out;
}

const LayerMapping::Children* LayerMapping::ChildrenOf(std::string_view class_name) const {
  const auto found = classes_.find(class_name);
  return found == classes_.end() ? nullptr : &found->second;
}

LayerMapping::Names LayerMapping::MatchCalls(const DumpFile& target,
                                             const ConstructFile& target_tree,
                                             const DumpFile& golden,
                                             const ConstructFile& golden_tree,
                                             MappingUse* use) const {
  for (const auto& [klass, children] : classes_) {
    for (const Child& child : children) {
      if (use != nullptr) use->Mark(child.line, false, false);
    }
  }
  const CallKeys golden_keys(golden, golden_tree, nullptr);
  Names golden_of_key;
  const auto add = [&](std::string_view name) {
    std::string key = golden_keys.KeyOf(name);
    if (!key.empty()) golden_of_key.emplace(std::move(key), name);
  };
  for (const DumpApi& api : golden.apis()) add(api.name);
  for (const ConstructEntry& entry : golden_tree.entries()) add(entry.name);
  const CallKeys target_keys(target, target_tree, this);
  Names out;
  const auto match = [&](std::string_view name) {
    CallKeys::Used used;
    const auto found =
        golden_of_key.find(target_keys.KeyOf(name, use == nullptr ? nullptr : &used));
    const bool meets = found != golden_of_key.end();
    for (const Child* line : used) use->Mark(line->line, true, meets);
    if (meets) out.emplace(name, found->second);
  };
  for (const DumpApi& api : target.apis()) match(api.name);
  for (const ConstructEntry& entry : target_tree.entries()) match(entry.name);
  return out;
}

std::vector<std::pair<std::string, std::string>> DataPairsOf(const LayerMapping::Names& calls,
                                                             const DumpFile& target,
                                                             const DumpFile& golden) {
  std::unordered_map<std::string_view, uint32_t, base::StringHash> golden_api;
  for (uint32_t i = 0; i < golden.apis().size(); ++i) golden_api.emplace(golden.apis()[i].name, i);
  std::vector<std::pair<std::string, std::string>> out;
  for (const DumpApi& api : target.apis()) {
    const auto call = calls.find(api.name);
    const auto found = call == calls.end() ? golden_api.end() : golden_api.find(call->second);
    std::unordered_map<const DumpRow*, const DumpRow*> partners;
    for (size_t section = 0; found != golden_api.end() && section < kSectionCount; ++section) {
      PairSection(target, api, golden, golden.apis()[found->second], static_cast<Section>(section),
                  &partners);
    }
    for (uint32_t r = api.first_row; r < api.first_row + api.row_count; ++r) {
      const DumpRow& row = target.rows()[r];
      const auto partner = partners.find(&row);
      out.emplace_back(row.name,
                       partner == partners.end() ? std::string_view("N/A") : partner->second->name);
    }
  }
  return out;
}

}  // namespace sonde::precision
