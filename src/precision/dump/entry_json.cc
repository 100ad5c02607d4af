#include "precision/dump/entry_json.h"

#include <algorithm>

#include "base/strings.h"
#include "precision/dump/pretty_json.h"

namespace sonde::precision {

using base::Concat;

std::string QuotedJson(std::string_view text) {
  std::string out;
  AppendJsonText(text, &out);
  return out;
}

RecordPlaces* RecordPlaces::Below(std::string_view name) {
  for (auto& [key, place] : below_) {
    if (key == name) return place.get();
  }
  return below_.emplace_back(name, std::make_unique<RecordPlaces>()).second.get();
}

void RecordPlaces::Put(std::string_view path, std::string_view json) {
  RecordPlaces* place = this;
  for (const std::string_view part : base::Split(path, '.')) place = place->Below(part);
  place->record_ = json;
}

std::string RecordPlaces::Json() const {
  if (below_.empty()) return record_.empty() ? "null" : std::string(record_);
  const bool list = std::all_of(below_.begin(), below_.end(),
                                [](const auto& entry) { return base::IsDigits(entry.first); });
  std::string out;
  for (const auto& [key, place] : below_) {
    out += out.empty() ? "" : ", ";
    out += list ? place->Json() : Concat(QuotedJson(key), ": ", place->Json());
  }
  return list ? Concat("[", out, "]") : Concat("{", out, "}");
}

void EntryJson::Add(Section section, std::string_view key, std::string_view json) {
  const std::string_view path = key.substr(std::min(key.find('.') + 1, key.size()));
  switch (section) {
    case Section::kInput:
      if (backward_) {
        input_.Put(path, json);
      } else if (base::IsDigits(path.substr(0, path.find('.')))) {
        arguments_.Put(path, json);
      } else {
        named_arguments_.Put(path, json);
      }
      return;
    case Section::kParameters:
      parameters_.Put(path, json);
      return;
    case Section::kOutput:
      output_.Put(path, json);
      return;
    case Section::kParametersGrad:
    case Section::kDebug:
      gradients_.emplace_back(key, json);
      return;
  }
}

std::string EntryJson::Json(const std::string& merge_info) const {
  std::string out;
  const auto add = [&out](std::string_view name, const std::string& json) {
    out += Concat(out.empty() ? "" : ", ", QuotedJson(name), ": ", json);
  };
  for (const auto& [name, record] : gradients_) add(name, Concat("[", record, "]"));
  if (gradients_.empty()) {
    const auto section = [&add](std::string_view name, const RecordPlaces& place,
                                const char* empty) {
      add(name, place.empty() ? empty : place.Json());
    };
    if (backward_) {
      section("input", input_, "[]");
    } else {
      section("input_args", arguments_, "[]");
      section("input_kwargs", named_arguments_, "{}");
    }
    if (!parameters_.empty()) add("parameters", parameters_.Json());
    section("output", output_, "[]");
  }
  if (!merge_info.empty()) add("parallel_merge_info", merge_info);
  return Concat("{", out, "}");
}

}  // namespace sonde::precision
