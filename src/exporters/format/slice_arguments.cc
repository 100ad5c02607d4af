#include "exporters/format/slice_arguments.h"

#include "base/host/json.h"
#include "base/host/json_writer.h"
#include "base/strings.h"

namespace sonde::exporters {
namespace {

// Of a damaged file arguments are kept as they were, also where they are no JSON.
bool IsJson(std::string_view text) { return base::JsonDocument::Parse(text, "argument").ok(); }

}  // namespace

Result<SliceArguments> SliceArguments::Load(const store::Store* store,
                                            std::initializer_list<std::string_view> track_kinds) {
  SliceArguments arguments;
  if (store == nullptr) return arguments;
  std::vector<std::string> kinds;
  for (const std::string_view kind : track_kinds) kinds.push_back(base::Concat("'", kind, "'"));
  const std::string wanted = base::Concat(
      "WITH wanted AS (SELECT slice_id, args_id FROM slice JOIN track USING (track_id) WHERE kind ",
      "IN (", base::Join(kinds, ", "), ") AND args_id IS NOT NULL AND coalesce(category, '') NOT ",
      "IN ('cpu_op', 'user_annotation', 'module', 'python_function'))");
  SONDE_ASSIGN_OR_RETURN(
      const store::ResultTable rows,
      store->Query(base::Concat(wanted,
                                " SELECT slice_id, key, CAST(value AS VARCHAR), 1::BIGINT FROM "
                                "wanted JOIN args_int USING "
                                "(args_id) UNION ALL SELECT slice_id, key, CAST(value AS VARCHAR), "
                                "1::BIGINT FROM wanted JOIN "
                                "args_double USING (args_id) UNION ALL SELECT slice_id, key, "
                                "value, (form <> 0)::BIGINT FROM "
                                "wanted JOIN args_text USING (args_id) ORDER BY 1, 2")));
  for (size_t row = 0; row < rows.rows(); ++row) {
    if (rows.IsNull(1, row) || rows.IsNull(2, row)) continue;
    arguments.of_slice_[static_cast<int32_t>(rows.Int(0, row))].push_back(
        {rows.Text(1, row), rows.Text(2, row), rows.Int(3, row) != 0 && IsJson(rows.Text(2, row))});
  }
  return arguments;
}

std::string SliceArguments::Json(int32_t slice_id) const {
  std::string text = "{";
  const auto found = of_slice_.find(slice_id);
  if (found != of_slice_.end()) {
    for (const Argument& argument : found->second) {
      text += base::Concat(text.size() > 1 ? "," : "", base::JsonQuote(argument.key), ":",
                           argument.is_json ? argument.value : base::JsonQuote(argument.value));
    }
  }
  return text + "}";
}

std::string_view SliceArguments::Text(int32_t slice_id, std::string_view key) const {
  const auto found = of_slice_.find(slice_id);
  if (found == of_slice_.end()) return {};
  for (const Argument& argument : found->second) {
    if (argument.key == key) return argument.value;
  }
  return {};
}

std::optional<int64_t> SliceArguments::Int(int32_t slice_id, std::string_view key) const {
  return base::ParseInt64(Text(slice_id, key));
}

}  // namespace sonde::exporters
