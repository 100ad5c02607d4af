// One trace that can be shown. It never changes: another one takes its place.
//
// Threads: any. Times: nanoseconds of the epoch; those of answers are counted from `base_ns`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/host/private_folder.h"
#include "base/status.h"
#include "job/for_each_trace.h"
#include "recipes/finding/slow_rank.h"
#include "recipes/trace/needs.h"
#include "serve/counters.h"
#include "serve/databases.h"
#include "serve/marks.h"
#include "serve/messages.h"
#include "store/joint.h"
#include "store/zoom_index.h"

namespace sonde::serve {

struct Trace {
  int32_t id = 0;
  int64_t base_ns = 0;
  int64_t store_id = 0;  // another one where its rows may be others
  bool is_copy = false;  // of another trace of the session: counts once in statements over all
  std::shared_ptr<base::PrivateFolder> folder;  // of a preview; outlives what lies in it
  std::shared_ptr<Databases> databases;
  store::StoreFile file;                      // with this trace alone
  std::shared_ptr<const TraceTables> tables;  // for statements of ours
  store::ZoomIndex zoom;
  std::shared_ptr<const std::vector<std::string>> names;  // of a pack those of all its traces
  Counters counters;
  Marks marks;
  // Null until somebody asked for them.
  mutable std::atomic<std::shared_ptr<const recipes::TraceFindings>> findings;

  const store::TraceLabel& label() const { return file.traces.front(); }
  const std::string& Name(int32_t name) const;  // "" for none

  // For statements of the user.
  Result<std::shared_ptr<const store::UserStatements>> User() const;

  // Whether the lane of a stream shows slices of the host: where the CPU is the device.
  bool HasTaskLane(int32_t track) const;
};

// An open store and its description for drawing. `message`: gets the description.
Result<std::shared_ptr<Trace>> ShowStore(std::shared_ptr<Databases> databases,
                                         std::unique_ptr<store::Store> store,
                                         TraceMessage& message);

// The traces of a pack. `folder`: for files that are gone when this returns. `messages`, by number
// of the trace: get the descriptions. `add` is called for each, of one that fails with why.
Status ShowPack(const std::shared_ptr<Databases>& databases, const store::StoreFile& pack,
                const std::string& folder, std::map<int32_t, TraceMessage>& messages,
                const std::function<void(int32_t id, Result<std::shared_ptr<Trace>>)>& add);

// Runs `each` over the rows of these traces, several at a time (job/for_each_trace.h). `at`: place
// in `traces`; `report_clocks`: job::RunOptions. Returns what came of each.
std::vector<Status> OverTraces(
    std::span<const std::shared_ptr<const Trace>> traces, const recipes::Needs& needs,
    const std::function<Status(size_t at, const job::TraceInHand& trace)>& each,
    const job::NoticeSink& report_clocks = {});

}  // namespace sonde::serve
