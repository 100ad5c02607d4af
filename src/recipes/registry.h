// The list of recipes: analyses of one rank's store whose result is a table.
//
// The exporters take the typed functions of the folders; this list is for those who want any recipe
// by name. A result has the units in its column names. How to add one: docs/how-to/add-a-recipe.md.
// Pure, any thread. Errors: those of reading the store.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "recipes/trace/device_view.h"
#include "store/result_table.h"
#include "store/store.h"

namespace sonde::recipes {

struct Recipe {
  std::string_view name;
  std::string_view summary;  // one line for people
  store::ResultTable (*run)(const DeviceView& view);
};

std::span<const Recipe> Recipes();
// Null where there is none of that name.
const Recipe* FindRecipe(std::string_view name);

// Reads the store and runs one recipe.
Result<store::ResultTable> RunRecipe(const Recipe& recipe, const store::Store& store);

}  // namespace sonde::recipes
