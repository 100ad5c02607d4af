#include "precision/checkpoint/checkpoint_compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/strings.h"
#include "precision/cause/evidence.h"
#include "precision/checkpoint/checkpoint.h"
#include "precision/checkpoint/name_pairs.h"
#include "precision/checkpoint/similarity_tables.h"
#include "precision/checkpoint/weight_words.h"
#include "report/time_stamp.h"

namespace sonde::precision {
namespace {

using base::Concat;

// The common prefix of all names, up to a dot; "" for none.
std::string CommonPlace(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  size_t length = names.front().size();
  for (const std::string& name : names) {
    size_t i = 0;
    while (i < std::min(length, name.size()) && name[i] == names.front()[i]) ++i;
    length = i;
  }
  if (names.size() == 1) return names.front();
  const size_t dot = names.front().rfind('.', length == 0 ? 0 : length - 1);
  return dot == std::string::npos || dot >= length ? "" : names.front().substr(0, dot);
}

class Run {
 public:
  Run(const CheckpointOptions& options, Checkpoint target, Checkpoint golden)
      : options_(options), target_(std::move(target)), golden_(std::move(golden)) {}

  Result<CheckpointOutcome> Compare() {
    const NamePairs pairs = PairNames(target_.tensors, golden_.tensors);
    if (pairs.both.empty()) {
      return base::FailedPreconditionError(
          Concat("the checkpoints have no tensor name in common: ", target_.tensors.front().name,
                 " ... against ", golden_.tensors.front().name, " ..."));
    }
    ReportNotes(pairs);
    for (const auto& [ours, theirs] : pairs.both) Judge(ours, theirs);
    FindOthersValues(pairs);
    for (const size_t place : pairs.target_only) AddAlone(place, true);
    for (const size_t place : pairs.golden_only) AddAlone(place, false);
    Conclude();
    SONDE_RETURN_IF_ERROR(Write());
    return std::move(out_);
  }

 private:
  void ReportNotes(const NamePairs& pairs) {
    out_.target_kind = Concat(target_.kind, ", ", base::CountOf(target_.tensors.size(), "tensor"));
    out_.golden_kind = Concat(golden_.kind, ", ", base::CountOf(golden_.tensors.size(), "tensor"));
    out_.notes = pairs.notes;
    for (const Checkpoint* side : {&target_, &golden_}) {
      out_.notes.insert(out_.notes.end(), side->notes.begin(), side->notes.end());
      const std::string_view name = side == &target_ ? "the target" : "the golden checkpoint";
      if (!side->left_out.empty()) {
        out_.notes.push_back(Concat(base::CountOf(side->left_out.size(), "tensor"), " of ", name,
                                    " not compared, the first: ", side->left_out.front()));
      }
      if (side->other_values > 0) {
        out_.notes.push_back(Concat(base::CountOf(side->other_values, "value"), " of ", name,
                                    " not compared: no tensors (steps, options)"));
      }
    }
  }

  void Judge(size_t ours, size_t theirs) {
    WeightRow row;
    row.name = golden_.tensors[theirs].name;
    const Tensor& target = target_.tensors[ours].tensor;
    const Tensor& golden = golden_.tensors[theirs].tensor;
    row.target = &target;
    row.golden = &golden;
    const bool same_shape =
        target.shape() == golden.shape() && IsComplex(target.dtype()) == IsComplex(golden.dtype());
    if (same_shape) {
      row.difference = CompareWeights(target, golden);
    } else {
      row.difference.target = NumbersOf(target);
      row.difference.golden = NumbersOf(golden);
    }
    row.judged = JudgeWeight(target, golden, row.difference);
    rows_.push_back(std::move(row));
  }

  void AddAlone(size_t place, bool in_target) {
    const NamedTensor& named = (in_target ? target_ : golden_).tensors[place];
    WeightRow row;
    row.name = named.name;
    (in_target ? row.target : row.golden) = &named.tensor;
    const auto numbers = alone_.find(&named.tensor);
    if (numbers != alone_.end()) {
      (in_target ? row.difference.target : row.difference.golden) = numbers->second;
    }
    const auto same = same_as_.find(&named.tensor);
    if (same != same_as_.end()) row.judged.how = same->second;
    (in_target ? out_.target_only : out_.golden_only)
        .push_back(row.judged.how.empty() ? row.name : Concat(row.name, ": ", row.judged.how));
    rows_.push_back(std::move(row));
  }

  // A tensor of the target that differs may hold what is called otherwise in the golden checkpoint:
  // layers that are shifted, projections that are exchanged, tensors that were renamed.
  void FindOthersValues(const NamePairs& pairs) {
    std::unordered_map<uint64_t, std::pair<const Tensor*, std::string>> golden_by_hash;
    const auto remember = [&](const NamedTensor& named, const WeightNumbers& numbers) {
      // Constant tensors (ones, zeros) are equal to many.
      if (numbers.max == numbers.min || named.tensor.element_count() < 2) return;
      const auto [place, is_new] =
          golden_by_hash.try_emplace(numbers.hash, &named.tensor, named.name);
      if (!is_new) place->second.second.clear();  // several: not conclusive
    };
    for (size_t i = 0; i < pairs.both.size(); ++i) {
      remember(golden_.tensors[pairs.both[i].second], rows_[i].difference.golden);
    }
    for (const size_t place : pairs.golden_only) {
      const NamedTensor& named = golden_.tensors[place];
      remember(named, alone_[&named.tensor] = NumbersOf(named.tensor));
    }
    const auto find = [&](const Tensor& tensor, const WeightNumbers& numbers) -> std::string {
      const auto found = golden_by_hash.find(numbers.hash);
      if (found == golden_by_hash.end() || found->second.second.empty() ||
          found->second.first->shape() != tensor.shape()) {
        return "";
      }
      return found->second.second;
    };
    for (size_t i = 0; i < pairs.both.size(); ++i) {
      WeightRow& row = rows_[i];
      if (row.judged.verdict != WeightVerdict::kDiffers) continue;
      const std::string other = find(*row.target, row.difference.target);
      if (other.empty()) continue;
      row.judged.how = Concat("holds what the golden checkpoint calls ", other);
      ++moved_;
    }
    for (const size_t place : pairs.target_only) {
      const NamedTensor& named = target_.tensors[place];
      const WeightNumbers& numbers = alone_[&named.tensor] = NumbersOf(named.tensor);
      const std::string other = find(named.tensor, numbers);
      if (other.empty()) continue;
      same_as_[&named.tensor] = Concat("the golden checkpoint calls these values ", other);
    }
  }

  void Count() {
    for (const WeightRow& row : rows_) {
      if (row.target == nullptr || row.golden == nullptr) continue;
      switch (row.judged.verdict) {
        case WeightVerdict::kEqual:
          ++out_.equal;
          types_ += row.judged.how.empty() ? 0 : 1;
          break;
        case WeightVerdict::kRounded:
          ++out_.rounded;
          break;
        case WeightVerdict::kDiffers:
          ++out_.different;
          break;
        case WeightVerdict::kShape:
          ++out_.reshaped;
          break;
      }
    }
  }

  void ReportFindings() {
    std::vector<const WeightRow*> off;
    for (const WeightRow& row : rows_) {
      const bool both = row.target != nullptr && row.golden != nullptr;
      const bool agrees = row.judged.verdict == WeightVerdict::kEqual ||
                          row.judged.verdict == WeightVerdict::kRounded;
      if (both && !agrees) off.push_back(&row);
    }
    std::stable_sort(off.begin(), off.end(), [](const WeightRow* a, const WeightRow* b) {
      return a->judged.relative > b->judged.relative;
    });
    for (const WeightRow* row : off) {
      out_.findings.push_back(Concat(row->name, ": ", row->judged.how));
    }
  }

  void Conclude() {
    Count();
    ReportFindings();
    const uint64_t both = out_.equal + out_.rounded + out_.different + out_.reshaped;
    const uint64_t off = out_.different + out_.reshaped;
    if (off == 0) {
      out_.conclusion =
          out_.rounded > 0
              ? Concat(Compared(), " are equal except for rounding to the coarser type")
              : Concat(Compared(), " hold the same values", types_ > 0 ? ", of other types" : "");
      return;
    }
    if (moved_ > 0 && moved_ * 2 >= off) {
      out_.conclusion = Concat("values have other names: ", std::to_string(moved_), " of ",
                               base::CountOf(both, "tensor"), " hold the values of another one");
      return;
    }
    if (off == both) {
      out_.conclusion = AllDiffer();
      return;
    }
    std::vector<std::string> names;
    for (const WeightRow& row : rows_) {
      const bool bad = row.judged.verdict == WeightVerdict::kDiffers ||
                       row.judged.verdict == WeightVerdict::kShape;
      if (bad) names.push_back(row.name);
    }
    const std::string place = CommonPlace(names);
    out_.conclusion = Concat(std::to_string(off), " of ", base::CountOf(both, "tensor"), " differ",
                             place.empty() ? "" : Concat(", all of them in ", place));
  }

  // The subject of a sentence over all compared tensors.
  std::string_view Compared() const {
    if (!target_.left_out.empty() || !golden_.left_out.empty()) return "those that were compared";
    const bool alone = !out_.target_only.empty() || !out_.golden_only.empty();
    return alone ? "the tensors of both" : "all tensors";
  }

  // Every tensor a little: two moments of one training; a lot: two trainings.
  std::string AllDiffer() const {
    double smallest = HUGE_VAL;
    double largest = 0;
    for (const WeightRow& row : rows_) {
      if (row.target == nullptr || row.golden == nullptr) continue;
      smallest = std::min(smallest, row.judged.relative);
      largest = std::max(largest, row.judged.relative);
    }
    return Concat("every tensor differs, by ", ShortNumber(100 * smallest), " % to ",
                  ShortNumber(100 * largest), " % of its length",
                  largest < 0.5 ? ", like two states of one training" : "");
  }

  Status Write() {
    const std::string stamp = report::TimeStamp();
    if (!options_.json_path.empty()) {
      SONDE_RETURN_IF_ERROR(base::MakeDirectories(std::string(base::DirName(options_.json_path))));
      out_.files = {options_.json_path};
      return WriteSimilarityJson(rows_, options_.json_path);
    }
    SONDE_RETURN_IF_ERROR(base::MakeDirectories(options_.output_path));
    out_.files = {
        base::JoinPath(options_.output_path, Concat("checkpoint_compare_", stamp, ".csv")),
        base::JoinPath(options_.output_path, Concat("ckpt_similarity_", stamp, ".json"))};
    SONDE_RETURN_IF_ERROR(WriteWeightTable(rows_, out_.files[0]));
    return WriteSimilarityJson(rows_, out_.files[1]);
  }

  const CheckpointOptions& options_;
  const Checkpoint target_;
  const Checkpoint golden_;
  std::vector<WeightRow> rows_;  // those of both first, in the golden order
  std::unordered_map<const Tensor*, WeightNumbers> alone_;
  std::unordered_map<const Tensor*, std::string> same_as_;
  uint64_t moved_ = 0;
  uint64_t types_ = 0;  // equal, but of other types
  CheckpointOutcome out_;
};

}  // namespace

Result<CheckpointOutcome> CompareCheckpoints(const CheckpointOptions& options) {
  SONDE_ASSIGN_OR_RETURN(Checkpoint target, LoadCheckpoint(options.target_path));
  SONDE_ASSIGN_OR_RETURN(Checkpoint golden, LoadCheckpoint(options.golden_path));
  return Run(options, std::move(target), std::move(golden)).Compare();
}

}  // namespace sonde::precision
