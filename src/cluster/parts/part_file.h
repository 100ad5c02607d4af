// What a mode keeps of a pack of ranks, as a file: a row a rank, a column a list of rows
// (frame/part.h), as Parquet that any reader shows.
//
// The facts beside the columns say what it was made from: mode, options, build of the program.
// Files appear complete or not at all. One thread at a time. Errors: Status; a file of another
// build of the program is kFailedPrecondition.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cluster/frame/mode.h"
#include "cluster/frame/run.h"
#include "store/nested_file.h"

namespace sonde::cluster {

// A rank of a pack. Its rows are in `part`; where they need the waits of all ranks first there are
// its collectives instead (frame/waits.h).
struct PackedRank {
  int32_t rank = 0;
  int32_t run = 0;
  int32_t trace = 0;
  std::string path;
  std::string importer;
  bool is_pending = false;
  int64_t code = 0;          // of its failure, 0: none
  std::string failure = {};  // then there are no rows
};

struct PartFacts {
  std::string mode;
  std::string options;    // OptionsText
  bool is_waits = false;  // of a shuffle (frame/waits.h)
  int32_t world = 0;      // ranks that the job had, 0: not known
};

struct PartFile {
  PartFacts facts;
  std::vector<PackedRank> ranks;
  std::vector<Part> parts;           // by rank
  std::vector<std::string> notices;  // for who reduces
  bool HasFailures() const;
  bool HasPending() const;
};

// Options on which what is kept of a rank may depend, as JSON.
std::string OptionsText(const ModeOptions& options);

// "0.1.0 (build 12ab...)": parts of different programs do not go together.
std::string ProgramOfThis();

class PartFiles {
 public:
  static Result<PartFiles> Open();
  Status Write(const std::string& path, const PartFile& file);
  // `ranks`: those that are wanted, by number; empty: all.
  Result<PartFile> Read(const std::string& path, const std::vector<int32_t>& ranks = {});

 private:
  explicit PartFiles(store::NestedFiles files) : files_(std::move(files)) {}
  store::NestedFiles files_;
};

// Rank and importer of a row, to read it where its files are.
Rank RankOf(const PackedRank& packed);

}  // namespace sonde::cluster
