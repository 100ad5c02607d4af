#include "precision/graph/overflow.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"

namespace sonde::precision {
namespace {

// An argument or result by its place: ".input.0", ".input.out", ".output.0.1".
struct OverflowPlace {
  bool known = false;
  int64_t index = -1;     // positional; -1: by name
  std::string_view name;  // by name
  bool nested = false;    // inside a list or dict
};

OverflowPlace PlaceOf(const DumpRow& row, const DumpApi& api) {
  OverflowPlace out;
  if (!row.name.starts_with(api.name) || row.name.size() <= api.name.size()) return out;
  std::string_view rest = row.name.substr(api.name.size() + 1);
  const size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return out;
  rest = rest.substr(dot + 1);
  const size_t end = rest.find('.');
  out.known = true;
  out.nested = end != std::string_view::npos;
  out.name = rest.substr(0, end);
  out.index = base::ParseInt64(out.name).value_or(-1);
  return out;
}

// Values that a call may leave undefined: first argument, argument by name, first result.
struct Undefined {
  std::string_view api;
  bool first_input = false;
  std::string_view named_input;
  bool first_output = false;
};
constexpr std::array<Undefined, 9> kUndefined = {{
    {"torch.empty", false, "", true},
    {"torch.empty_like", false, "", true},
    {"torch.empty_strided", false, "", true},
    {"distributed.recv", true, "tensor", false},
    {"distributed.all_gather", true, "", false},
    {"distributed.reduce_scatter", true, "output", false},
    {"distributed._reduce_scatter_base", true, "", false},
    {"distributed.all_gather_into_tensor", true, "", false},
    {"distributed.reduce_scatter_tensor", true, "", false},
}};
constexpr Undefined kMaskedFill = {"tensor.masked_fill_", true, "", false};

const Undefined* FindUndefined(std::string_view api) {
  const size_t first = api.find('.');
  const size_t second = first == std::string_view::npos ? first : api.find('.', first + 1);
  const std::string name = base::ToLower(api.substr(0, second));
  if (name == kMaskedFill.api) return &kMaskedFill;
  const auto* const found = std::find_if(kUndefined.begin(), kUndefined.end(),
                                         [&name](const Undefined& u) { return u.api == name; });
  return found == kUndefined.end() ? nullptr : found;
}

// A dumped text counts, too: "inf" is what some tools write.
bool IsOverflowValue(const Value& value) {
  if (value.IsNanOrInfinite()) return true;
  if (value.kind() != Value::Kind::kText) return false;
  const std::string text = base::ToLower(value.text());
  return text == "inf" || text == "-inf" || text == "nan";
}

bool IsOverflowValue(const DumpRow& row) {
  // A scalar's own value is no statistic of a tensor.
  return row.kind == LeafKind::kTensor &&
         (IsOverflowValue(row.stats[kMax]) || IsOverflowValue(row.stats[kMin]) ||
          IsOverflowValue(row.stats[kMean]));
}

// All that is bad lies where the call may leave it undefined.
bool IsExcused(const Undefined& rule, const DumpRow& row, const OverflowPlace& place) {
  if (row.section == Section::kOutput) return !rule.first_output || place.index == 0;
  if (place.index >= 0) return !rule.first_input || place.index == 0;
  return rule.named_input.empty() || place.name == rule.named_input;
}

}  // namespace

std::string_view OverflowText(Overflow level) {
  static constexpr std::string_view kTexts[] = {"", "medium", "high", "critical"};
  return kTexts[static_cast<size_t>(level)];
}

Overflow OverflowOf(const DumpFile& dump, const DumpApi& api) {
  constexpr double kGrowth = 100;
  const Undefined* const rule = FindUndefined(api.name);
  bool bad[2] = {false, false};  // input, output
  bool excused = rule != nullptr;
  double norm[2] = {-1, -1};
  for (uint32_t r = api.first_row; r < api.first_row + api.row_count; ++r) {
    const DumpRow& row = dump.rows()[r];
    if (row.section != Section::kInput && row.section != Section::kOutput) continue;
    const size_t side = row.section == Section::kOutput ? 1 : 0;
    const OverflowPlace place = PlaceOf(row, api);
    if (IsOverflowValue(row)) {
      bad[side] = true;
      excused = excused && (place.nested || IsExcused(*rule, row, place));
    }
    const Value& value = row.stats[kNorm];
    const bool counts = row.kind == LeafKind::kTensor && !place.nested && value.IsNumber();
    if (counts && !value.IsNan()) norm[side] = std::max(norm[side], value.AsDouble());
  }
  if (excused) return Overflow::kNone;
  if (bad[1]) return bad[0] ? Overflow::kHigh : Overflow::kCritical;
  if (bad[0]) return Overflow::kMedium;
  if (norm[0] < 0 || norm[1] < 0) return Overflow::kNone;
  const bool grows = norm[0] == 0 ? norm[1] > kGrowth : norm[1] / norm[0] > kGrowth;
  return grows ? Overflow::kHigh : Overflow::kNone;
}

std::vector<Overflow> CheckOverflow(const Graph& graph) {
  const DumpFile& dump = *graph.dump().dump;
  std::vector<Overflow> levels(graph.nodes().size(), Overflow::kNone);
  for (size_t i = 0; i < levels.size(); ++i) {
    const int32_t api = graph.nodes()[i].api;
    if (api != kNoNode) levels[i] = OverflowOf(dump, dump.apis()[static_cast<size_t>(api)]);
  }
  return levels;
}

}  // namespace sonde::precision
