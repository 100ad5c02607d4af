#include "precision/output/advice.h"

namespace sonde::precision {

std::string_view AdviceOf(CauseKind kind) {
  switch (kind) {
    case CauseKind::kWeight:
      return "Compare checkpoint, initialisation and seeds; load the same weights and dump again.";
    case CauseKind::kInput:
      return "Compare what the program feeds in: data, masks, positions, caches.";
    case CauseKind::kArgument:
      return "Compare the configurations of both runs.";
    case CauseKind::kOperator:
      return "Run this one call by itself on both sides, with its tensors saved (task tensor).";
    case CauseKind::kCalls:
      return "Compare the two versions of the code around this place.";
    case CauseKind::kDtype:
      return "Compare autocast, model type and casts in front of this call.";
    case CauseKind::kShape:
      return "Compare the same request, batch and step, and the padding.";
    case CauseKind::kNotFinite:
      return "Look for a division, logarithm or root at its limit, or a row that is masked "
             "completely.";
    case CauseKind::kRandom:
      return "Seed both runs alike (seed_all), or switch the random call off.";
    case CauseKind::kOtherRank:
      return "Read the comparisons of the other ranks of this step.";
    case CauseKind::kOptimizer:
      return "Compare the optimizer: learning rate and schedule, weight decay, betas, eps, "
             "gradient clipping.";
    case CauseKind::kChecksum:
      return "Dump statistics or tensors: they distinguish rounding from a fault.";
    default:
      return "";
  }
}

}  // namespace sonde::precision
