// The list of recipes: analyses of one trace's store whose result is a table, declared once
// (store/result_info.h).
//
// Statements name them as tables; csv, xlsx, JSON, Parquet, the schema page and the page of the
// viewer come from the declaration. How to add one: docs/how-to/add-a-recipe.md. Pure, any thread.
// Errors: those of reading the store.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"
#include "recipes/recipe.h"
#include "store/made_tables.h"
#include "store/result_info.h"
#include "store/store.h"

namespace sonde::recipes {

std::span<const Recipe* const> Recipes();
// Null where there is none of that name.
const Recipe* FindRecipe(std::string_view name);
// Their results, in the same order.
std::span<const store::ResultInfo* const> Results();

// Reads what the recipe needs of the store and runs it.
Status RunRecipe(const Recipe& recipe, const store::Store& store, store::RowSink& rows);

// All results of the store, which must live as long, for Store::Offer. Those of a job:
// job/results.h.
std::shared_ptr<const store::MadeTables> MakeResults(const store::Store& store);

}  // namespace sonde::recipes
