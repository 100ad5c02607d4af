#include "cli/probe_checkpoint.h"

#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "cli/command.h"
#include "precision/checkpoint/checkpoint.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr size_t kShownTensors = 20;

void Line(std::string_view head, std::string_view text) {
  constexpr size_t kWidth = 11;
  std::string line(head);
  line.resize(std::max(line.size(), kWidth), ' ');
  PrintText(Concat(line, " ", text, "\n"));
}

void Some(std::string_view head, const std::vector<std::string>& texts) {
  for (size_t i = 0; i < std::min(texts.size(), kShownTensors); ++i)
    Line(i == 0 ? head : "", texts[i]);
  if (texts.size() > kShownTensors) {
    Line("", Concat("and ", std::to_string(texts.size() - kShownTensors), " more, see the table"));
  }
}

}  // namespace

Result<bool> AreCheckpoints(const std::string& target, const std::string& golden) {
  const bool ours = precision::IsCheckpoint(target);
  const bool theirs = precision::IsCheckpoint(golden);
  if (ours == theirs) return ours;
  const std::string& one = ours ? target : golden;
  const std::string& other = ours ? golden : target;
  if (!base::PathExists(other)) {
    return base::NotFoundError(Concat(other, " does not exist"));
  }
  return base::InvalidArgumentError(
      Concat(one, " is a checkpoint and ", other, " is not: give two checkpoints or two dumps"));
}

Result<int> CompareCheckpointFiles(const precision::CheckpointOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const precision::CheckpointOutcome outcome,
                         precision::CompareCheckpoints(options));
  for (const std::string& note : outcome.notes) PrintNotice(note);
  Line("target", Concat(options.target_path, " (", outcome.target_kind, ")"));
  Line("golden", Concat(options.golden_path, " (", outcome.golden_kind, ")"));
  Line("tensors",
       Concat(std::to_string(outcome.equal), " equal, ", std::to_string(outcome.rounded),
              " rounded, ", std::to_string(outcome.different), " differ, ",
              std::to_string(outcome.reshaped), " of other shape, ",
              std::to_string(outcome.target_only.size()), " only in the target, ",
              std::to_string(outcome.golden_only.size()), " only in the golden checkpoint"));
  Line("conclusion", outcome.conclusion);
  Some("differs", outcome.findings);
  Some("target only", outcome.target_only);
  Some("golden only", outcome.golden_only);
  for (const std::string& file : outcome.files) Line("written", file);
  return kExitOk;
}

}  // namespace sonde::cli
