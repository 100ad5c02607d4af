#include "recipes/compilation/compilation.h"

#include <algorithm>
#include <string_view>

#include "base/host/json.h"
#include "base/strings.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

constexpr std::string_view kCompilationKey = "compilation:";

int64_t CompilationNumber(const base::JsonValue& fact, std::string_view key) {
  const base::JsonValue value = fact[key];
  return value.IsNumber() ? std::max<int64_t>(value.AsInt().value_or(0), 0) : 0;
}

std::string_view CompilationText(const base::JsonValue& value, CompilationTexts& texts) {
  return texts.emplace_back(value.IsString() ? value.AsString().value_or("") : "");
}

CompilationRow RowOfCompilation(const base::JsonValue& fact, CompilationTexts& texts) {
  CompilationRow row;
  const auto number = [&](std::string_view key) { return CompilationNumber(fact, key); };
  const auto text = [&](std::string_view key) { return CompilationText(fact[key], texts); };
  row.compile_id = text("compile_id");
  row.function = text("function");
  row.file = text("file");
  row.line = number("line");
  row.start_ns = number("begin_ns");
  row.dur_ns = number("dur_ns");
  row.tracing_ns = number("tracing_ns");
  row.aot_ns = number("aot_ns");
  row.inductor_ns = number("inductor_ns");
  row.native_ns = number("native_ns");
  row.guards_ns = number("guards_ns");
  row.cache = text("cache");
  row.reason = text("reason");
  row.guards = number("guards");
  row.operators = number("operators");
  row.is_backward = fact["backward"].IsBool() && fact["backward"].AsBool().value_or(false) ? 1 : 0;
  row.error = text("error");
  std::vector<std::string_view> reasons;
  for (const base::JsonValue& reason : fact["breaks"].Elements()) {
    reasons.push_back(CompilationText(reason, texts));
  }
  row.breaks = static_cast<int64_t>(reasons.size());
  row.break_reasons = texts.emplace_back(base::Join(reasons, "; "));
  return row;
}

int64_t StepAt(const TraceData& data, int64_t ts) {
  int64_t step_id = -1;
  for (const store::StepRow& step : data.steps) {
    const int64_t end = step.dur < 0 ? INT64_MAX : step.ts + step.dur;
    if (step.ts <= ts && ts < end) step_id = step.step_id;
  }
  return step_id;
}

void RunCompilation(const DeviceView& view, store::RowSink& rows) {
  CompilationTexts texts;
  for (const CompilationRow& row : Compilations(*view.data, texts)) row.Write(rows);
}

}  // namespace

std::vector<CompilationRow> Compilations(const TraceData& data, CompilationTexts& texts) {
  std::vector<CompilationRow> rows;
  for (auto fact = data.metadata.lower_bound(kCompilationKey);
       fact != data.metadata.end() && fact->first.starts_with(kCompilationKey); ++fact) {
    const auto document = base::JsonDocument::Parse(fact->second, fact->first);
    if (!document.ok() || !document->root().IsObject()) continue;
    rows.push_back(RowOfCompilation(document->root(), texts));
    rows.back().step_id = StepAt(data, rows.back().start_ns);
  }
  std::ranges::stable_sort(rows, {}, &CompilationRow::start_ns);
  return rows;
}

extern const Recipe kCompilationRecipe;
constexpr Recipe kCompilationRecipe = {&kCompilation, Reads<store::StepRow>(), &RunCompilation};

}  // namespace sonde::recipes
