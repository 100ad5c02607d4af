// `-da`: the first call that differs over all ranks of a step, in the reference's files.
//
// Ownership: keeps the dumps of all ranks until the end. Threads: one at a time. Errors: a file
// that cannot be written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "precision/analysis/first_node.h"
#include "precision/cause/first_cause.h"
#include "precision/compare/comparison.h"
#include "precision/dump/dump_folder.h"

namespace sonde::precision {

struct RankOfStep {
  std::string folder;  // of the step, below the output path
  int64_t rank = 0;
  std::string json_path;  // its calls are written there
};

class AnalysisOverRanks {
 public:
  // `by_reference`: its thresholds decide which call differs, and not the cause.
  AnalysisOverRanks(std::string output_path, bool by_reference)
      : output_path_(std::move(output_path)), by_reference_(by_reference) {}

  // `cause` may still change until Write(), and must live as long.
  Status Keep(const RankOfStep& place, DumpPair pair, Comparison comparison,
              const FirstCause* cause);
  // Appends a line for each finding and the files of the steps.
  Status Write(std::vector<std::string>* lines, std::vector<std::string>* files) const;

 private:
  struct Kept {
    DumpPair pair;
    Comparison comparison;
    RankTimeline timeline;
    const FirstCause* cause = nullptr;
  };

  static RankTimeline TimelineByCause(const Kept& rank);

  std::string output_path_;
  bool by_reference_;
  std::map<std::string, std::vector<Kept>> kept_;  // by step folder
};

}  // namespace sonde::precision
