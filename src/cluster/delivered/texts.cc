// step_trace_time.csv, communication.json and communication_matrix.json.
#include <map>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "cluster/delivered/parts.h"
#include "importers/ascend_text/csv_reader.h"

namespace sonde::cluster {
namespace {

using base::JsonValue;

constexpr std::array<std::string_view, kStepColumns> kStepNames = {
    "Computing",  "Communication(Not Overlapped)",
    "Overlapped", "Communication",
    "Free",       "Stage",
    "Bubble",     "Communication(Not Overlapped and Exclude Receive)",
    "Preparing"};

Status ReadStepCsv(const std::string& path, Delivered& delivered) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  std::map<std::string, size_t, std::less<>> places;
  for (const std::string& name : importers::ReadCsvHeader(text))
    places.emplace(name, places.size());
  importers::ReadCsv(text, [&](const importers::CsvRow& row, int64_t /*position*/) {
    const auto cell = [&](std::string_view name) {
      const auto found = places.find(name);
      return found == places.end() || found->second >= row.size() ? std::string_view()
                                                                  : row[found->second];
    };
    DeliveredStep& step = delivered.steps.emplace_back();
    step.step = base::Trim(cell("Step"));
    for (size_t i = 0; i < kStepNames.size(); ++i) {
      step.us[i] = base::ParseDouble(base::Trim(cell(kStepNames[i]))).value_or(0);
    }
  });
  return {};
}

double Number(const JsonValue& object, std::string_view key) {
  return object[key].AsDouble().value_or(0);
}

// The name of an operation and its group, "hcom_allReduce__586_0_1@175...".
struct OpKey {
  std::string step;
  bool is_p2p = false;
  std::string op;
  std::string group;
};

std::optional<OpKey> KeyOfOp(const std::string& step, bool is_p2p, const std::string& text) {
  if (text.starts_with("Total") || text.starts_with("total")) return std::nullopt;
  const size_t at = text.rfind('@');
  if (at == std::string::npos) return OpKey{step, is_p2p, text, ""};
  return OpKey{step, is_p2p, text.substr(0, at), text.substr(at + 1)};
}

// The device's own tool has no steps, and names give the kind.
bool IsP2pName(std::string_view name) {
  const std::string lower = base::ToLower(name);
  return lower.starts_with("hcom_send") || lower.starts_with("hcom_receive") ||
         lower.starts_with("hcom_batchsendrecv");
}

template <class Take>
void ForEachOp(const JsonValue& root, std::string_view marker, const Take& take) {
  for (const auto& [step, kinds] : root.Members()) {
    if (!kinds[marker].IsNull()) {  // an operation
      const auto key = KeyOfOp("step", IsP2pName(step), step);
      if (key) take(*key, kinds);
      continue;
    }
    for (const auto& [kind, operations] : kinds.Members()) {
      for (const auto& [name, parts] : operations.Members()) {
        const auto key = KeyOfOp(step, kind == "p2p", name);
        if (key) take(*key, parts);
      }
    }
  }
}

void TakeBandwidth(const OpKey& key, const std::string& transport, const JsonValue& facts,
                   Delivered& delivered) {
  DeliveredBandwidth row{.step = key.step,
                         .is_p2p = key.is_p2p,
                         .op = key.op,
                         .group = key.group,
                         .transport = transport,
                         .size_mb = Number(facts, "Transit Size(MB)"),
                         .time_ms = Number(facts, "Transit Time(ms)"),
                         .bandwidth = Number(facts, "Bandwidth(GB/s)"),
                         .large_packet_ratio = Number(facts, "Large Packet Ratio")};
  const auto sizes = facts["Size Distribution"].Members();
  if (sizes.empty()) delivered.bandwidths.push_back(row);
  for (const auto& [size, counts] : sizes) {
    row.package_mb = base::ParseDouble(size).value_or(0);
    row.count = static_cast<int64_t>(counts[size_t{0}].AsDouble().value_or(0));
    row.duration_ms = counts[size_t{1}].AsDouble().value_or(0);
    delivered.bandwidths.push_back(row);
  }
}

Status ReadCommunication(const std::string& path, Delivered& delivered) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  SONDE_ASSIGN_OR_RETURN(const auto document, base::JsonDocument::Parse(text, path));
  ForEachOp(
      document.root(), "Communication Time Info", [&](const OpKey& key, const JsonValue& parts) {
        const JsonValue time = parts["Communication Time Info"];
        delivered.times.push_back({.step = key.step,
                                   .is_p2p = key.is_p2p,
                                   .op = key.op,
                                   .group = key.group,
                                   .start_us = Number(time, "Start Timestamp(us)"),
                                   .elapse_ms = Number(time, "Elapse Time(ms)"),
                                   .transit_ms = Number(time, "Transit Time(ms)"),
                                   .wait_ms = Number(time, "Wait Time(ms)"),
                                   .synchronization_ms = Number(time, "Synchronization Time(ms)"),
                                   .idle_ms = Number(time, "Idle Time(ms)")});
        for (const auto& [transport, facts] : parts["Communication Bandwidth Info"].Members()) {
          TakeBandwidth(key, transport, facts, delivered);
        }
      });
  return {};
}

Status ReadMatrix(const std::string& path, Delivered& delivered) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  SONDE_ASSIGN_OR_RETURN(const auto document, base::JsonDocument::Parse(text, path));
  // The form without steps differs in more than that: its operations are not chosen yet.
  ForEachOp(document.root(), "", [&](const OpKey& key, const JsonValue& links) {
    for (const auto& [ranks, facts] : links.Members()) {
      const auto ends = base::Split(ranks, '-');
      const auto src = ends.size() == 2 ? base::ParseInt64(ends[0]) : std::nullopt;
      const auto dst = ends.size() == 2 ? base::ParseInt64(ends[1]) : std::nullopt;
      if (!src || !dst) continue;
      delivered.links.push_back({.step = key.step,
                                 .is_p2p = key.is_p2p,
                                 .op = key.op,
                                 .group = key.group,
                                 .src = static_cast<int32_t>(*src),
                                 .dst = static_cast<int32_t>(*dst),
                                 .transport = facts.GetString("Transport Type", "").value_or(""),
                                 .op_name = facts.GetString("Op Name", "").value_or(""),
                                 .size_mb = Number(facts, "Transit Size(MB)"),
                                 .time_ms = Number(facts, "Transit Time(ms)")});
    }
  });
  return {};
}

}  // namespace

Status ReadStepsOfTexts(const importers::AscendSpan& span, Delivered& delivered) {
  for (const importers::SpanFile& file : span.tables) {
    if (base::BaseName(file.path) != "step_trace_time.csv") continue;
    SONDE_RETURN_IF_ERROR(ReadStepCsv(file.path, delivered));
  }
  return {};
}

Status ReadTexts(const importers::AscendSpan& span, Delivered& delivered) {
  delivered.facts.is_text = true;
  for (const auto* files : {&span.tables, &span.texts}) {
    for (const importers::SpanFile& file : *files) {
      const std::string_view name = base::BaseName(file.path);
      Status read;
      if (name == "step_trace_time.csv") read = ReadStepCsv(file.path, delivered);
      if (name == "communication.json") read = ReadCommunication(file.path, delivered);
      if (name == "communication_matrix.json") read = ReadMatrix(file.path, delivered);
      if (!read.ok()) return read;
    }
  }
  return {};
}

}  // namespace sonde::cluster
