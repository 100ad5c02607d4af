#include "precision/mapping/pairing_setup.h"

#include <memory>

#include "base/strings.h"
#include "precision/compare/compare.h"
#include "precision/mapping/layer_mapping.h"
#include "precision/mapping/name_mapping.h"

namespace sonde::precision {
namespace {

// The rules for names that a file lists one by one.
void UseDataMapping(std::shared_ptr<const DataMapping> data, PairingOptions* options) {
  options->renumber_backward = false;
  options->dtype_gate = false;
  options->map_key = [data = std::move(data)](std::string_view key) { return data->Map(key); };
}

Status UseLayers(const std::string& path, const DumpFile& target, const ConstructFile& target_tree,
                 const DumpFile& golden, const ConstructFile& golden_tree, PairingSetup* out) {
  LayerMapping layers;
  if (!path.empty()) {
    SONDE_ASSIGN_OR_RETURN(layers, LayerMapping::Load(path));
  }
  out->data_pairs =
      DataPairsOf(layers.MatchCalls(target, target_tree, golden, golden_tree), target, golden);
  auto data = std::make_shared<DataMapping>();
  for (const auto& [from, to] : out->data_pairs) data->Add(from, to);
  UseDataMapping(std::move(data), &out->options);
  return Status::Ok();
}

Status UseNames(const MappingOptions& mapping, PairingSetup* out) {
  auto cells = std::make_shared<CellMapping>();
  auto apis = std::make_shared<ApiMapping>();
  if (mapping.cells && !mapping.cells->empty()) {
    SONDE_ASSIGN_OR_RETURN(*cells, CellMapping::Load(*mapping.cells));
  }
  if (mapping.apis && !mapping.apis->empty()) {
    SONDE_ASSIGN_OR_RETURN(*apis, ApiMapping::Load(*mapping.apis));
    if (apis->skipped_items() > 0) {
      out->notes.push_back(base::Concat(*mapping.apis, ": ", std::to_string(apis->skipped_items()),
                                        " items skipped, their lists differ in length"));
    }
  }
  // The two programs may call an API of one name in different places, so positions do not agree;
  // numbers do.
  out->options.renumber_backward = false;
  out->options.map_key = [cells, apis, map_cells = mapping.cells.has_value(),
                          map_apis = mapping.apis.has_value()](std::string_view key) {
    const std::string cell = map_cells ? cells->Map(key) : std::string(key);
    return map_apis && !IsModuleName(cell) ? apis->Map(cell) : cell;
  };
  return Status::Ok();
}

}  // namespace

Result<PairingSetup> SetUpPairing(const MappingOptions& mapping, const DumpFile& target,
                                  const ConstructFile& target_tree, const DumpFile& golden,
                                  const ConstructFile& golden_tree) {
  PairingSetup out;
  SONDE_ASSIGN_OR_RETURN(out.options.cross_framework, DecideCrossFramework(target, golden));
  out.options.renumber_backward = target.level() != "debug";
  if (mapping.apis && !out.options.cross_framework) {
    return base::InvalidArgumentError(
        "-am maps MindSpore APIs to PyTorch ones, but both dumps come from one framework");
  }
  if (mapping.layers) {
    SONDE_RETURN_IF_ERROR(
        UseLayers(*mapping.layers, target, target_tree, golden, golden_tree, &out));
  } else if (!mapping.data.empty()) {
    SONDE_ASSIGN_OR_RETURN(DataMapping data, DataMapping::Load(mapping.data));
    UseDataMapping(std::make_shared<DataMapping>(std::move(data)), &out.options);
  } else if (mapping.cells || mapping.apis) {
    SONDE_RETURN_IF_ERROR(UseNames(mapping, &out));
  }
  return out;
}

}  // namespace sonde::precision
