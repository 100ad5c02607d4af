#include "precision/parallel/merged_dump.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "precision/dump/pretty_json.h"
#include "precision/graph/node_json.h"

namespace sonde::precision {
namespace {

using base::Concat;

std::string QuotedJson(std::string_view text) {
  std::string out;
  AppendJsonText(text, &out);
  return out;
}

// Records by their place in a section: "0.1" is the second part of the first. Numbers make
// lists, names make dicts, as they were before the dump was flattened.
struct Place {
  std::string_view record;  // JSON; empty: others below
  std::vector<std::pair<std::string_view, std::unique_ptr<Place>>> below;

  Place* Below(std::string_view name) {
    for (auto& [key, place] : below) {
      if (key == name) return place.get();
    }
    return below.emplace_back(name, std::make_unique<Place>()).second.get();
  }

  void Put(std::string_view path, std::string_view json) {
    Place* place = this;
    for (const std::string_view part : base::Split(path, '.')) place = place->Below(part);
    place->record = json;
  }

  std::string Json() const {
    if (below.empty()) return record.empty() ? "null" : std::string(record);
    const bool list = std::all_of(below.begin(), below.end(),
                                  [](const auto& entry) { return base::IsDigits(entry.first); });
    std::string out;
    for (const auto& [key, place] : below) {
      out += out.empty() ? "" : ", ";
      out += list ? place->Json() : Concat(QuotedJson(key), ": ", place->Json());
    }
    return list ? Concat("[", out, "]") : Concat("{", out, "}");
  }
};

// The sections of one entry, in the order in which dumps have them.
class Entry {
 public:
  explicit Entry(std::string_view api)
      : backward_(api.find("backward") != std::string_view::npos) {}

  void Add(const DumpRow& row, std::string_view key) {
    const std::string_view path = key.substr(std::min(key.find('.') + 1, key.size()));
    switch (row.section) {
      case Section::kInput:
        if (backward_) {
          input_.Put(path, row.raw);
        } else if (base::IsDigits(path.substr(0, path.find('.')))) {
          arguments_.Put(path, row.raw);
        } else {
          named_arguments_.Put(path, row.raw);
        }
        return;
      case Section::kParameters:
        parameters_.Put(path, row.raw);
        return;
      case Section::kOutput:
        output_.Put(path, row.raw);
        return;
      case Section::kParametersGrad:
      case Section::kDebug:
        gradients_.emplace_back(key, row.raw);
        return;
    }
  }

  std::string Json(const std::string& merge_info) const {
    std::string out;
    const auto add = [&out](std::string_view name, const std::string& json) {
      out += Concat(out.empty() ? "" : ", ", QuotedJson(name), ": ", json);
    };
    for (const auto& [name, record] : gradients_) add(name, Concat("[", record, "]"));
    if (gradients_.empty()) {
      const auto section = [&add](std::string_view name, const Place& place, const char* empty) {
        add(name, place.below.empty() ? empty : place.Json());
      };
      if (backward_) {
        section("input", input_, "[]");
      } else {
        section("input_args", arguments_, "[]");
        section("input_kwargs", named_arguments_, "{}");
      }
      if (!parameters_.below.empty()) add("parameters", parameters_.Json());
      section("output", output_, "[]");
    }
    if (!merge_info.empty()) add("parallel_merge_info", merge_info);
    return Concat("{", out, "}");
  }

 private:
  bool backward_;
  Place arguments_;
  Place named_arguments_;
  Place input_;
  Place parameters_;
  Place output_;
  std::vector<std::pair<std::string_view, std::string_view>> gradients_;
};

std::string DumpJson(const MergedGraph& merged) {
  const DumpFile& dump = *merged.folder->dump;
  std::string out =
      Concat("{\"task\": ", QuotedJson(dump.task()), ", \"level\": ", QuotedJson(dump.level()),
             ", \"framework\": ", QuotedJson(dump.framework()),
             ", \"dump_data_dir\": null, \"is_merged\": true, \"data\": {");
  bool first = true;
  for (const int32_t index : merged.graph->post_order()) {
    const GraphNode& node = merged.graph->node(index);
    if (node.api == kNoNode) continue;
    const DumpApi& api = dump.apis()[static_cast<size_t>(node.api)];
    Entry entry(api.name);
    for (uint32_t i = api.first_row; i < api.first_row + api.row_count; ++i) {
      const DumpRow& row = dump.rows()[i];
      entry.Add(row, row.name.substr(std::min(api.name.size() + 1, row.name.size())));
    }
    out += Concat(first ? "\n" : ",\n", QuotedJson(api.name), ": ",
                  entry.Json(merged.merge_info[static_cast<size_t>(index)]));
    first = false;
  }
  return out + "\n}}\n";
}

std::string ConstructJson(const MergedGraph& merged) {
  const int32_t steps = merged.folder->construct->megatron_micro_step_number();
  std::string out = "{";
  for (const int32_t index : merged.graph->post_order()) {
    const GraphNode& node = merged.graph->node(index);
    if (node.parent == kNoNode) continue;
    const std::string parent = node.parent == merged.graph->root()
                                   ? "null"
                                   : QuotedJson(merged.graph->node(node.parent).name);
    out += Concat(
        out.size() > 1 ? ",\n" : "\n", QuotedJson(node.name), ": ",
        steps < 0 ? parent : Concat("[", parent, ", ", std::to_string(node.micro_step), "]"));
  }
  if (steps >= 0) out += Concat(",\n\"megatron_micro_step_number\": ", std::to_string(steps));
  return out + "\n}\n";
}

std::string StackJson(const MergedGraph& merged) {
  std::map<int32_t, std::string> names;
  for (const int32_t index : merged.graph->post_order()) {
    const GraphNode& node = merged.graph->node(index);
    if (node.stack == StackFile::kNoStack) continue;
    std::string& list = names[node.stack];
    list += Concat(list.empty() ? "" : ", ", QuotedJson(node.name));
  }
  std::string out = "{";
  for (const auto& [stack, list] : names) {
    out += Concat(out.size() > 1 ? ",\n" : "\n", "\"", std::to_string(stack), "\": [[", list, "], ",
                  JsonList(merged.folder->stack->Frames(stack)), "]");
  }
  return out + "\n}\n";
}

}  // namespace

Status WriteMergedDump(const MergedGraph& merged, const std::string& folder) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder));
  const auto write = [&folder](std::string_view name, const std::string& text) {
    return base::WriteFileAtomically(base::JoinPath(folder, name), text);
  };
  SONDE_RETURN_IF_ERROR(write("dump.json", DumpJson(merged)));
  SONDE_RETURN_IF_ERROR(write("construct.json", ConstructJson(merged)));
  return write("stack.json", StackJson(merged));
}

}  // namespace sonde::precision
