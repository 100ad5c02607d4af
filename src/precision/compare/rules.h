// The ten rules that turn the numbers of an API's rows into verdicts and messages
// (docs/precision.md lists them).
//
// Pure, any thread; different groups may be judged by different threads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "precision/compare/comparison.h"

namespace sonde::precision {

// Which rules apply; every mode has its set.
struct RuleSet {
  bool shape = true;
  bool requires_grad = true;
  bool only_present = false;      // what one side lacks is no difference (graphs)
  bool dtype_families = false;    // dtypes of two frameworks: Float32 equals torch.float32
  Engine engine = Engine::kNone;  // shapes of two engines: axes of length 1 do not count

  static RuleSet ForFrameworks(bool cross_framework) {
    return {.requires_grad = !cross_framework, .dtype_families = cross_framework};
  }
  static RuleSet Of(const Comparison& comparison) {
    RuleSet out = ForFrameworks(comparison.cross_framework);
    if (comparison.mode == Mode::kTensor && comparison.engine != Engine::kNone) {
      out.requires_grad = false;
      out.engine = comparison.engine;
    }
    return out;
  }
};

// `rows` are the rows of one API.
void JudgeApi(Mode mode, const RuleSet& rules, std::span<ComparedRow> rows);

// "float" for Float32 and torch.float32, and so on; dtypes that belong to no family stay.
std::string_view DtypeFamily(std::string_view dtype);

// Gives results that need no comparing: uninitialised memory, plain conversions.
bool IsExemptApi(std::string_view second_name_part);

}  // namespace sonde::precision
