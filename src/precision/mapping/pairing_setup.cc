#include "precision/mapping/pairing_setup.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_set>

#include "base/count_of.h"
#include "base/strings.h"
#include "precision/compare/compare.h"
#include "precision/mapping/cell_calls.h"
#include "precision/mapping/layer_mapping.h"
#include "precision/mapping/name_mapping.h"
#include "precision/mapping/parameter_pairs.h"

namespace sonde::precision {
namespace {

// Call numbers do not count: what a line leads to may have been called less often there.
std::unordered_set<std::string> NamesOf(const DumpFile& dump) {
  std::unordered_set<std::string> names;
  for (const DumpRow& row : dump.rows()) names.insert(WithoutCallNumber(row.name));
  return names;
}

// `map(name, &used)` gives the golden name and the indexes of `lines` that led to it.
template <class Map>
void MarkUse(const std::vector<std::string>& lines, const DumpFile& target, const DumpFile& golden,
             const Map& map, MappingUse* use) {
  if (lines.empty()) return;
  for (const std::string& line : lines) use->Mark(line, false, false);
  const std::unordered_set<std::string> names = NamesOf(golden);
  std::vector<size_t> used;
  for (const DumpRow& row : target.rows()) {
    used.clear();
    const std::string mapped = map(row.name, &used);
    if (used.empty()) continue;
    const bool meets = mapped == "N/A" || names.contains(WithoutCallNumber(mapped));
    for (const size_t line : used) use->Mark(lines[line], true, meets);
  }
}

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
  out->data_pairs = DataPairsOf(
      layers.MatchCalls(target, target_tree, golden, golden_tree, &out->use), target, golden);
  auto data = std::make_shared<DataMapping>();
  for (const auto& [from, to] : out->data_pairs) data->Add(from, to);
  UseDataMapping(std::move(data), &out->options);
  return Status::Ok();
}

bool HasCells(const DumpFile& dump) {
  return std::any_of(dump.rows().begin(), dump.rows().end(),
                     [](const DumpRow& row) { return row.name.starts_with("Cell."); });
}

bool IsParameterName(std::string_view name) {
  return name.find(".parameters") != std::string_view::npos;
}

// Where cells are mapped: names with the number that the call has in the golden dump, and with the
// name that the parameter has there.
std::function<std::string(std::string_view)> WithinCells(
    const std::function<std::string(std::string_view)>& map_name,
    std::shared_ptr<const CellCalls> calls, const DumpFile& golden) {
  auto parameters = std::make_shared<std::unordered_set<std::string>>();
  for (const DumpRow& row : golden.rows()) {
    if (IsParameterName(row.name)) parameters->emplace(row.name);
  }
  return [map_name, calls = std::move(calls),
          parameters = std::move(parameters)](std::string_view key) {
    std::string mapped = map_name(key);
    if (!IsModuleName(mapped)) return calls->WithGoldenNumber(key, std::move(mapped));
    if (!IsParameterName(mapped) || parameters->contains(mapped)) return mapped;
    const std::string usual = UsualParameterSuffix(mapped);
    return parameters->contains(usual) ? usual : mapped;
  };
}

Status UseNames(const MappingOptions& mapping, const DumpFile& target,
                const ConstructFile& target_tree, const DumpFile& golden,
                const ConstructFile& golden_tree, PairingSetup* out) {
  auto cells = std::make_shared<CellMapping>();
  auto apis = std::make_shared<ApiMapping>();
  if (mapping.cells && !mapping.cells->empty()) {
    SONDE_ASSIGN_OR_RETURN(*cells, CellMapping::Load(*mapping.cells));
  }
  if (mapping.apis && !mapping.apis->empty()) {
    SONDE_ASSIGN_OR_RETURN(*apis, ApiMapping::Load(*mapping.apis));
    if (apis->skipped_items() > 0) {
      out->notes.push_back(base::Concat(*mapping.apis, ": ",
                                        base::CountOf(apis->skipped_items(), "item"),
                                        " skipped: the lists differ in length"));
    }
  }
  // The two programs may call an API of one name in different places, so positions do not agree:
  // without cells numbers do.
  out->options.renumber_backward = false;
  out->options.map_key = [cells, apis, map_cells = mapping.cells.has_value(),
                          map_apis = mapping.apis.has_value()](std::string_view key) {
    const std::string cell = map_cells ? cells->Map(key) : std::string(key);
    return map_apis && !IsModuleName(cell) ? apis->Map(cell) : cell;
  };
  if (mapping.cells) {
    const auto calls = std::make_shared<const CellCalls>(target, target_tree, golden, golden_tree,
                                                         out->options.map_key);
    if (const std::string lone = calls->LoneCalls(); !lone.empty()) {
      out->notes.push_back(base::Concat("-cm: ", lone));
    }
    out->options.map_key = WithinCells(out->options.map_key, calls, golden);
  }
  const auto& map_key = out->options.map_key;
  const auto by_cells = [&](std::string_view name, std::vector<size_t>* used) {
    cells->Map(name, used);
    return map_key(name);
  };
  MarkUse(cells->lines(), target, golden, by_cells, &out->use);
  const auto by_apis = [&](std::string_view name, std::vector<size_t>* used) {
    const std::string cell = mapping.cells ? cells->Map(name) : std::string(name);
    return IsModuleName(cell) ? cell : apis->Map(cell, used);
  };
  MarkUse(apis->lines(), target, golden, by_apis, &out->use);
  if (mapping.cells && mapping.cells->empty() && !HasCells(target)) {
    out->notes.emplace_back(
        "-cm without a file leads from cells to modules: the target dump has no cells");
  }
  return Status::Ok();
}

}  // namespace

Result<PairingSetup> SetUpPairing(const MappingOptions& mapping, const DumpFile& target,
                                  const ConstructFile& target_tree, const DumpFile& golden,
                                  const ConstructFile& golden_tree) {
  PairingSetup out;
  SONDE_ASSIGN_OR_RETURN(out.options.cross_framework, DecideCrossFramework(target, golden));
  out.options.renumber_backward = target.level() != "debug";
  const bool has_names = mapping.cells || mapping.apis;
  if (mapping.layers && (has_names || !mapping.data.empty())) {
    out.notes.emplace_back("-cm, -am and -dm have no effect with -lm");
  } else if (has_names && !mapping.data.empty()) {
    out.notes.emplace_back("-cm and -am have no effect with -dm");
  }
  if (mapping.apis && !out.options.cross_framework) {
    return base::InvalidArgumentError(
        "-am maps MindSpore APIs to PyTorch ones, but both dumps come from one framework");
  }
  if (mapping.layers) {
    SONDE_RETURN_IF_ERROR(
        UseLayers(*mapping.layers, target, target_tree, golden, golden_tree, &out));
  } else if (!mapping.data.empty()) {
    SONDE_ASSIGN_OR_RETURN(DataMapping data, DataMapping::Load(mapping.data));
    MarkUse(
        data.lines(), target, golden,
        [&data](std::string_view name, std::vector<size_t>* used) { return data.Map(name, used); },
        &out.use);
    UseDataMapping(std::make_shared<DataMapping>(std::move(data)), &out.options);
  } else if (mapping.cells || mapping.apis) {
    SONDE_RETURN_IF_ERROR(UseNames(mapping, target, target_tree, golden, golden_tree, &out));
  }
  return out;
}

}  // namespace sonde::precision
