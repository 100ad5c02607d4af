// Runs a mode over the ranks of a folder: finds them, maps each, reduces what is kept.
//
// Ranks are the traces of the job (job/job.h). A rank that is there more than once counts with its
// newest run; what is left out is reported. Threads: one call at a time; the work is parallel.
// Errors: where no rank gives anything; a rank that fails is in `failures`, and the others count.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/progress.h"
#include "base/status.h"
#include "cluster/frame/mode.h"
#include "job/failures.h"
#include "job/for_each_trace.h"
#include "job/job.h"
#include "job/open.h"

namespace sonde::cluster {

struct Rank {
  int32_t number = 0;
  job::Trace trace;
};

struct RankChoice {
  std::vector<Rank> ranks;           // by number
  std::vector<std::string> notices;  // what was left out, and numbers that are ours
};

// `wanted`: empty is all. kInvalidArgument where one of them is not there.
Result<RankChoice> ChooseRanks(const job::Job& job, const std::vector<int32_t>& wanted);

// The number of a trace among the ranks, -1 where it is unknown, kHelper where it is of a
// process that helps a rank, as workers of a data loader do, and is none itself. And how many ranks
// the job had, 0 where that is unknown.
inline constexpr int32_t kHelper = -2;
int32_t RankOf(const job::Trace& trace);
int32_t WorldOf(const job::Job& job);

// The choice from descriptions of the traces, which this process may not see.
struct SeenRanks {
  std::vector<int32_t> numbers;  // RankOf of each trace of the job
  int32_t world = 0;
};
Result<RankChoice> ChooseRanks(const job::Job& job, const SeenRanks& seen,
                               const std::vector<int32_t>& wanted);

// Whether the mode itself says which clocks of hosts disagree.
bool ShowsClocks(const Mode& mode);
// Behind a line about clocks of another mode.
inline constexpr std::string_view kHowToKeepClocks =
    "; sonde cluster --keep_clocks keeps the clocks";

// Goes over traces and returns which failed. `report_clocks` may be empty (job::RunOptions).
using MapOne = std::function<Status(const job::TraceInHand& trace)>;
using OverTraces = std::function<std::vector<job::TraceFailure>(
    const std::vector<job::Trace>& traces, const recipes::Needs& needs, const MapOne& map,
    const job::NoticeSink& report_clocks)>;

struct RunOptions {
  int threads = 1;
  job::NoticeSink notify;
  bool shows_progress = false;
  // Of who has the traces open already; else they are opened.
  OverTraces over = {};
  // Of a mode that needs waits (Needs::waits), of ranks that are not all: their collectives become
  // MappedRanks::pending, instead of what the mode keeps.
  bool leaves_waits = false;
  // The waits of a trace, of who knows them already (frame/waits.h).
  std::function<std::span<const int64_t>(int32_t trace)> waits_of = {};
};

// Folders below the one that is named, as deep as the reference looks.
inline constexpr int kFolderDepth = 5;

struct MappedRanks {
  std::vector<RankPart> parts;         // empty ones among them
  std::vector<RankPart> pending = {};  // RunOptions::leaves_waits
  std::vector<job::TraceFailure> failures;
};
// What came of each of them, in this process.
MappedRanks MapHere(const Mode& mode, const std::vector<Rank>& ranks,
                    const ModeOptions& mode_options, const RunOptions& options);
// An error where nothing came of any.
Result<MappedRanks> OfAny(MappedRanks mapped);
// By ModeOptions::reader, else here.
Result<MappedRanks> MapRanks(const Mode& mode, const std::vector<Rank>& ranks,
                             const ModeOptions& mode_options, const RunOptions& options);

// Reads ranks in another way than MapRanks by itself (parts/part_reader.h), for who runs a mode and
// for modes that look at ranks again. One call at a time. Errors: as those of one process.
class RankReader {
 public:
  RankReader() = default;
  RankReader(const RankReader&) = delete;
  RankReader& operator=(const RankReader&) = delete;
  virtual ~RankReader() = default;
  // Of the traces below `folder`.
  virtual Result<RankChoice> Choose(const std::string& folder,
                                    const std::vector<int32_t>& wanted) = 0;
  // Ranks of such a choice.
  virtual Result<MappedRanks> Map(const Mode& mode, const std::vector<Rank>& ranks,
                                  const ModeOptions& options) = 0;
};

struct RunResult {
  Outcome outcome;
  std::vector<job::TraceFailure> failures;
  std::vector<int32_t> without;  // ranks in which there is nothing for the mode
};

// Puts together what a mode keeps of each rank.
Result<RunResult> Reduce(const Mode& mode, MappedRanks mapped, const ModeOptions& mode_options);

Result<RunResult> Run(const Mode& mode, const std::vector<Rank>& ranks,
                      const ModeOptions& mode_options, const RunOptions& options);

}  // namespace sonde::cluster
