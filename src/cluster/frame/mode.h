// A cluster mode: a pass over each rank by itself (map), and one over what is kept of all
// (reduce). modes.cc lists them; docs/how-to/add-a-cluster-mode.md shows how to add one.
//
//   constexpr Mode kSlowRankMode = {.name = "slow_rank", .folder = "SlowRankAnalysis",
//                               .summary = "ranks that arrive last", .tables = kTables,
//                               .needs = recipes::Reads<store::CommunicationOpRow>(),
//                               .wants = "communication operations (--profile-level level0)",
//                               .map = &Map, .reduce = &Reduce};
//
// Threads: map is called from several, for one rank each; reduce from one. Errors: a failed map is
// that rank's, the others go on; a failed reduce is the mode's.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cluster/frame/columns.h"
#include "cluster/frame/mode_option.h"
#include "cluster/frame/part.h"
#include "cluster/frame/table.h"
#include "recipes/finding/finding.h"
#include "recipes/trace/device_view.h"
#include "recipes/trace/needs.h"

namespace sonde::cluster {

// A moment counts where it lies in a step that was asked for, both ends included.
struct StepWindow {
  int64_t begin_ns = std::numeric_limits<int64_t>::min();
  int64_t end_ns = std::numeric_limits<int64_t>::max();
  bool Has(int64_t ts) const { return ts >= begin_ns && ts <= end_ns; }
  bool operator==(const StepWindow&) const = default;
};

class RankReader;  // frame/run.h

// Of the command line, for modes.
struct ModeOptions {
  int64_t step_id = -1;        // -1: all
  OptionValues values;         // of Mode::options
  std::string result_folder;   // where results go
  std::string profiling_path;  // -d
  // Who reads ranks; null: this process does, all of them.
  columns::Own<RankReader*> reader = {};
};

// What a map wrote below the folder of results (Mode::writes_files).
struct ResultPath {
  std::string path;
};

struct RankInput {
  int32_t rank = 0;
  std::string path;                 // of the trace
  const recipes::DeviceView& view;  // with the tables of Mode::needs
  StepWindow window;                // of --step_id
  const ModeOptions& options;
  const recipes::TraceData& data() const { return *view.data; }
};

// A rank that is not imported yet.
struct RankFiles {
  int32_t rank = 0;
  const std::string& path;
  const ModeOptions& options;
};

struct RankPart {
  int32_t rank = 0;
  std::string path;
  Part part;
};

// Its content is made where it is written: it takes as much memory as the tables, which most forms
// have instead. Refers to what `reduce` was given.
struct TextFile {
  std::string name;
  std::function<std::string()> content;
};

// The result of a mode.
struct Outcome {
  std::vector<Table> tables;
  std::vector<TextFile> texts;                         // of Mode::texts
  std::shared_ptr<const std::vector<RankPart>> ranks;  // that the texts refer to
  bool prefers_text = false;                           // of those modes: the traces are texts, too
  std::vector<std::string> files;  // of Mode::writes_files: what lies in the folder of results
  std::vector<recipes::Finding> findings;
  std::vector<std::string> notices;  // a line each for who runs it
};

// A table as one workbook for each rank, which stands for it in the text form.
struct BookInfo {
  const TableInfo* table = nullptr;
  std::string_view file;                // without ".xlsx"; "{rank}" is the rank
  size_t rank_column = 0;               // of the table
  bool shows_rank = true;               // whether the workbook has it, too
  std::span<const double> widths;       // of its columns from the first on, in characters
  std::span<const size_t> merged = {};  // columns of it in which equal neighbours are merged
  bool is_header_high = false;
  // In cluster_analysis.db, too, a table for each rank, its number behind the name.
  bool splits_tables = false;
};

struct Mode {
  std::string_view name;
  std::string_view folder;  // of its text files
  std::string_view summary;
  std::span<const TableInfo* const> tables;  // all that it may write
  recipes::Needs needs;
  std::string_view wants;  // what a rank must hold, and the switch that records it
  std::span<const ModeOption* const> options = {};  // in addition to the common ones
  // Files that stand for the tables in the text form, next to cluster_analysis.db.
  std::span<const std::string_view> texts = {};
  std::span<const BookInfo> books = {};  // instead of csv files, in the text form
  // It has no tables: `map` makes files of each rank below ModeOptions::result_folder, which may be
  // as large as the trace, and keeps a ResultPath of each; those of an earlier run of that rank go.
  bool writes_files = false;
  bool takes_all_steps = false;  // --step_id has no effect, as in msprof-analyze
  // Whether the options can be done, before a rank is read. May be null.
  Status (*check)(const ModeOptions& options) = nullptr;
  // Takes what it needs from the files of the trace, so that it need not be imported; false where
  // they do not hold it, and `map` is called. May be null.
  Result<bool> (*map_files)(const RankFiles& rank, Part& part) = nullptr;
  Status (*map)(const RankInput& rank, Part& part);
  Status (*reduce)(std::span<const RankPart> ranks, const ModeOptions& options, Outcome& outcome);
};

std::span<const Mode* const> Modes();
// Null where there is none of that name.
const Mode* FindMode(std::string_view name);
// The same, and those that only modes ask for.
const Mode* FindModeOrPart(std::string_view name);

}  // namespace sonde::cluster
