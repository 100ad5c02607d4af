#include "precision/compare_input.h"

#include <algorithm>
#include <iterator>

#include "base/host/json.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr std::string_view kKnown[] = {
    "npu_path",   "npu_json_path",   "bench_path",          "bench_json_path",
    "stack_path", "stack_json_path", "is_print_compare_log"};

void NoteUnknown(const base::JsonValue& root, const std::string& path,
                 std::vector<std::string>* notes) {
  for (const auto& [key, value] : root.Members()) {
    if (std::find(std::begin(kKnown), std::end(kKnown), key) != std::end(kKnown)) continue;
    const std::string_view* nearest = std::min_element(
        std::begin(kKnown), std::end(kKnown), [&key](std::string_view a, std::string_view b) {
          return base::EditDistance(key, a) < base::EditDistance(key, b);
        });
    constexpr size_t kNear = 3;
    const bool is_near = base::EditDistance(key, *nearest) <= kNear;
    notes->push_back(Concat(path, ": '", key, "' is not known and has no effect",
                            is_near ? Concat("; did you mean '", *nearest, "'?") : std::string()));
  }
}

}  // namespace

Status ReadCompareInput(const std::string& path, CompareOptions* options,
                        std::vector<std::string>* notes) {
  SONDE_ASSIGN_OR_RETURN(const base::JsonDocument document, base::JsonDocument::ReadFile(path));
  const base::JsonValue root = document.root();
  NoteUnknown(root, path, notes);
  struct Key {
    const char* name;
    const char* alias;
    std::string* value;
    bool required;
  };
  for (const Key& key : {Key{"npu_path", "npu_json_path", &options->target_path, true},
                         Key{"bench_path", "bench_json_path", &options->golden_path, true},
                         Key{"stack_path", "stack_json_path", &options->stack_path, false}}) {
    Result<std::string> text = root.GetString(key.name, "");
    if (text.ok() && text->empty()) text = root.GetString(key.alias, "");
    if (!text.ok()) return std::move(text).status().Annotate(path);
    *key.value = std::move(text).value();
    if (key.value->empty() && key.required) {
      return base::InvalidArgumentError(Concat(path, ": '", key.name, "' is missing",
                                               notes->empty() ? "" : "; ",
                                               notes->empty() ? std::string() : notes->front()));
    }
  }
  Result<bool> log = root.GetBool("is_print_compare_log", false);
  if (!log.ok()) return std::move(log).status().Annotate(path);
  options->log_tensors = options->log_tensors || *log;
  return Status::Ok();
}

}  // namespace sonde::precision
