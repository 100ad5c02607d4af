// A recipe: an analysis of one trace whose result is a table, declared once
// (store/result_info.h) in its folder. registry.h lists them.
//
//   extern const Recipe kGapsRecipe;
//   const Recipe kGapsRecipe = {&kGaps, Reads<store::DeviceTaskRow>(), &Run};
//
// Units: those of the declaration. Threads: `run` is pure, any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "recipes/trace/device_view.h"
#include "recipes/trace/needs.h"
#include "store/result_info.h"

namespace sonde::recipes {

// Identity of a trace in its job (job/job.h).
struct TraceNumbers {
  int32_t trace = 0;
  int32_t run = 0;
  int32_t rank = -1;
};

// Rows of the same result about several traces together: each is taken, then they are written.
class Together {
 public:
  // The sink of rows that belong to this trace, until the next call.
  using RowsOf = std::function<store::RowSink&(int32_t trace)>;
  virtual ~Together() = default;
  // In any order, one call at a time. The view is gone afterwards.
  virtual void Take(const DeviceView& view, const TraceNumbers& numbers) = 0;
  virtual void Finish(const RowsOf& rows) = 0;
};

struct Recipe {
  const store::ResultInfo* result;
  Needs needs;
  // Reads nothing of the view but what `needs` names.
  void (*run)(const DeviceView& view, store::RowSink& rows);
  // Null: each trace is analysed by itself. Else what a job adds, and what Take reads.
  std::unique_ptr<Together> (*together)() = nullptr;
  Needs needs_together = Reads<>();
};

}  // namespace sonde::recipes
