#include "precision/compare_finding.h"

#include <algorithm>
#include <string_view>

#include "base/files.h"
#include "base/strings.h"
#include "precision/output/row_causes.h"
#include "precision/tensor/rearrangement.h"
#include "precision/tensor/tensor_file.h"

namespace sonde::precision {
namespace {

using base::Concat;

// Weights of a run without gradients stay as they were loaded.
bool IsTraining(const DumpFile& dump) {
  return std::any_of(dump.apis().begin(), dump.apis().end(), [](const DumpApi& api) {
    return api.name.find(".backward") != std::string_view::npos;
  });
}

// The name of the call that a finding is about: the part of its place that the dump has a call of.
std::string_view CallOf(const FirstCause& cause, const DumpFile& dump) {
  const std::string_view place = cause.IsFinding() ? cause.place : cause.unseen_argument;
  if (place.empty()) return {};
  const auto found = std::find_if(dump.apis().begin(), dump.apis().end(), [&](const DumpApi& api) {
    return place.starts_with(api.name) &&
           (place.size() == api.name.size() || place[api.name.size()] == '.');
  });
  return found == dump.apis().end() ? std::string_view() : found->name;
}

void AddStepEvidence(const PairPlace& place, const StepBefore* before, PairFinding* finding) {
  FirstCause& cause = finding->cause;
  if (before != nullptr && before->differs && cause.IsFinding()) {
    cause.evidence.emplace_back("an earlier step already differs: begin there");
  }
  const bool may_be_updated = before == nullptr && place.step > 0 && finding->is_training;
  if (may_be_updated && cause.kind == CauseKind::kWeight) {
    cause.evidence.push_back(Concat(
        "step ", std::to_string(place.step),
        " is the first one compared: updates of steps before it may have changed the weight, "
        "even if only by rounding (dump step 0 to find out)"));
  }
}

// Names the order of a value's numbers, where both tensors were saved.
void NoteOrder(const PairPlace& place, PairFinding* finding) {
  FirstCause& cause = finding->cause;
  if (!cause.IsFinding() || cause.target_row == nullptr || cause.golden_row == nullptr ||
      cause.target_row->data_name.empty() || cause.golden_row->data_name.empty()) {
    return;
  }
  const auto target =
      OpenTensorFile(base::JoinPath(place.target_tensors, cause.target_row->data_name));
  const auto golden =
      OpenTensorFile(base::JoinPath(place.golden_tensors, cause.golden_row->data_name));
  if (!target.ok() || !golden.ok()) return;  // counted where they were compared
  const std::string order = RearrangementText(*target, *golden);
  if (order.empty()) return;
  finding->detail = Concat("the golden run's numbers, ", order);
  cause.evidence.push_back(Concat("the target has ", finding->detail));
}

}  // namespace

PairFinding FindingOfPair(const DumpPair& pair, const Comparison& comparison,
                          const Alignment& alignment, const PairPlace& place,
                          const StepBefore* before) {
  const DumpFile& target = *pair.target.dump;
  const DumpFile& golden = *pair.golden.dump;
  PairFinding out;
  out.step = place.step;
  out.rank = place.rank;
  out.is_training = IsTraining(target);
  out.cause = FindFirstCause(comparison, target, golden, alignment, pair.target.construct.get(),
                             {.carried = before != nullptr ? before->rounding : 0,
                              .follows_agreement = before != nullptr && !before->differs,
                              .other_optimizer = before != nullptr && before->other_optimizer,
                              .golden_construct = pair.golden.construct.get()});
  AddStepEvidence(place, before, &out);
  const auto row = RowOfFinding(comparison, out.cause);
  if (row) out.row = *row;
  out.detail = DetailOf(out.cause, comparison.mode);
  if (comparison.mode == Mode::kTensor) NoteOrder(place, &out);
  out.source = SourceOf(*pair.target.stack, CallOf(out.cause, target));
  if (out.source.empty()) out.source = SourceOf(*pair.golden.stack, CallOf(out.cause, golden));
  if (!out.source.empty()) out.cause.evidence.push_back(Concat("called at ", out.source));
  return out;
}

}  // namespace sonde::precision
