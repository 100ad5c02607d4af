#include "precision/engines/engine_pairs.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/strings.h"
#include "precision/compare/compare.h"
#include "precision/dump/text_arena.h"
#include "precision/engines/engine_names.h"

namespace sonde::precision {
namespace {

using base::Concat;

// Rows that stand for others, and their texts.
struct MadeRows {
  TextArena arena;
  std::deque<DumpRow> rows;
};

// One side: the rows that take part, and their keys.
struct EngineRows {
  std::vector<const DumpRow*> rows;
  std::vector<std::string> keys;  // empty: matches nothing
};

using Places = std::unordered_map<std::string_view, std::vector<size_t>>;

Places PlacesOf(const EngineRows& side) {
  Places out;
  for (size_t i = 0; i < side.keys.size(); ++i) {
    if (!side.keys[i].empty()) out[side.keys[i]].push_back(i);
  }
  return out;
}

// Forward calls of the training engine count from where the comparison begins.
class CallCounter {
 public:
  std::string Direction(const EngineCall& call) {
    if (!call.forward) return std::string(call.direction);
    const std::string number = std::to_string(counts_[std::string(call.op)]++);
    return call.direction.starts_with("forward") ? Concat("forward.", number)
                                                 : Concat(number, ".forward");
  }

 private:
  std::unordered_map<std::string, int64_t> counts_;
};

void AddRows(const DumpFile& dump, const DumpApi& api, const std::string& key, EngineRows* out) {
  for (uint32_t i = api.first_row; i < api.first_row + api.row_count; ++i) {
    const DumpRow& row = dump.rows()[i];
    out->rows.push_back(&row);
    const bool known = !key.empty() && row.name.starts_with(api.name);
    out->keys.push_back(known ? Concat(key, row.name.substr(api.name.size())) : std::string());
  }
}

EngineRows TrainingRows(const DumpFile& dump, Engine engine) {
  EngineRows out;
  CallCounter counter;
  bool inside = true;
  for (const DumpApi& api : dump.apis()) {
    const EngineCall call = TakeApart(api.name);
    if (BeginsTraining(call, engine)) inside = true;
    if (EndsTraining(call, engine)) inside = false;
    if (!inside) continue;
    const std::string key =
        call.direction.empty() ? std::string()
                               : Concat(TrainingKey(call.op, engine), "/", counter.Direction(call));
    AddRows(dump, api, key, &out);
  }
  return out;
}

EngineRows InferenceRows(const DumpFile& dump, Engine engine) {
  EngineRows out;
  for (const DumpApi& api : dump.apis()) {
    const EngineCall call = TakeApart(api.name);
    const std::string key = call.direction.empty()
                                ? std::string()
                                : Concat(InferenceKey(call.op, engine), "/", call.direction);
    AddRows(dump, api, key, &out);
  }
  return out;
}

// Statistics are compared as real numbers, so that 3 equals 3.0.
Value AsReal(const Value& value) {
  return value.IsNumber() ? Value::Float(value.AsDouble()) : value;
}

// The greatest (or least) number of several rows.
Value Extreme(const std::vector<const DumpRow*>& parts, Statistic which) {
  Value best = Value::Null();
  for (const DumpRow* part : parts) {
    const Value value = AsReal(part->stats[which]);
    if (!value.IsNumber()) continue;
    const bool better = best.IsNone() || (which == kMax ? value.AsDouble() > best.AsDouble()
                                                        : value.AsDouble() < best.AsDouble());
    if (better) best = value;
  }
  return best;
}

class RowMaker {
 public:
  RowMaker(MadeRows* made, std::string_view separator) : made_(*made), separator_(separator) {}

  const DumpRow* Make(const std::vector<const DumpRow*>& parts) {
    DumpRow& row = made_.rows.emplace_back(*parts.front());
    if (parts.size() == 1) {
      for (Value& value : row.stats) value = AsReal(value);
      return &row;
    }
    row.name = Join(parts, separator_, [](const DumpRow& part) { return part.name; });
    row.dtype = Join(parts, ";", [](const DumpRow& part) { return OrNotAvailable(part.dtype); });
    row.shape = Join(parts, ";", [](const DumpRow& part) { return OrNotAvailable(part.shape); });
    const bool files = std::all_of(parts.begin(), parts.end(),
                                   [](const DumpRow* part) { return !part->data_name.empty(); });
    row.data_name = files ? Join(parts, ";", [](const DumpRow& part) { return part.data_name; })
                          : std::string_view();
    row.stats[kMax] = Extreme(parts, kMax);
    row.stats[kMin] = Extreme(parts, kMin);
    for (const Statistic which : {kMean, kNorm}) {
      row.stats[which] = Value::Text(Join(parts, ";", [which](const DumpRow& part) {
        return AsReal(part.stats[which]).PythonText();
      }));
    }
    return &row;
  }

 private:
  template <class TextOf>
  std::string_view Join(const std::vector<const DumpRow*>& parts, std::string_view between,
                        TextOf text_of) {
    std::string out;
    for (const DumpRow* part : parts) {
      if (part != parts.front()) out.append(between);
      out.append(text_of(*part));
    }
    return made_.arena.Store(out);
  }

  MadeRows& made_;
  const std::string_view separator_;
};

// A row of the result before it is made: positions in the two sides.
struct Match {
  std::vector<size_t> training;
  std::vector<size_t> inference;
};

// One inference module stands for several of the training engine, or the other way round.
std::vector<Match> FindMatches(const EngineRows& training, const EngineRows& inference,
                               Engine engine) {
  const bool training_is_split = engine == Engine::kFsdp;
  const EngineRows& whole = training_is_split ? inference : training;
  const Places parts = PlacesOf(training_is_split ? training : inference);
  std::vector<Match> out;
  std::vector<bool> taken(training.rows.size(), false);
  for (size_t i = 0; i < whole.rows.size(); ++i) {
    const auto found = parts.find(whole.keys[i]);
    if (found == parts.end()) continue;
    Match& match = out.emplace_back();
    match.training = training_is_split ? found->second : std::vector<size_t>{i};
    match.inference = training_is_split ? std::vector<size_t>{i} : found->second;
    for (const size_t row : match.training) taken[row] = true;
  }
  for (size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i]) out.push_back({{i}, {}});
  }
  std::stable_sort(out.begin(), out.end(), [](const Match& a, const Match& b) {
    return a.training.front() < b.training.front();
  });
  return out;
}

std::vector<const DumpRow*> RowsAt(const EngineRows& side, const std::vector<size_t>& places) {
  std::vector<const DumpRow*> out;
  out.reserve(places.size());
  for (const size_t place : places) out.push_back(side.rows[place]);
  return out;
}

void AddGroups(const DumpFile& training, Comparison* out) {
  for (uint32_t i = 0; i < out->target_row_count(); ++i) {
    const uint32_t api = out->rows[i].target->api;
    if (i == 0 || api != out->rows[i - 1].target->api) {
      out->groups.push_back({training.apis()[api].name, i, 0});
    }
    ++out->groups.back().row_count;
  }
}

}  // namespace

Result<Comparison> PairEngines(const DumpFile& training, const DumpFile& inference, Mode mode,
                               Engine engine, std::string_view separator) {
  if (mode == Mode::kMd5) {
    return base::InvalidArgumentError(
        "--consistent_check needs statistics or tensors; checksums of modules that are put "
        "together "
        "cannot be compared");
  }
  if (training.level() == "debug" || inference.level() == "debug") {
    return base::InvalidArgumentError(
        "--consistent_check compares modules; these dumps hold single points (level debug)");
  }
  const EngineRows target = TrainingRows(training, engine);
  const EngineRows golden = InferenceRows(inference, engine);
  auto made = std::make_shared<MadeRows>();
  RowMaker maker(made.get(), separator);
  Comparison out;
  out.mode = mode;
  out.engine = engine;
  std::vector<bool> taken(golden.rows.size(), false);
  for (const Match& match : FindMatches(target, golden, engine)) {
    ComparedRow& row = out.rows.emplace_back();
    row.target = maker.Make(RowsAt(target, match.training));
    if (!match.inference.empty()) row.golden = maker.Make(RowsAt(golden, match.inference));
    for (const size_t place : match.inference) taken[place] = true;
  }
  out.golden_only_begin = static_cast<uint32_t>(out.rows.size());
  for (size_t i = 0; i < taken.size(); ++i) {
    if (taken[i]) continue;
    ComparedRow& row = out.rows.emplace_back();
    row.golden = golden.rows[i];
    row.Report(Message::kGoldenOnly, Verdict::kUnmatched);
  }
  AddGroups(training, &out);
  out.made_rows = std::move(made);
  CompareGroups(&out);
  return out;
}

}  // namespace sonde::precision
