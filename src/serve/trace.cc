#include "serve/trace.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "serve/describe.h"
#include "store/own_tables.h"
#include "store/zoom_build.h"
#include "store/zoom_open.h"

namespace sonde::serve {
namespace {

// The contents of its tables, when the index and the names are there.
Status Fill(Trace& trace, TraceMessage& message) {
  SONDE_RETURN_IF_ERROR(trace.marks.Open(*trace.tables, trace.zoom));
  message.processes.clear();
  message.tracks.clear();
  message.tables.clear();
  SONDE_RETURN_IF_ERROR(DescribeTrace(*trace.tables, trace.zoom, trace.marks, message));
  if (!trace.file.is_pack) {
    SONDE_ASSIGN_OR_RETURN(message.tables, store::OwnTables(*trace.tables));
  }
  message.empty = message.slices == 0 && message.tables.empty();
  if (!message.empty) return {};
  SONDE_ASSIGN_OR_RETURN(const bool has_records, store::HasRecords(*trace.tables));
  message.empty = !has_records;
  return {};
}

std::shared_ptr<Trace> TraceOf(std::shared_ptr<Databases> databases, store::StoreFile file) {
  auto trace = std::make_shared<Trace>();
  trace->id = file.traces.front().trace;
  trace->databases = std::move(databases);
  trace->tables = std::make_shared<const TraceTables>(trace->databases, file);
  trace->file = std::move(file);
  return trace;
}

// An index of its own, in memory: the file's name goes, the mapping stays.
Result<store::ZoomIndex> MakeIndex(const Trace& trace, const std::string& folder) {
  const std::string path = base::JoinPath(folder, base::Concat(std::to_string(trace.id), ".zoom"));
  SONDE_ASSIGN_OR_RETURN(auto writer, store::BuildZoomIndex(*trace.tables, trace.store_id, path));
  SONDE_RETURN_IF_ERROR(writer.Commit());
  auto index = store::ZoomIndex::Open(path, trace.store_id);
  SONDE_RETURN_IF_ERROR(base::RemoveTree(path));
  return index;
}

Result<std::shared_ptr<const std::vector<std::string>>> NamesOf(const store::JointStore& pack) {
  SONDE_ASSIGN_OR_RETURN(const auto rows, pack.Query("SELECT name_id, name FROM name_"));
  auto names = std::make_shared<std::vector<std::string>>();
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto id = static_cast<size_t>(rows.Int(0, row));
    if (id >= names->size()) names->resize(id + 1);
    (*names)[id] = rows.Text(1, row);
  }
  return std::shared_ptr<const std::vector<std::string>>(std::move(names));
}

}  // namespace

const std::string& Trace::Name(int32_t name) const {
  static const std::string none;
  return name >= 0 && static_cast<size_t>(name) < names->size()
             ? (*names)[static_cast<size_t>(name)]
             : none;
}

Result<std::shared_ptr<const store::UserStatements>> Trace::User() const {
  return databases->Statements(file);
}

bool Trace::HasTaskLane(int32_t track) const {
  const auto lanes = zoom.lanes();
  return std::any_of(lanes.begin(), lanes.end(), [&](const store::ZoomFileLane& lane) {
    return lane.track_id == track && lane.ids != 0;
  });
}

Result<std::shared_ptr<Trace>> ShowStore(std::shared_ptr<Databases> databases,
                                         std::unique_ptr<store::Store> store,
                                         TraceMessage& message) {
  const store::TraceLabel label = {
      .trace = message.id, .run = message.run, .rank = message.rank, .path = message.path};
  auto trace = TraceOf(std::move(databases), {.path = store->path(), .traces = {label}});
  trace->store_id = store->store_id();
  SONDE_ASSIGN_OR_RETURN(trace->zoom, store::OpenZoomIndex(*store));
  SONDE_ASSIGN_OR_RETURN(auto names, store->Names());
  trace->names = std::make_shared<const std::vector<std::string>>(std::move(names));
  trace->databases->Keep(std::move(store));
  SONDE_RETURN_IF_ERROR(Fill(*trace, message));
  return trace;
}

Status ShowPack(const std::shared_ptr<Databases>& databases, const store::StoreFile& pack,
                const std::string& folder, std::map<int32_t, TraceMessage>& messages,
                const std::function<void(int32_t id, Result<std::shared_ptr<Trace>>)>& add) {
  SONDE_ASSIGN_OR_RETURN(const auto open, databases->OpenPack(pack.path));
  SONDE_ASSIGN_OR_RETURN(const auto names, NamesOf(*open));
  const auto stamp = static_cast<uint64_t>(open->source_stamp());
  const auto show = [&](const store::TraceLabel& label,
                        TraceMessage& message) -> Result<std::shared_ptr<Trace>> {
    auto trace = TraceOf(databases, {.path = pack.path, .traces = {label}, .is_pack = true});
    trace->store_id =
        static_cast<int64_t>(base::HashCombine(stamp, static_cast<uint64_t>(label.place) + 1));
    trace->names = names;
    SONDE_ASSIGN_OR_RETURN(trace->zoom, MakeIndex(*trace, folder));
    SONDE_RETURN_IF_ERROR(Fill(*trace, message));
    return trace;
  };
  for (const store::TraceLabel& label : pack.traces) {
    add(label.trace, show(label, messages[label.trace]));
  }
  return {};
}

std::vector<Status> OverTraces(
    std::span<const std::shared_ptr<const Trace>> traces, const recipes::Needs& needs,
    const std::function<Status(size_t at, const job::TraceInHand& trace)>& each,
    const job::NoticeSink& report_clocks) {
  std::map<std::string, std::vector<size_t>> by_file;
  for (size_t at = 0; at < traces.size(); ++at) by_file[traces[at]->file.path].push_back(at);
  std::vector<store::StoreFile> files;
  std::vector<size_t> order;  // of the traces as they lie in the files
  for (const auto& [path, members] : by_file) {
    const bool is_pack = traces[members.front()]->file.is_pack;
    for (const size_t at : members) {
      // Copies share a store.
      if (!is_pack || at == members.front()) files.push_back({path, {}, is_pack});
      files.back().traces.push_back(traces[at]->label());
      order.push_back(at);
    }
  }
  std::vector<std::optional<Status>> done(traces.size());
  const auto failures =
      job::RunOverTraces(files, needs, {.report_clocks = report_clocks},
                         [&](const job::TraceInHand& trace, size_t place) {
                           return *(done[order[place]] = each(order[place], trace));
                         });
  std::vector<Status> statuses;
  for (size_t at = 0; at < traces.size(); ++at) {
    const auto failure = std::find_if(failures.begin(), failures.end(), [&](const auto& failed) {
      return failed.path == traces[at]->label().path;
    });
    statuses.push_back(done[at] || failure == failures.end() ? done[at].value_or(Status())
                                                             : failure->why);
  }
  return statuses;
}

}  // namespace sonde::serve
