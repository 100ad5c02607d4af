#include "exporters/span_files.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/files.h"
#include "base/host/json.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/source_files/source_files.h"
#include "importers/ascend/machine.h"

namespace sonde::exporters {
namespace {

using recipes::CaptureSettings;
using recipes::TraceData;

// The text of a metadata value that is valid JSON, else "".
std::string_view Value(const TraceData& data, std::string_view key) {
  const auto found = data.metadata.find(key);
  if (found == data.metadata.end()) return {};
  return base::JsonDocument::Parse(found->second, key).ok() ? std::string_view(found->second)
                                                            : std::string_view();
}

void WriteClocks(const TraceData& data, base::JsonWriter& json) {
  // Our times are nanoseconds of the epoch already: the "counter" counts from the first event.
  json.Key("start_info");
  json.BeginObject();
  json.Key("syscnt_enable");
  json.Bool(false);
  json.Key("freq");
  json.Int(1000);
  json.Key("start_cnt");
  json.Int(0);
  json.Key("start_monotonic");
  json.Int(0);
  json.EndObject();
  json.Key("end_info");
  json.BeginObject();
  json.Key("collectionTimeEnd");
  json.Int(data.last_ns);
  json.Key("MonotonicTimeEnd");
  json.Int(data.last_ns - data.first_ns);
  json.EndObject();
}

}  // namespace

std::string IndentJson(std::string_view json) {
  std::string out;
  size_t depth = 0;
  bool in_string = false;
  const auto new_line = [&] {
    out += '\n';
    out.append(4 * depth, ' ');
  };
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < json.size()) out += json[++i];
      if (c == '"') in_string = false;
      continue;
    }
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    const size_t next = json.find_first_not_of(" \n\r\t", i + 1);
    const char after = next == std::string_view::npos ? '\0' : json[next];
    if (c == '}' || c == ']') {
      const bool is_empty = !out.empty() && (out.back() == '{' || out.back() == '[');
      if (depth > 0) --depth;
      if (!is_empty) new_line();
      out += c;
    } else if (c == '{' || c == '[') {
      out += c;
      ++depth;
      if (after != '}' && after != ']') new_line();
    } else if (c == ',') {
      out += c;
      new_line();
    } else {
      out += c;
      if (c == ':') out += ' ';
      if (c == '"') in_string = true;
    }
  }
  return out;
}

std::string ProfilerInfoJson(const recipes::DeviceView& view) {
  const TraceData& data = *view.data;
  base::JsonWriter json(nullptr);
  json.BeginObject();
  json.Key("config");
  const std::string_view config = Value(data, "profiler_config");
  json.Raw(config.empty() ? "{}" : config);
  WriteClocks(data, json);
  if (const std::string_view version = Value(data, "torch_version"); !version.empty()) {
    json.Key("torch_version");
    json.Raw(version);
  }
  json.Key("rank_id");
  const int64_t rank = view.settings.rank.value_or(-1);
  if (view.settings.rank_from_environment) {
    json.String(std::to_string(rank));
  } else {
    json.Int(rank);
  }
  json.EndObject();
  return IndentJson(json.Take());
}

namespace {

// Of this rank in the JSON list of a group; -1 where it is in none.
int64_t PlaceOfRank(const std::string& ranks, std::optional<int64_t> rank) {
  const auto document = base::JsonDocument::Parse(ranks, "ranks");
  if (!document.ok() || !rank) return -1;
  int64_t place = 0;
  for (const base::JsonValue member : document->root().Elements()) {
    const auto number = member.AsInt();
    if (number.ok() && *number == *rank) return place;
    ++place;
  }
  return -1;
}

// Groups of a source without that text, such as a trace of torch's profiler, in its form.
std::string GroupInfo(const TraceData& data) {
  base::JsonWriter json(nullptr, base::JsonWriter::Style::kPythonDefault);
  json.BeginObject();
  std::set<std::string_view> named;
  for (const recipes::CommunicationGroup& group : data.groups) {
    const std::string_view name = data.Name(group.name);
    if (name.empty() || !named.insert(name).second) continue;
    const std::string ranks = group.rank_list.empty() ? "[]" : std::string(group.rank_list);
    json.Key(name);
    json.BeginObject();
    json.Key("group_name");
    json.String(data.Name(group.description));
    json.Key("group_rank");
    json.Int(PlaceOfRank(ranks, data.rank));
    json.Key("global_ranks");
    json.Raw(ranks);
    json.EndObject();
  }
  json.EndObject();
  return json.Take();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ProfilerMetadata(const TraceData& data) {
  std::vector<std::pair<std::string, std::string>> entries;
  const auto add = [&](std::string key, std::string json) {
    const bool is_complete = json.find("tensor_model_parallel_size") != std::string::npos;
    if (key == "distributed_args" && !is_complete) return;
    const auto same_key = [&](const auto& entry) { return entry.first == key; };
    if (std::any_of(entries.begin(), entries.end(), same_key)) return;
    entries.emplace_back(std::move(key), std::move(json));
  };
  const auto user = base::JsonDocument::Parse(Value(data, "user_metadata"), "user_metadata");
  if (user.ok()) {
    for (const auto& [key, value] : user->root().Members()) add(key, value.Dump());
  }
  for (const std::string_view key :
       {"ENV_VARIABLES", "distributed_args", "parallel_group_info", "trace_id"}) {
    const std::string_view value = Value(data, key);
    if (value.empty() || value == "{}" || value == "null") continue;
    add(std::string(key), std::string(value));
  }
  if (!data.groups.empty()) add("parallel_group_info", GroupInfo(data));
  return entries;
}

std::string ProfilerMetadataJson(const TraceData& data) {
  std::vector<std::string> members;
  for (const auto& [key, json] : ProfilerMetadata(data)) {
    members.push_back(base::Concat(base::JsonQuote(key), ": ", json));
  }
  return members.empty() ? std::string() : base::Concat("{", base::Join(members, ", "), "}");
}

namespace {

// Facts of machine and session, which text deliverables have nowhere else.
std::vector<std::pair<std::string, std::string>> MachineFacts(const TraceData& data) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& [key, json] : data.metadata) {
    if (importers::ascend::IsMachineFact(key)) facts.emplace_back(key, json);
  }
  const bool has_uid = data.metadata.contains(importers::ascend::kHostUid);
  const bool has_name = data.metadata.contains(importers::ascend::kHostName);
  if (!has_uid || has_name || data.processes.empty()) return facts;
  const std::string_view host = data.Name(data.processes.front().host);
  if (!host.empty()) facts.emplace_back(importers::ascend::kHostName, base::JsonQuote(host));
  return facts;
}

// `json` is an object, or empty; nothing is added that it has.
std::string WithFacts(const std::string& json,
                      const std::vector<std::pair<std::string, std::string>>& facts) {
  const auto document = base::JsonDocument::Parse(json.empty() ? "{}" : json, "metadata");
  if (!document.ok() || !document->root().IsObject()) return json;
  std::vector<std::string> members;
  bool is_changed = false;
  for (const auto& [key, value] : document->root().Members()) {
    members.push_back(base::Concat(base::JsonQuote(key), ": ", value.Dump()));
  }
  for (const auto& [key, value] : facts) {
    if (!document->root()[key].IsNull()) continue;
    members.push_back(base::Concat(base::JsonQuote(key), ": ", value));
    is_changed = true;
  }
  return is_changed ? base::Concat("{", base::Join(members, ", "), "}") : json;
}

// `is_kept`: the files of the source have been written again, whole.
Status WriteMetadataFile(const ExportContext& context, bool is_kept) {
  const std::string path = base::JoinPath(context.span_folder, "profiler_metadata.json");
  is_kept = is_kept && base::IsRegularFile(path);
  const std::string before =
      is_kept ? base::ReadFile(path).value_or("") : ProfilerMetadataJson(*context.view.data);
  const std::string metadata = WithFacts(before, MachineFacts(*context.view.data));
  if (metadata.empty() || (is_kept && metadata == before)) return {};
  return base::WriteFileAtomically(path, metadata);
}

}  // namespace

Status WriteSpanFiles(const ExportContext& context) {
  SONDE_ASSIGN_OR_RETURN(const bool is_done, WriteSourceMetadata(context));
  if (is_done) return WriteMetadataFile(context, true);
  const recipes::DeviceView& view = context.view;
  const std::string info = view.settings.rank
                               ? "profiler_info_" + std::to_string(*view.settings.rank) + ".json"
                               : std::string("profiler_info.json");
  // MindSpore's file has another form, which the package writes as it is.
  const std::string_view theirs = Value(*view.data, "mindspore_profiler_info");
  SONDE_RETURN_IF_ERROR(
      base::WriteFileAtomically(base::JoinPath(context.span_folder, info),
                                theirs.empty() ? ProfilerInfoJson(view) : std::string(theirs)));
  return WriteMetadataFile(context, false);
}

}  // namespace sonde::exporters
