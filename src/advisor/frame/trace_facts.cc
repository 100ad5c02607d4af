#include "advisor/frame/trace_facts.h"

#include <algorithm>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"

namespace sonde::advisor {
namespace {

using base::Concat;

constexpr size_t kMaxBytes = size_t{64} << 20U;

// Files below `folder` that `wanted` takes, at most `depth` folders down.
template <class Wanted>
void FindFiles(const std::string& folder, int depth, const Wanted& wanted,
               std::vector<std::string>& found) {
  const auto entries = base::ListDirectory(folder);
  if (!entries.ok()) return;  // what cannot be looked into holds nothing for us
  for (const base::DirectoryEntry& entry : *entries) {
    const std::string path = base::JoinPath(folder, entry.name);
    if (entry.kind == base::DirectoryEntry::Kind::kFile && wanted(entry.name)) {
      found.push_back(path);
    }
    if (entry.kind == base::DirectoryEntry::Kind::kDirectory && depth > 0) {
      FindFiles(path, depth - 1, wanted, found);
    }
  }
}

class Reader {
 public:
  explicit Reader(TraceFacts& facts) : facts_(facts) {}

  // Calls `take` with the file's JSON.
  template <class Take>
  void Read(const std::string& path, const Take& take) {
    const auto text = base::ReadFile(path, kMaxBytes);
    if (!text.ok()) {
      facts_.notices.push_back(Concat(text.status().message(), ": it counts as missing"));
      return;
    }
    const auto json = base::JsonDocument::Parse(*text, path);
    if (!json.ok()) {
      facts_.notices.push_back(Concat(json.status().message(), ": it counts as missing"));
      return;
    }
    take(json->root());
  }

 private:
  TraceFacts& facts_;
};

void TakeChip(const std::string& folder, TraceFacts& facts) {
  std::vector<std::string> files;
  constexpr int kDepth = 3;
  FindFiles(
      folder, kDepth,
      [](const std::string& name) {
        return name.starts_with("info.json.") && base::ParseInt64(name.substr(10));
      },
      files);
  for (const std::string& file : files) {
    Reader(facts).Read(file, [&](const base::JsonValue& root) {
      for (const base::JsonValue& device : root["DeviceInfo"].Elements()) {
        for (const char* name : {"ai_core_num", "aiv_num", "aic_frequency"}) {
          const auto number = device[name].AsDouble();
          Value& value = facts.values[name];
          if (number.ok() && !IsTrue(value)) value = static_cast<int64_t>(*number);
        }
      }
    });
  }
}

void TakeEnvironment(const std::string& folder, TraceFacts& facts) {
  std::vector<std::string> files;
  constexpr int kDepth = 10;
  FindFiles(
      folder, kDepth, [](const std::string& name) { return name == "profiler_metadata.json"; },
      files);
  if (files.empty()) return;
  Reader(facts).Read(files.front(), [&](const base::JsonValue& root) {
    const base::JsonValue variables = root["ENV_VARIABLES"];
    std::vector<std::string> rows;
    int64_t place = 0;
    for (const auto& [name, value] : variables.Members()) {
      const auto quoted = [](std::string_view text) {
        return Concat("'", base::ReplaceAll(text, "'", "''"), "'");
      };
      rows.push_back(Concat("(", std::to_string(place++), ", ", quoted(name), ", ",
                            quoted(value.AsString().value_or("")), ")"));
    }
    if (!rows.empty()) facts.values["env"] = base::Join(rows, ", ");
  });
}

}  // namespace

TraceFacts FactsOf(const job::Trace& trace) {
  TraceFacts facts;
  for (const char* name : {"ai_core_num", "aiv_num", "aic_frequency"}) {
    facts.values[name] = int64_t{0};
  }
  facts.values["env"] = Value();
  facts.values["rank"] = static_cast<int64_t>(trace.rank);
  const std::string& path = trace.source.path;
  std::string folder = base::IsDirectory(path) ? path : std::string(base::DirName(path));
  constexpr std::string_view kDelivered = "ASCEND_PROFILER_OUTPUT";
  if (base::BaseName(folder) == kDelivered) folder = std::string(base::DirName(folder));
  const std::string delivered = base::JoinPath(folder, kDelivered);
  // Captures of Sonde have the same folders, but it records what the host does.
  const bool is_ours = trace.source.importer != nullptr && trace.source.importer->is_ours;
  const bool is_ascend =
      !is_ours && (base::IsDirectory(delivered) || folder.find("PROF_") != std::string::npos);
  const bool is_text = base::IsRegularFile(base::JoinPath(delivered, "trace_view.json")) ||
                       base::IsRegularFile(base::JoinPath(delivered, "kernel_details.csv"));
  facts.values["is_ascend"] = static_cast<int64_t>(is_ascend);
  facts.values["is_other"] = static_cast<int64_t>(!is_ascend);
  facts.values["is_text"] = static_cast<int64_t>(is_text);
  if (is_ascend) {
    TakeChip(folder, facts);
    TakeEnvironment(folder, facts);
  }
  return facts;
}

}  // namespace sonde::advisor
