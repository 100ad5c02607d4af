#include "precision/fuzz/checkpoint_input.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "precision/checkpoint/checkpoint_file.h"
#include "precision/checkpoint/name_pairs.h"
#include "precision/checkpoint/weight_difference.h"
#include "precision/checkpoint/weight_words.h"

namespace sonde::precision {
namespace {

// One element that is repeated without end gives no new coverage.
constexpr int64_t kMostElements = int64_t{1} << 20U;
constexpr size_t kMostTensors = 1000;

}  // namespace

int FuzzCheckpoint(std::string_view input) {
  const auto bytes = std::as_bytes(std::span(input));
  const auto file = ReadCheckpointFile(bytes, "model.pt");
  if (!file.ok()) {
    ReadCheckpointFile(bytes, "model.safetensors").status().IgnoreError();
    return 0;
  }
  if (file->tensors.size() > kMostTensors) return 0;
  int compared = 0;
  int64_t elements = 0;
  for (const auto& [target, golden] : PairNames(file->tensors, file->tensors).both) {
    const Tensor& a = file->tensors[target].tensor;
    const Tensor& b = file->tensors[golden].tensor;
    elements += a.element_count();
    if (elements > kMostElements || a.shape() != b.shape()) break;
    JudgeWeight(a, b, CompareWeights(a, b));
    ++compared;
  }
  return compared;
}

}  // namespace sonde::precision
