// What one engine step does: of steps that only decode, and of those that compute prompts, the
// median one and the slowest, in parts that follow one another and add up.
//
// A step lasts from when it has the engine for itself (request_time/steps.h) to when the last of
// its tokens was sent. Of its ranks the one that ended last counts. The forward pass is the
// server's own scope of that name where it was recorded, else what the model's modules span. A part
// that nothing recorded shows is absent, and its time is in `not_covered`. Units: nanoseconds.
// Pure, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/finding/finding.h"
#include "store/result_info.h"
#include "store/row_tables.h"

namespace sonde::recipes {

// P(Part, key), in the order of a step; the texts are `step_part.KEY` in finding/texts.inc.
#define SONDE_STEP_PARTS(P)   \
  P(Schedule, schedule)       \
  P(HandOver, hand_over)      \
  P(Preprocess, preprocess)   \
  P(Forward, forward)         \
  P(Postprocess, postprocess) \
  P(Execute, execute)         \
  P(Sampling, sampling)       \
  P(HandBack, hand_back)      \
  P(Update, update)           \
  P(Delivery, delivery)       \
  P(NotCovered, not_covered)

enum class StepPart : uint8_t {
#define SONDE_STEP_PART(part, key) k##part,
  SONDE_STEP_PARTS(SONDE_STEP_PART)
#undef SONDE_STEP_PART
};

inline constexpr auto kStepPartKeys = std::to_array<std::string_view>({
#define SONDE_STEP_PART(part, key) #key,
    SONDE_STEP_PARTS(SONDE_STEP_PART)
#undef SONDE_STEP_PART
});

struct StepParts {
  int64_t step_id = -1;
  int32_t engine = 0;
  int64_t requests = 0;
  int64_t tokens = 0;
  int64_t begin_ns = 0;
  std::array<int64_t, kStepPartKeys.size()> ns{};

  int64_t operator[](StepPart part) const { return ns[static_cast<size_t>(part)]; }
  int64_t Sum() const;
};

// Steps of one kind.
struct StepComparison {
  std::string_view kind;  // "decode" or "prefill"
  int64_t steps = 0;
  StepParts median;
  StepParts slowest;
};

// Of each kind that has steps. Uses engine_step, request_step, flow, step, slice, track, process
// and the names.
std::vector<StepComparison> CompareSteps(const store::RowTables& tables);

// Why the slowest one is slower.
std::string SentenceOf(const StepComparison& one, Language language = Language::kEnglish);
std::string LabelOf(StepPart part, Language language = Language::kEnglish);
// "decode step", "prefill step".
std::string LabelOf(const StepComparison& one, Language language = Language::kEnglish);

#define SONDE_COLUMNS_ENGINE_STEP_PART(C)                                                      \
  C(kind, Text, "", KeyOf("step_kind"), "decode: steps that only decode; prefill: the others") \
  C(part, Text, "", KeyOf("step_part"), "what is done; all: the whole step, the last row")     \
  C(label, Text, "", kLabel, "the part in English; of the whole step why the slowest is slow") \
  C(label_zh, Text, "", kLabel, "the same in Chinese")                                         \
  C(median_ns, Int, "ns", kLess, "of the median step")                                         \
  C(slowest_ns, Int, "ns", kLess, "of the slowest step")                                       \
  C(more_ns, Int, "ns", kLess, "slowest_ns - median_ns")                                       \
  C(steps, Int, "", kLabel, "steps of this kind")                                              \
  C(median_step_id, Int, "", kLabel, "number of the median step, as in engine_step")           \
  C(slowest_step_id, Int, "", kLabel, "number of the slowest step")                            \
  C(median_tokens, Int, "", kLabel, "tokens that the median step computed")                    \
  C(slowest_tokens, Int, "", kLabel, "tokens that the slowest step computed")                  \
  C(median_start_ns, Int, "ns", kLabel, "begin of the median step")                            \
  C(slowest_start_ns, Int, "ns", kLabel, "begin of the slowest step")
SONDE_RESULT(EngineStepPartRow, kEngineStepPart, "engine_step_part", SONDE_COLUMNS_ENGINE_STEP_PART,
             "a part of the median and of the slowest engine step of a server")

}  // namespace sonde::recipes
