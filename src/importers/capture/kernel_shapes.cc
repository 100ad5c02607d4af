#include "importers/capture/kernel_shapes.h"

#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "base/host/json.h"
#include "base/strings.h"
#include "capture/mindspore_types.h"
#include "importers/capture/arguments.h"
#include "importers/capture/issues.h"

namespace sonde::importers::capture_import {
namespace {

using base::JsonValue;

std::string TextOrNothing(const JsonValue& value) {
  return value.IsString() ? value.AsString().value_or("") : std::string();
}

// "Float32;Int64" -> "float;long int".
std::string CppTypes(std::string_view types) {
  std::vector<std::string_view> out;
  for (const std::string_view type : base::Split(types, ';')) {
    out.push_back(ScalarTypeName(capture::MindsporeTypeCode(type)));
  }
  return types.empty() ? std::string() : base::Join(out, ";");
}

KernelSide SideAt(const JsonValue& kind, size_t first) {
  return {TextOrNothing(kind[first]), CppTypes(TextOrNothing(kind[first + 1])),
          TextOrNothing(kind[first + 2])};
}

bool IsSame(const KernelShape& a, const KernelShape& b) {
  const auto fields = [](const KernelShape& shape) {
    return std::tie(shape.inputs.shapes, shape.inputs.types, shape.inputs.formats,
                    shape.outputs.shapes, shape.outputs.types, shape.outputs.formats);
  };
  return fields(a) == fields(b);
}

}  // namespace

void KernelShapes::Read(const Dictionary& dictionary, store::ImportIssues& issues) {
  for (const MetadataEntry& entry : dictionary.metadata) {
    if (!dictionary.Name(entry.key).starts_with(capture::kKernelShapesKey)) continue;
    const auto document = base::JsonDocument::Parse(entry.json, "a table of kernels");
    if (!document.ok() || !document->root()["kernels"].IsObject()) {
      issues.Add(kBadMetadata, "");
      continue;
    }
    std::vector<KernelShape> kinds;
    for (const JsonValue& kind : document->root()["kinds"].Elements()) {
      kinds.push_back({SideAt(kind, 0), SideAt(kind, 3)});
    }
    for (const auto& [scope, number] : document->root()["kernels"].Members()) {
      const int64_t index = number.AsInt().value_or(-1);
      if (index < 0 || static_cast<size_t>(index) >= kinds.size()) {
        issues.Add(kBadMetadata, "");
        continue;
      }
      const KernelShape& shape = kinds[static_cast<size_t>(index)];
      const auto [found, is_new] = shapes_.emplace(scope, shape);
      if (!is_new && found->second && !IsSame(*found->second, shape)) found->second.reset();
    }
  }
}

const KernelShape* KernelShapes::Of(std::string_view scope) const {
  const auto found = shapes_.find(scope);
  return found == shapes_.end() || !found->second ? nullptr : &*found->second;
}

}  // namespace sonde::importers::capture_import
