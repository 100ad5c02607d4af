// Causes and verdicts of a comparison, and the words for them.
//
// Tables have the English words. Those of both languages stand in recipes/finding/texts.inc, as
// compare.cause.KEY, compare.verdict.KEY, compare.stage.NAME and compare.measure.NAME. A new cause
// is a line here and its text there. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipes/finding/finding.h"

namespace sonde::compare {

// work: something else is done; time: the same takes another time.
enum class CauseKind : uint8_t { kWork, kTime };

// C(cause, key of its text, kind)
#define SONDE_COMPARE_CAUSES(C)                            \
  C(kAppeared, appeared, kWork)                            \
  C(kVanished, vanished, kWork)                            \
  C(kOtherKernels, kernels, kWork)                         \
  C(kOtherShapes, shapes, kWork)                           \
  C(kOtherTypes, types, kWork)                             \
  C(kCalls, calls, kWork)                                  \
  C(kSpeed, speed, kTime)                                  \
  C(kTime, time, kTime)       /* shapes are unknown */     \
  C(kHost, host, kTime)       /* outside of operators */   \
  C(kIdle, idle, kTime)       /* the device */             \
  C(kExposed, exposed, kTime) /* communication */          \
  C(kMachine, machine, kTime) /* all work by one factor */ \
  C(kUnsized, unsized, kTime) /* the same without shapes: a larger batch looks alike */

// C(verdict, key of its text)
#define SONDE_COMPARE_VERDICTS(C) \
  C(kChanged, changed)            \
  C(kUnchanged, unchanged)        \
  C(kTooNoisy, too_noisy)         \
  C(kOneStep, one_step)           \
  C(kAppeared, appeared)          \
  C(kVanished, vanished)

#define SONDE_ENUMERATOR(name, ...) name,
enum class CauseWord : uint8_t { SONDE_COMPARE_CAUSES(SONDE_ENUMERATOR) };
// Of nodes of the tree alone: appeared and vanished.
enum class Verdict : uint8_t { SONDE_COMPARE_VERDICTS(SONDE_ENUMERATOR) };
#undef SONDE_ENUMERATOR

CauseKind KindOf(CauseWord cause);

// As tables have them.
std::string_view TextOf(CauseKind kind);
std::string_view TextOf(CauseWord cause);
std::string_view TextOf(Verdict verdict);
std::string TextOf(CauseWord cause, recipes::Language language);

// What stands in cells of the tables, each with the words for it in a language.
std::vector<std::pair<std::string, std::string>> WordsOf(recipes::Language language);

}  // namespace sonde::compare
