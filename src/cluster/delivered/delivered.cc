#include "cluster/delivered/delivered.h"

#include <algorithm>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "cluster/delivered/parts.h"
#include "importers/trace_events/members.h"
#include "recipes/communication/naming.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using importers::trace_events::FindMember;
using importers::trace_events::ForEachMember;

bool IsObject(std::string_view text) {
  return text.size() >= 2 && text.front() == '{' && text.back() == '}';
}

Status ReadMetadata(const importers::AscendSpan& span, Delivered& delivered) {
  for (const importers::SpanFile& file : span.metadata) {
    if (base::BaseName(file.path) != "profiler_metadata.json") continue;
    SONDE_ASSIGN_OR_RETURN(const std::string whole, base::ReadFile(file.path));
    const std::string_view text = base::Trim(whole);
    if (!IsObject(text)) continue;  // the import counts it
    if (const auto groups = FindMember(text, "parallel_group_info"); groups) {
      TakeGroups(groups->text, delivered);
    }
    if (const auto sizes = FindMember(text, "distributed_args"); sizes) {
      TakeSizes(sizes->text, delivered);
    }
  }
  return {};
}

// Files of the device's own tool or of MindSpore next to texts have other names.
bool HasAnalysisOfFramework(const importers::AscendSpan& span) {
  return std::any_of(span.analysis.begin(), span.analysis.end(),
                     [](const auto& file) { return base::BaseName(file.path) == "analysis.db"; });
}

// As msprof-analyze finds the form of a rank: databases come first, analysis.db alone among them.
bool IsOfDatabases(const importers::AscendSpan& span) {
  return !span.databases.empty() || !span.has_texts() || HasAnalysisOfFramework(span);
}

}  // namespace

std::string HashOfGroup(std::string_view communicator) {
  return std::to_string(recipes::GroupHash(communicator));
}

void TakeGroups(std::string_view json, Delivered& delivered) {
  const auto document = base::JsonDocument::Parse(json, "parallel_group_info");
  if (!document.ok()) return;  // the import counts it
  for (const auto& [id, facts] : document->root().Members()) {
    DeliveredGroup group{.hash = HashOfGroup(id),
                         .id = id,
                         .pg_name = facts.GetString("group_name", "").value_or(""),
                         .ranks = {}};
    for (const base::JsonValue& rank : facts["global_ranks"].Elements()) {
      group.ranks.push_back(static_cast<int32_t>(rank.AsInt().value_or(-1)));
    }
    const bool is_known = std::any_of(delivered.groups.begin(), delivered.groups.end(),
                                      [&](const auto& known) { return known.id == group.id; });
    if (!is_known) delivered.groups.push_back(std::move(group));
  }
}

// In the order and with the blanks of Python's json module, as the reference writes it.
void TakeSizes(std::string_view json, Delivered& delivered) {
  if (!IsObject(json) || !delivered.facts.distributed_args.empty()) return;
  std::string text;
  ForEachMember(json, [&](std::string_view key, bool, const auto& value) {
    if (key == "rank") return;
    const std::string_view quote = value.is_string ? "\"" : "";
    text += Concat(text.empty() ? "" : ", ", "\"", key, "\": ", quote, value.text, quote);
  });
  delivered.facts.distributed_args = Concat("{", text, "}");
}

Result<Delivered> ReadDelivered(const std::string& path) {
  Delivered delivered;
  const importers::AscendSpan span = importers::FindSpan(path);
  SONDE_RETURN_IF_ERROR(ReadMetadata(span, delivered));
  if (IsOfDatabases(span)) SONDE_RETURN_IF_ERROR(ReadAnalysisDb(span, delivered));
  if (!span.databases.empty()) return delivered;
  if (delivered.empty()) {
    SONDE_RETURN_IF_ERROR(ReadTexts(span, delivered));
  } else {
    delivered.facts.has_only_analysis = HasAnalysisOfFramework(span);
  }
  return delivered;
}

Result<std::vector<DeliveredStep>> ReadDeliveredSteps(const std::string& path) {
  Delivered delivered;
  const importers::AscendSpan span = importers::FindSpan(path);
  if (IsOfDatabases(span)) SONDE_RETURN_IF_ERROR(ReadStepsOfDb(span, delivered));
  if (span.databases.empty() && delivered.steps.empty()) {
    SONDE_RETURN_IF_ERROR(ReadStepsOfTexts(span, delivered));
  }
  return std::move(delivered.steps);
}

}  // namespace sonde::cluster
