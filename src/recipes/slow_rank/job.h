// The ranks of a job as the analysis of causes looks at them: those with the same role, their
// steps side by side.
//
//   role     ranks of one place in the pipeline, where groups give it; else of the same way of
//            sending and receiving. Of these, those that run the same kinds of kernels (by half of
//            the names that either has)
//   steps    those that all ranks of a role have, by number
// Refers to the work of the ranks. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/slow_rank/work.h"

namespace sonde::recipes::slow_rank {

class RankOfJob {
 public:
  explicit RankOfJob(const RankWork& work) : work_(&work) {}
  int32_t rank() const { return static_cast<int32_t>(work_->rank); }
  int64_t trace() const { return work_->trace; }
  template <class Row>
  const std::vector<Row>& Rows() const {
    return work_->Rows<Row>();
  }
  // "" for -1.
  std::string_view Text(int32_t place) const { return work_->texts.At(place); }

 private:
  const RankWork* work_;
};

// The own work of a rank in a step, without single long calls (outliers.h) and without the time in
// which other programs had its processor; that may be the reason of a long call, and is not counted
// twice.
struct StepParts {
  int64_t compute_ns = 0;
  int64_t copy_ns = 0;
  int64_t late_ns = 0;
  int64_t idle_ns = 0;      // though launched
  int64_t unserved_ns = 0;  // left out, besides the long calls
  int64_t own_ns() const { return compute_ns + copy_ns + late_ns + idle_ns; }
};

struct Role {
  std::vector<RankOfJob> ranks;
  std::vector<int64_t> steps;                // their numbers
  std::vector<std::vector<int32_t>> places;  // [rank][step]: of the rank's WorkStep
  std::vector<std::vector<int64_t>>
      outliers;  // [rank][WorkTasks]: ns that do not count (outliers.h)
  std::vector<std::vector<int64_t>> step_outliers;  // [rank][WorkStep]: their sum
  StepParts PartsOf(size_t rank, size_t step) const;
  const WorkStep& StepOf(size_t rank, size_t step) const {
    return ranks[rank].Rows<WorkStep>()[static_cast<size_t>(places[rank][step])];
  }
};

// Roles of one rank among them: nothing can be compared there.
std::vector<Role> RolesOf(std::span<const RankWork* const> ranks);

}  // namespace sonde::recipes::slow_rank
