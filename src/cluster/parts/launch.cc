#include "cluster/parts/launch.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "base/strings.h"

namespace sonde::cluster {
namespace {

const char* Text(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing changes the environment
}

std::optional<int64_t> Number(const char* name) {
  const char* text = Text(name);
  return text == nullptr ? std::nullopt : base::ParseInt64(text);
}

std::optional<Place> PlaceIn(const char* number_name, const char* count_name) {
  constexpr int64_t kMost = 1'000'000;
  const auto number = Number(number_name);
  const auto count = Number(count_name);
  if (!number || !count || *number < 0 || *number >= *count || *count > kMost) return std::nullopt;
  return Place{static_cast<int32_t>(*number), static_cast<int32_t>(*count), count_name};
}

// Steps that are no srun of the user's (the script, the shell of salloc, what is started outside)
// have numbers from there on; of one with --pty the first process is the user's shell.
bool IsStepOfSlurm() {
  constexpr int64_t kFirstOther = 4'294'967'290;
  const auto step = Number("SLURM_STEP_ID");
  return step && *step >= 0 && *step < kFirstOther && Text("SLURM_PTY_PORT") == nullptr;
}

}  // namespace

Place PlaceOfEnvironment() {
  const bool is_handed_down = ::isatty(STDIN_FILENO) == 1 || Text("TORCHELASTIC_RUN_ID") != nullptr;
  if (is_handed_down) return {};
  if (const auto place = PlaceIn("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")) return *place;
  if (const auto place = PlaceIn("PMI_RANK", "PMI_SIZE")) return *place;
  if (!IsStepOfSlurm()) return {};
  return PlaceIn("SLURM_PROCID", "SLURM_STEP_NUM_TASKS").value_or(Place());
}

Result<Place> ParsePlace(const std::string& text) {
  constexpr int64_t kMost = 1'000'000;
  const auto words = base::Split(text, '/');
  const auto number = base::ParseInt64(words.front());
  const auto count = base::ParseInt64(words.back());
  const bool can_be =
      words.size() == 2 && number && count && *number >= 0 && *number < *count && *count <= kMost;
  if (can_be) return Place{static_cast<int32_t>(*number), static_cast<int32_t>(*count), "--part"};
  return base::InvalidArgumentError(base::Concat(
      "--part must be a number and how many there are, as 0/8 to 7/8, not '", text, "'"));
}

}  // namespace sonde::cluster
