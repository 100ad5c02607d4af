// What a recipe is: an analysis of one trace whose result is a table, declared once
// (store/result_info.h) in its folder. registry.h lists them.
//
//   extern const Recipe kGapsRecipe;
//   const Recipe kGapsRecipe = {&kGaps, Reads<store::DeviceTaskRow>(), &Run};
//
// Units: those of the declaration. Threads: `run` is pure, any.
#pragma once

#include "recipes/trace/device_view.h"
#include "recipes/trace/needs.h"
#include "store/result_info.h"

namespace sonde::recipes {

struct Recipe {
  const store::ResultInfo* result;
  Needs needs;
  // Reads nothing of the view but what `needs` names.
  void (*run)(const DeviceView& view, store::RowSink& rows);
  int version = 1;  // raised when its rows change, so that nobody keeps the old ones
};

}  // namespace sonde::recipes
