// The JSON texts inside the graph database: all values are texts, all characters ASCII.
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "precision/graph/node_result.h"

namespace sonde::precision {

// In quotes, other characters than ASCII as \uXXXX.
void AppendAsciiJson(std::string_view text, std::string* out);
std::string JsonList(const std::vector<std::string>& texts);

struct NodeDataOptions {
  bool output = false;
  bool checksums = false;
  const NodeResults* results = nullptr;  // null: the dump's own fields only
};

// Appends input_data or output_data of a call: every parameter of these sections with its fields,
// followed by the results of the comparison.
void AppendNodeData(const DumpFile& dump, int32_t api, const NodeDataOptions& options,
                    std::string* out);

}  // namespace sonde::precision
