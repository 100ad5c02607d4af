#include "precision/analysis/not_finite.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "precision/cause/roles.h"

namespace sonde::precision {
namespace {

constexpr std::array<std::string_view, 12> kMaskMakers = {
    "full", "full_like", "new_full", "masked_fill", "masked_fill_", "where",
    "triu", "tril",      "triu_",    "tril_",       "fill_",        "__setitem__"};

// What of a tensor is not finite.
struct NotFiniteParts {
  bool nan = false;
  bool plus = false;
  bool minus = false;

  bool Any() const { return nan || plus || minus; }
  void Add(const NotFiniteParts& other) {
    nan = nan || other.nan;
    plus = plus || other.plus;
    minus = minus || other.minus;
  }
};

// Numbers, and the texts that some tools write.
void AddValue(const Value& value, NotFiniteParts* parts) {
  if (value.IsNumber()) {
    if (!value.IsNanOrInfinite()) return;
    if (value.IsNan()) {
      parts->nan = true;
    } else {
      (value.AsDouble() > 0 ? parts->plus : parts->minus) = true;
    }
    return;
  }
  if (value.kind() != Value::Kind::kText) return;
  const std::string text = base::ToLower(value.text());
  parts->nan = parts->nan || text == "nan";
  parts->plus = parts->plus || text == "inf" || text == "infinity";
  parts->minus = parts->minus || text == "-inf" || text == "-infinity";
}

NotFiniteParts PartsOf(const DumpRow& row) {
  NotFiniteParts out;
  if (row.kind != LeafKind::kTensor) return out;
  AddValue(row.stats[kMax], &out);
  AddValue(row.stats[kMin], &out);
  return out;
}

bool MakesMasks(std::string_view api) {
  if (IsModuleName(api)) return false;
  const size_t dot = api.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view rest = api.substr(dot + 1);
  const std::string_view name = rest.substr(0, rest.find('.'));
  return std::find(kMaskMakers.begin(), kMaskMakers.end(), name) != kMaskMakers.end();
}

struct CallParts {
  NotFiniteParts inputs;
  NotFiniteParts outputs;
  NotFiniteParts weights;
  const DumpRow* output = nullptr;
  const DumpRow* weight = nullptr;
};

CallParts PartsOf(const DumpFile& dump, const DumpApi& api) {
  CallParts out;
  for (uint32_t r = api.first_row; r < api.first_row + api.row_count; ++r) {
    const DumpRow& row = dump.rows()[r];
    const NotFiniteParts parts = PartsOf(row);
    if (!parts.Any() || IsOverwrittenPlace(row, api.name)) continue;
    if (row.section == Section::kOutput) {
      if (!out.outputs.Any()) out.output = &row;
      out.outputs.Add(parts);
    } else if (IsParameterPlace(row, api.name)) {
      if (!out.weights.Any()) out.weight = &row;
      out.weights.Add(parts);
    } else if (row.section == Section::kInput) {
      out.inputs.Add(parts);
    }
  }
  return out;
}

}  // namespace

NotFinitePlace NotFiniteOf(const DumpFile& dump, const DumpApi& api) {
  if (IsUninitialisedApi(api.name) || api.name.find("Torch.fill") != std::string_view::npos) {
    return {};
  }
  const CallParts parts = PartsOf(dump, api);
  if (parts.weights.Any() && !parts.inputs.nan && !parts.inputs.plus) {
    return {NotFinite::kInWeight, parts.weight};
  }
  if (!parts.outputs.Any()) return {};
  if (!parts.outputs.nan && !parts.outputs.plus && MakesMasks(api.name)) return {};
  // Of a mask of both only the infinities go on.
  if (!parts.outputs.nan && !parts.outputs.plus && parts.inputs.minus) return {};
  const bool before = parts.inputs.nan || parts.inputs.plus;
  return {before ? NotFinite::kBefore : NotFinite::kBegins, parts.output};
}

}  // namespace sonde::precision
