// Parts of this folder: one file a form.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "cluster/delivered/delivered.h"
#include "importers/ascend/span.h"

namespace sonde::cluster {

Status ReadAnalysisDb(const importers::AscendSpan& span, Delivered& delivered);
Status ReadTexts(const importers::AscendSpan& span, Delivered& delivered);
// Of them the steps alone.
Status ReadStepsOfDb(const importers::AscendSpan& span, Delivered& delivered);
Status ReadStepsOfTexts(const importers::AscendSpan& span, Delivered& delivered);
// Of profiler_metadata.json or of META_DATA: groups and sizes that are not known yet.
void TakeGroups(std::string_view json, Delivered& delivered);
void TakeSizes(std::string_view json, Delivered& delivered);

}  // namespace sonde::cluster
