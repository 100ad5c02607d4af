#include "importers/capture/compiled_tables.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "capture/compiled_code.h"
#include "importers/capture/issues.h"

namespace sonde::importers::capture_import {
namespace {

using base::JsonValue;

// Numbers below `count`, in their order; -1 for those that are none.
int32_t NumberBelow(const JsonValue& value, size_t count) {
  const int64_t number = value.AsInt().value_or(-1);
  return number >= 0 && static_cast<size_t>(number) < count ? static_cast<int32_t>(number) : -1;
}

std::vector<int32_t> NumbersBelow(const JsonValue& list, size_t count) {
  std::vector<int32_t> numbers;
  for (const JsonValue& value : list.Elements()) {
    if (const int32_t number = NumberBelow(value, count); number >= 0) numbers.push_back(number);
  }
  return numbers;
}

std::string Text(const JsonValue& value) {
  return value.IsString() ? value.AsString().value_or("") : std::string();
}

// As text: an argument of the kernel. "" where it is none.
std::string CountText(const JsonValue& value) {
  const int64_t count = value.IsNumber() ? value.AsInt().value_or(-1) : -1;
  return count < 0 ? std::string() : std::to_string(count);
}

CompiledSite SiteOf(const JsonValue& json, const CompiledGraph& graph) {
  CompiledSite site;
  site.module = NumberBelow(json["module"], graph.modules.size());
  site.also = NumbersBelow(json["also"], graph.modules.size());
  site.frames = NumbersBelow(json["frames"], graph.frames.size());
  site.lines = NumbersBelow(json["lines"], graph.frames.size());
  std::vector<std::string> operators;
  for (const JsonValue& name : json["operators"].Elements()) operators.push_back(Text(name));
  site.operators = base::Join(operators, ", ");
  site.output = Text(json["output"]);
  site.known_by = Text(json["by"]);
  site.bytes = CountText(json["bytes"]);
  site.flops = CountText(json["flops"]);
  return site;
}

uint32_t LineNumber(const JsonValue& value) {
  const int64_t line = value.AsInt().value_or(0);
  return line > 0 && line <= INT32_MAX ? static_cast<uint32_t>(line) : 0;
}

// False where the text is no such table.
bool ReadGraph(std::string_view json, CompiledGraph& graph) {
  const auto document = base::JsonDocument::Parse(json, "a table of compiled code");
  if (!document.ok() || !document->root()["sites"].IsObject()) return false;
  const JsonValue root = document->root();
  for (const JsonValue& module : root["modules"].Elements()) {
    graph.modules.push_back(
        {Text(module[0]), Text(module[1]), NumberBelow(module[2], graph.modules.size())});
  }
  for (const JsonValue& frame : root["frames"].Elements()) {
    graph.frames.push_back({Text(frame[0]), LineNumber(frame[1]), Text(frame[2])});
  }
  graph.prefix = Text(root["prefix"]);
  graph.known_by = Text(root["by"]);
  graph.is_backward = root["backward"].IsBool() && root["backward"].AsBool().value_or(false);
  for (const auto& [line, site] : root["sites"].Members()) {
    const auto number = base::ParseInt64(line);
    if (!number || *number <= 0 || *number > INT32_MAX) return false;
    graph.sites.emplace(static_cast<uint32_t>(*number), SiteOf(site, graph));
  }
  return true;
}

}  // namespace

std::string_view CompiledGraph::RootClass() const {
  const auto root = std::find_if(modules.begin(), modules.end(), [](const CompiledModule& module) {
    return module.path.empty() && module.around < 0;
  });
  return root == modules.end() ? std::string_view() : root->class_name;
}

void CompiledTables::Read(const Dictionary& dictionary, store::ImportIssues& issues) {
  for (const MetadataEntry& entry : dictionary.metadata) {
    std::string_view key = dictionary.Name(entry.key);
    if (!key.starts_with(capture::kCompiledGraphKey)) continue;
    key.remove_prefix(capture::kCompiledGraphKey.size());
    CompiledGraph graph;
    graph.file = key;
    if (ReadGraph(entry.json, graph)) {
      graphs_.insert_or_assign(graph.file, std::move(graph));
    } else {
      issues.Add(kBadMetadata, "");
    }
  }
  if (!graphs_.empty()) FindCalls(dictionary);
}

void CompiledTables::FindCalls(const Dictionary& dictionary) {
  std::unordered_map<uint32_t, CompiledCall> call_of_frame;
  for (uint32_t frame = 0; frame < dictionary.frames.size(); ++frame) {
    const FrameEntry& entry = dictionary.frames[frame];
    const auto graph = graphs_.find(base::BaseName(dictionary.Name(entry.file)));
    if (graph == graphs_.end()) continue;
    const auto site = graph->second.sites.find(entry.line);
    if (site == graph->second.sites.end()) continue;
    call_of_frame.emplace(frame, CompiledCall{&graph->second, &site->second, entry.line});
  }
  for (uint32_t stack = 0; stack < dictionary.stacks.size(); ++stack) {
    const std::span<const std::byte> frames = dictionary.stacks[stack];
    for (size_t at = 0; at + 4 <= frames.size(); at += 4) {  // innermost first
      const auto call = call_of_frame.find(base::LoadLe<uint32_t>(frames.data() + at));
      if (call == call_of_frame.end()) continue;
      calls_.emplace(stack, call->second);
      break;
    }
  }
}

const CompiledCall* CompiledTables::CallOf(uint32_t stack) const {
  const auto found = calls_.find(stack);
  return found == calls_.end() ? nullptr : &found->second;
}

}  // namespace sonde::importers::capture_import
