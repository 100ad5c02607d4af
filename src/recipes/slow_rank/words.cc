#include "recipes/slow_rank/words.h"

#include "base/strings.h"

namespace sonde::recipes::slow_rank {
namespace {

using base::Concat;

constexpr size_t kLongestName = 100;

// Of the trace: without the characters that separate arguments, and not too long for a sentence.
std::string Plain(std::string_view text) {
  std::string plain = base::ReplaceAll(text, "|", "/");
  if (plain.starts_with('@')) plain.insert(0, "'");
  if (plain.size() > kLongestName) plain = Concat(plain.substr(0, kLongestName), "...");
  return plain;
}

std::string Argument(std::string_view key, const std::vector<std::string>& arguments) {
  std::string text = Concat("@", key);
  for (const std::string& argument : arguments) text += Concat("|", argument);
  return text;
}

std::string_view ActivityKey(HostActivity activity) {
  switch (activity) {
    case HostActivity::kDataLoading:
      return "@slow.data_loading";
    case HostActivity::kGarbageCollection:
      return "@slow.garbage_collection";
    case HostActivity::kLock:
      return "@slow.lock";
    case HostActivity::kCompilation:
      return "@slow.compilation";
    case HostActivity::kMemory:
      return "@slow.memory";
    case HostActivity::kSaving:
      return "@slow.saving";
    case HostActivity::kUnknown:
    case HostActivity::kOther:
      break;
  }
  return "@slow.in";
}

std::string HostText(const Cause& cause) {
  const std::string longer = Duration(cause.ns);
  if (cause.activity == HostActivity::kUnknown) return Argument("slow.host_unknown", {longer});
  return Argument("slow.host",
                  {longer, std::string(ActivityKey(cause.activity)), Plain(cause.what)});
}

std::string KernelText(const Cause& cause) {
  const std::string percent = Fixed(100 * cause.factor, 1);
  if (cause.kind == CauseKind::kFrequency) {
    if (cause.own <= 0 || cause.others <= 0) return Argument("slow.all_kernels", {percent});
    return Argument("slow.frequency", {percent, Fixed(cause.own, 0), Fixed(cause.others, 0)});
  }
  std::vector<std::string> arguments = {Plain(cause.what), Duration(cause.own),
                                        Duration(cause.others), percent, Fixed(cause.calls, 0)};
  if (cause.shapes.empty()) return Argument("slow.kernel_without_shapes", arguments);
  arguments.push_back(Plain(cause.shapes));
  return Argument("slow.kernel", arguments);
}

std::string MoreText(const Cause& cause) {
  const bool has_more_calls = cause.own > 1.005 * cause.others;
  if (has_more_calls) {
    return Argument("slow.more_calls",
                    {Plain(cause.what), Fixed(cause.own, 1), Fixed(cause.others, 1)});
  }
  if (cause.shapes.empty() || cause.shapes == cause.of_others) {
    return Argument("slow.more", {Plain(cause.what)});
  }
  return Argument("slow.larger", {Plain(cause.what), Plain(cause.shapes), Plain(cause.of_others)});
}

}  // namespace

std::string Duration(double ns) { return base::FormatDuration(static_cast<int64_t>(ns)); }

std::string SinceText(const Excess& excess, const std::vector<int64_t>& steps) {
  const int64_t first = steps[excess.steps.front()];
  if (steps.size() == 1) {
    return first < 0 ? "@slow.whole" : Argument("slow.in_step", {std::to_string(first)});
  }
  if (excess.is_steady) {
    if (excess.steps.size() == steps.size()) {
      if (excess.slower_count == steps.size()) return "@slow.always";
      return Argument("slow.on_average",
                      {std::to_string(excess.slower_count), std::to_string(steps.size())});
    }
    return Argument("slow.since", {std::to_string(first)});
  }
  return Argument("slow.in_some", {std::to_string(excess.steps.size()),
                                   std::to_string(steps.size()), std::to_string(first)});
}

std::string CauseText(const Cause& cause) {
  switch (cause.kind) {
    case CauseKind::kKernel:
    case CauseKind::kFrequency:
      return KernelText(cause);
    case CauseKind::kWork:
      return MoreText(cause);
    case CauseKind::kCopy:
      return Argument("slow.copies",
                      {Plain(cause.what), Duration(cause.own), Duration(cause.others)});
    case CauseKind::kHost:
      return HostText(cause);
    case CauseKind::kDevice:
      return Argument("slow.device", {Duration(cause.ns)});
    case CauseKind::kLink:
      break;  // is a sentence of its own
  }
  return {};
}

}  // namespace sonde::recipes::slow_rank
