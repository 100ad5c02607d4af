// libFuzzer target: bytes as dump.json, construct.json and stack.json, read, built into a graph,
// judged and printed. The first byte sets where the input is cut into the three.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "precision/compare/compare.h"
#include "precision/dump/dump_folder.h"
#include "precision/dump/pretty_json.h"
#include "precision/graph/graph.h"
#include "precision/graph/node_json.h"
#include "precision/graph/overflow.h"

namespace {

using namespace sonde::precision;  // NOLINT(google-build-using-namespace): one short program

void Use(const DumpFolder& folder) {
  const Comparison comparison =
      PairAndCompare(*folder.dump, *folder.dump, Mode::kStatistics, PairingOptions());
  auto graph = Graph::Build(folder, "fuzz");
  if (!graph.ok()) return;
  const NodeMatches matches = MatchGraphs(*graph, *graph, {.fuzzy = true});
  const NodeResults results =
      CompareGraphs(*graph, *graph, matches, Mode::kStatistics, false, nullptr);
  CheckOverflow(*graph);
  for (const GraphNode& node : graph->nodes()) {
    std::string data;
    AppendNodeData(*folder.dump, node.api, {false, true, &results}, &data);
    AppendNodeData(*folder.dump, node.api, {true, false, &results}, &data);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t first = text.size() * (data[0] % 16) / 16;
  const size_t second = first + (text.size() - first) * (data[0] / 16) / 16;
  PrettyJson(text, 2);
  auto construct = ConstructFile::Parse(text.substr(0, first), "construct.json");
  auto stack = StackFile::Parse(text.substr(first, second - first), "stack.json");
  auto dump = DumpFile::Parse(text.substr(second), "dump.json");
  if (!dump.ok()) return 0;
  DumpFolder folder;
  folder.dump = std::move(*dump);
  folder.construct = construct.ok() ? std::move(*construct)
                                    : std::move(*ConstructFile::Parse("{}", "construct.json"));
  folder.stack = stack.ok() ? std::move(*stack) : std::move(*StackFile::Parse("{}", "stack.json"));
  Use(folder);
  return 0;
}
