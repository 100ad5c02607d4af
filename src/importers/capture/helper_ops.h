// Which operators only help others: views, allocations, copies and fills.
//
// Where the CPU is the device there are no kernels to see, only operators inside operators. Many
// that compute call helpers first (aten::addmm expands and copies its bias, then multiplies by
// itself), so "the innermost operator" would name the copy and lose the product. A computing
// operator therefore counts as one piece of work together with the helpers inside it.
#pragma once

#include <string_view>

namespace sonde::importers::capture_import {

// `name` with or without a library prefix ("aten::view").
bool IsHelperOp(std::string_view name);

}  // namespace sonde::importers::capture_import
