#include "recipes/registry.h"

#include <array>

#include "recipes/tables.h"

namespace sonde::recipes {
namespace {

// One line each.
constexpr std::array kRecipes = {
    Recipe{"step_trace", "where the time of each step went", &StepTraceTable},
    Recipe{"overlap_analysis", "computing, communication and free time of the device",
           &OverlapTable},
    Recipe{"op_statistic", "device time by type of operator", &OpStatisticTable},
    Recipe{"api_statistic", "calls of the host by name", &ApiStatisticTable},
    Recipe{"operator_details", "every operator with its times", &OperatorDetailsTable},
    Recipe{"kernel_details", "every device task and communication operation", &KernelDetailsTable},
    Recipe{"lane_depth", "the row of its lane on which a timeline draws each slice",
           &LaneDepthTable},
    Recipe{"operator_memory", "blocks of memory and who asked for them", &OperatorMemoryTable},
    Recipe{"memory_record", "every allocation and release with the totals after it",
           &MemoryRecordTable},
    Recipe{"memory_summary", "traffic, peaks and what was left, by device and component",
           &MemorySummaryTable},
    Recipe{"communication", "communication operations with times and traffic", &CommunicationTable},
    Recipe{"communication_matrix", "traffic between ranks by kind", &CommunicationMatrixTable},
    Recipe{"top_modules", "modules of the model by time", &TopModulesTable},
    Recipe{"serving_summary", "latencies, rates, batches and slow requests of a server",
           &ServingSummaryTable},
};

}  // namespace

std::span<const Recipe> Recipes() { return kRecipes; }

const Recipe* FindRecipe(std::string_view name) {
  for (const Recipe& recipe : kRecipes) {
    if (recipe.name == name) return &recipe;
  }
  return nullptr;
}

Result<store::ResultTable> RunRecipe(const Recipe& recipe, const store::Store& store) {
  SONDE_ASSIGN_OR_RETURN(const TraceData data, TraceData::Load(store, /*threads=*/0));
  return recipe.run(DeviceView::Make(data));
}

}  // namespace sonde::recipes
