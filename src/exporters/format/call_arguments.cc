#include "exporters/format/call_arguments.h"

#include <algorithm>

namespace sonde::exporters {

Result<CallArguments> CallArguments::Load(const store::Store* store,
                                          const recipes::TraceData& data) {
  CallArguments arguments;
  const bool has_any = std::ranges::any_of(data.api_calls, [&](const store::ApiCallRow& call) {
    return call.slice_id >= 0 && data.Slice(call.slice_id).args_id >= 0;
  });
  if (store == nullptr || !has_any) return arguments;
  SONDE_ASSIGN_OR_RETURN(
      const store::ResultTable rows,
      store->Query("SELECT args_id, CASE key WHEN 'Mode' THEN 0 WHEN 'id' THEN 1 ELSE 2 END"
                   "::BIGINT, value FROM args_text WHERE key IN ('Mode', 'id', 'item_id') AND "
                   "args_id IN (SELECT args_id FROM slice JOIN api_call USING (slice_id))"));
  std::unordered_map<std::string_view, int32_t> known;
  for (size_t row = 0; row < rows.rows(); ++row) {
    if (rows.IsNull(2, row)) continue;
    const std::string& text = rows.Text(2, row);
    const auto [number, is_new] = known.try_emplace(text, static_cast<int32_t>(known.size()));
    if (is_new) arguments.texts_.push_back(text);
    const auto args = static_cast<int32_t>(rows.Int(0, row));
    auto& of = arguments.of_args_.try_emplace(args, std::array{-1, -1, -1}).first->second;
    of.at(static_cast<size_t>(rows.Int(1, row))) = number->second;
  }
  return arguments;
}

std::string_view CallArguments::Text(const store::SliceRow& slice, Key key,
                                     std::string_view otherwise) const {
  const auto found = of_args_.find(slice.args_id);
  if (found == of_args_.end() || found->second.at(key) < 0) return otherwise;
  return texts_[static_cast<size_t>(found->second.at(key))];
}

}  // namespace sonde::exporters
