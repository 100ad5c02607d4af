#include "importers/server/server.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "importers/capture/import.h"
#include "importers/capture/serving.h"
#include "importers/server/merge.h"
#include "importers/server/request_slices.h"
#include "store/import_issues.h"
#include "store/row_tables.h"
#include "store/table_writer.h"

namespace sonde::importers {
namespace {

using base::Concat;
using capture_import::ServingEvents;

constexpr std::string_view kMarkFile = "session.sonde_server";
constexpr std::string_view kListed = ".capture";

constexpr store::IssueKind kPartMissing{
    "server_part_missing", store::Severity::kWarning,
    "the capture of a process of the server is missing: the session is not complete"};
constexpr store::IssueKind kPartUnreadable{"server_part_unreadable", store::Severity::kWarning, ""};

// Slices and process of a part, with their numbers in the joint store.
void Move(ServingEvents& events, const server::Merger& merger) {
  const auto process = merger.Offset(server::IdSpace::kProcess);
  const auto slices = static_cast<int32_t>(merger.Offset(server::IdSpace::kSlice));
  const auto move = [&](auto& list) {
    for (auto& item : list) {
      if (item.slice_id >= 0) item.slice_id += slices;
    }
  };
  events.process_id += static_cast<int32_t>(process);
  move(events.flows);
  move(events.facts);
  move(events.steps);
}

class SessionImport {
 public:
  SessionImport(store::Store& store, const ImportOptions& options)
      : store_(store), options_(options), merger_(names_) {}

  Status Add(const std::string& path) {
    store::StoreOptions part_options;
    part_options.rows_in_memory = true;
    SONDE_ASSIGN_OR_RETURN(const auto part,
                           store::Store::Create(Concat(store_.path(), ".part"), part_options));
    ServingEvents events;
    const auto imported = ImportPart(path, *part, options_, &events, &clocks_);
    if (!imported.ok()) {
      issues_.AddText(kPartUnreadable, path, imported.status().message());
      return {};
    }
    Cover(*imported);
    SONDE_ASSIGN_OR_RETURN(auto transaction, store_.Begin());
    SONDE_RETURN_IF_ERROR(merger_.Add(*part->rows(), transaction));
    SONDE_RETURN_IF_ERROR(transaction.Commit());
    Move(events, merger_);
    parts_.push_back(std::move(events));
    return {};
  }

  void Miss(const std::string& path) { issues_.Add(kPartMissing, path); }

  Result<ImportSummary> Finish() {
    if (parts_.empty()) return base::NotFoundError("no capture of the session can be read");
    SONDE_ASSIGN_OR_RETURN(auto transaction, store_.Begin());
    const auto next_flow = static_cast<int32_t>(merger_.Next(server::IdSpace::kFlow));
    capture_import::ServingRows rows = capture_import::MakeServingRows(parts_, next_flow, names_);
    if (!rows.requests.empty()) {
      const server::RequestTrack track = server::MakeRequestTrack(
          rows.requests, FrontEnd(), static_cast<int32_t>(merger_.Next(server::IdSpace::kTrack)),
          static_cast<int32_t>(merger_.Next(server::IdSpace::kSlice)), names_);
      AddFlows(track, next_flow + static_cast<int32_t>(rows.flows.size()), rows);
      SONDE_RETURN_IF_ERROR(WriteRequestTrack(track, transaction));
    }
    SONDE_RETURN_IF_ERROR(capture_import::WriteServingRows(rows, transaction));
    SONDE_RETURN_IF_ERROR(issues_.Write(transaction, names_));
    SONDE_RETURN_IF_ERROR(names_.Write(transaction));
    SONDE_RETURN_IF_ERROR(transaction.Commit());
    for (const store::ImportIssue& issue : issues_.list()) summary_.issues.push_back(issue);
    return summary_;
  }

 private:
  // Requests without a recorded front-end (offline, or several of them) lead to their steps, too:
  // from their place on the track.
  void AddFlows(const server::RequestTrack& track, int32_t next_flow,
                capture_import::ServingRows& rows) {
    std::map<std::pair<int32_t, int64_t>, int32_t> slice_of_step;
    for (const store::EngineStepRow& step : rows.engine_steps) {
      if (step.slice_id >= 0) slice_of_step[{step.engine, step.step_id}] = step.slice_id;
    }
    const int32_t kind = names_.Intern("request");
    for (const store::RequestStepRow& part : rows.request_steps) {
      const auto request = static_cast<size_t>(part.request_id);
      const auto step = slice_of_step.find({part.engine, part.step_id});
      if (rows.requests[request].slice_id >= 0 || step == slice_of_step.end()) continue;
      store::FlowRow flow;
      flow.flow_id = next_flow++;
      flow.kind = kind;
      flow.key = part.request_id;
      flow.slice_out = track.slices_of_requests[request];
      flow.slice_in = step->second;
      rows.flows.push_back(flow);
    }
  }

  Status WriteRequestTrack(const server::RequestTrack& track, store::Transaction& transaction) {
    SONDE_ASSIGN_OR_RETURN(auto tracks, store::TableWriter<store::TrackRow>::Open(transaction));
    tracks.Append(track.track);
    SONDE_RETURN_IF_ERROR(tracks.Close());
    SONDE_ASSIGN_OR_RETURN(auto slices, store::TableWriter<store::SliceRow>::Open(transaction));
    for (const store::SliceRow& row : track.slices) slices.Append(row);
    summary_.slices += static_cast<int64_t>(track.slices.size());
    return slices.Close();
  }

  // The process in which requests arrive; the first one where that was not recorded.
  int32_t FrontEnd() const {
    for (const ServingEvents& part : parts_) {
      for (const capture_import::RequestFact& fact : part.facts) {
        if (fact.moment == capture_import::RequestMoment::kArrived) return part.process_id;
      }
    }
    return parts_.front().process_id;
  }

  void Cover(const ImportSummary& part) {
    summary_.slices += part.slices;
    summary_.device_tasks += part.device_tasks;
    summary_.communication_ops += part.communication_ops;
    summary_.memory_events += part.memory_events;
    if (part.begin_ns > 0) {
      summary_.begin_ns =
          summary_.begin_ns == 0 ? part.begin_ns : std::min(summary_.begin_ns, part.begin_ns);
    }
    summary_.end_ns = std::max(summary_.end_ns, part.end_ns);
    summary_.issues.insert(summary_.issues.end(), part.issues.begin(), part.issues.end());
  }

  store::Store& store_;
  ImportOptions options_;
  store::NamePool names_;
  store::ImportIssues issues_;
  server::Merger merger_;
  std::vector<ServingEvents> parts_;
  // The processes recorded the time of day at different moments, and it may have been set since.
  capture_import::ClockOffsets clocks_;
  ImportSummary summary_;
};

}  // namespace

bool IsServerSession(const std::string& path) {
  return base::IsRegularFile(base::JoinPath(path, kMarkFile));
}

Result<int32_t> ServerSessionRank(const std::string&) { return store::kNone; }

Result<std::vector<std::string>> ServerSessionCaptures(const std::string& path,
                                                       std::vector<std::string>* missing) {
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(path));
  std::vector<std::string> captures;
  for (const base::DirectoryEntry& entry : entries) {
    const std::string inside = base::JoinPath(path, entry.name);
    std::string capture = inside;
    if (entry.name.ends_with(kListed)) {
      const auto text = base::ReadFile(inside);
      if (text.ok()) capture = base::AbsolutePath(base::JoinPath(path, base::Trim(*text)));
    } else if (!base::IsDirectory(base::JoinPath(inside, "SONDE"))) {
      continue;
    }
    if (IsCapture(capture)) {
      captures.push_back(std::move(capture));
    } else if (missing != nullptr) {
      missing->push_back(std::move(capture));
    }
  }
  return captures;
}

Result<int64_t> ServerSessionStamp(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const auto captures, ServerSessionCaptures(path, nullptr));
  uint64_t stamp = captures.size();
  for (const std::string& capture : captures) {
    SONDE_ASSIGN_OR_RETURN(const int64_t part, CaptureStamp(capture));
    stamp = base::HashCombine(stamp, static_cast<uint64_t>(part));
  }
  return static_cast<int64_t>(stamp);
}

Result<ImportSummary> ImportServerSession(const std::string& path, store::Store& store,
                                          const ImportOptions& options) {
  std::vector<std::string> missing;
  SONDE_ASSIGN_OR_RETURN(const auto captures, ServerSessionCaptures(path, &missing));
  SessionImport session(store, options);
  for (const std::string& capture : captures) SONDE_RETURN_IF_ERROR(session.Add(capture));
  for (const std::string& capture : missing) session.Miss(capture);
  return session.Finish();
}

Result<std::vector<std::string>> ServerSessionParts(const std::string& path) {
  return ServerSessionCaptures(path, nullptr);
}

}  // namespace sonde::importers
