// Calls of modules of the model, and which of them is open where an operator begins: by the
// threads' times, since only recordings of Sonde and Kineto's traces name the module of each
// operator.
//
//   path     of a recording of Sonde the name of the call; where the name is that of an instance
//            ("nn.Module: Linear_3") the names around it and its own, '.' between, without
//            "nn.Module: "
//   class    the argument of that name, else the instance without its number
// Units: nanoseconds. The trace must outlive the object. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

class ModuleCalls {
 public:
  explicit ModuleCalls(const TraceData& data);

  // Slices of the calls, in the order of slice_id.
  const std::vector<int32_t>& slices() const { return slices_; }
  size_t path_count() const { return paths_.size(); }
  std::string_view Path(int32_t path) const { return paths_[static_cast<size_t>(path)]; }
  // The number of a call's path; store::kNone for other slices.
  int32_t PathOf(int32_t slice_id) const;
  std::string_view ClassOf(int32_t slice_id) const;

  // For each slice the innermost call that is open on its thread when it begins, as its place in
  // slices(), else store::kNone. Negative numbers of slices have none.
  std::vector<int32_t> CallsAround(std::span<const int32_t> slice_ids) const;

 private:
  int32_t AddPath(const store::SliceRow& slice);

  const TraceData& data_;
  std::vector<int32_t> slices_;
  std::vector<std::string> paths_;
  std::unordered_map<std::string, int32_t> number_of_path_;
  std::unordered_map<int32_t, int32_t> path_of_slice_;
};

}  // namespace sonde::recipes
