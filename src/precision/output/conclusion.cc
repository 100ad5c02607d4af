#include "precision/output/conclusion.h"

#include <algorithm>
#include <set>

#include "base/count_of.h"
#include "base/strings.h"
#include "precision/cause/evidence.h"
#include "precision/cause/roles.h"
#include "precision/compare/pairing.h"
#include "precision/output/advice.h"

namespace sonde::precision {
namespace {

using base::Concat;

// Folders of packages whose frames stand between the program and the probe.
// Frameworks and recorders, as installed packages and as source trees.
constexpr std::string_view kPackages = "-packages/";
constexpr std::string_view kBetween[] = {"torch/", "sonde/", "mindspore/", "msprobe/"};
constexpr std::string_view kBetweenSources[] = {
    "/torch/nn/", "/torch/utils/", "/torch/optim/",     "/torch/autograd/", "/torch/distributed/",
    "/torch/_",   "/sonde/torch/", "/sonde/mindspore/", "/mindspore/",      "/msprobe/"};

bool IsBetween(std::string_view path) {
  const size_t packages = path.rfind(kPackages);
  if (packages != std::string_view::npos) {
    const std::string_view inside = path.substr(packages + kPackages.size());
    return std::any_of(std::begin(kBetween), std::end(kBetween),
                       [inside](std::string_view name) { return inside.starts_with(name); });
  }
  return std::any_of(std::begin(kBetweenSources), std::end(kBetweenSources),
                     [path](std::string_view part) { return path.find(part) != path.npos; });
}

bool IsFinding(const PairFinding& pair) { return pair.is_compared && pair.cause.IsFinding(); }

// A finding that stands for itself, and is not another rank's.
bool IsOwn(const PairFinding& pair) {
  return IsFinding(pair) && pair.cause.kind != CauseKind::kOtherRank;
}

bool IsSame(const PairFinding& a, const PairFinding& b) {
  return a.cause.kind == b.cause.kind &&
         WithoutCallNumber(a.cause.place) == WithoutCallNumber(b.cause.place);
}

// Whether the first finding is the reason of this one, which is of another rank or step.
bool FollowsFrom(const PairFinding& pair, const PairFinding& first) {
  if (pair.cause.kind == CauseKind::kOtherRank || IsSame(pair, first)) return true;
  if (pair.step == first.step || !first.is_training) return false;
  // An update makes other weights of other gradients; it makes no other arguments, types and
  // shapes.
  switch (pair.cause.kind) {
    case CauseKind::kArgument:
    case CauseKind::kDtype:
    case CauseKind::kShape:
      return false;
    default:
      return true;
  }
}

std::string NumbersText(std::string_view word, const std::set<int64_t>& numbers, size_t all) {
  constexpr size_t kShown = 8;
  if (all > 1 && numbers.size() == all) return Concat("all ", word, "s");
  std::string out = Concat(word, numbers.size() == 1 ? " " : "s ");
  size_t shown = 0;
  for (const int64_t number : numbers) {
    if (shown == kShown) {
      out += Concat(" and ", std::to_string(numbers.size() - kShown), " more");
      break;
    }
    out += Concat(shown++ == 0 ? "" : ", ", std::to_string(number));
  }
  return out;
}

std::string WhereText(const PairFinding& pair) {
  std::string out = Concat(CauseText(pair.cause.kind), " at ", pair.cause.place);
  const std::string module = ModulePath(pair.cause.module);
  const bool is_named = module.empty() || pair.cause.place.find(module + ".") != std::string::npos;
  if (!is_named) out += Concat(" in ", module);
  if (!pair.detail.empty()) out += Concat(": ", pair.detail);
  if (!pair.source.empty()) out += Concat(" (", pair.source, ")");
  return out;
}

std::string AgreementText(const std::vector<PairFinding>& pairs) {
  uint64_t unreadable = 0;
  size_t failed = 0;
  const PairFinding* largest = nullptr;
  const PairFinding* argument = nullptr;
  bool hides_elements = false;
  for (const PairFinding& pair : pairs) {
    if (!pair.is_compared) {
      ++failed;
      continue;
    }
    hides_elements = hides_elements || pair.cause.hides_elements;
    unreadable += pair.cause.unreadable;
    const bool more =
        pair.cause.kind == CauseKind::kRounding &&
        (largest == nullptr || pair.cause.largest_share > largest->cause.largest_share);
    if (more) largest = &pair;
    if (argument == nullptr && !pair.cause.unseen_argument.empty()) argument = &pair;
  }
  std::string out = largest == nullptr ? "none: all compared values are equal"
                                       : "none: nothing but rounding differs";
  if (argument != nullptr) {
    out += Concat("; an argument differs, which no result shows: ", argument->cause.unseen_argument,
                  argument->source.empty() ? "" : Concat(" (", argument->source, ")"));
  }
  if (hides_elements) {
    out += "; single wrong elements do not show in statistics of 16-bit types (dump tensors)";
  }
  if (unreadable > 0)
    out += Concat("; ", base::CountOf(unreadable, "value was", "values were"), " not compared");
  if (failed > 0) out += Concat("; ", base::CountOf(failed, "pair"), " could not be compared");
  return out;
}

}  // namespace

Conclusion ConcludeAll(const std::vector<PairFinding>& pairs) {
  Conclusion out;
  const PairFinding* first = nullptr;
  std::set<int64_t> all_ranks;
  std::set<int64_t> steps;
  for (const PairFinding& pair : pairs) {
    all_ranks.insert(pair.rank);
    steps.insert(pair.step);
    const bool own = IsOwn(pair);
    const bool earlier = first == nullptr || pair.step < first->step ||
                         (pair.step == first->step && own && !IsOwn(*first));
    if (IsFinding(pair) && earlier) first = &pair;
  }
  if (first == nullptr) {
    out.line = AgreementText(pairs);
    return out;
  }
  out.differs = true;
  out.first = static_cast<size_t>(first - pairs.data());
  std::set<int64_t> ranks;
  bool later = false;
  for (const PairFinding& pair : pairs) {
    if (!IsFinding(pair) || &pair == first) continue;
    if (pair.step == first->step && IsSame(pair, *first)) ranks.insert(pair.rank);
    later = later || (pair.step > first->step && FollowsFrom(pair, *first));
    if (!FollowsFrom(pair, *first)) {
      out.further.push_back(Concat("step ", std::to_string(pair.step), ", rank ",
                                   std::to_string(pair.rank), ": ", WhereText(pair)));
    }
  }
  ranks.insert(first->rank);
  if (steps.size() > 1) out.line += Concat("step ", std::to_string(first->step), ", ");
  if (all_ranks.size() > 1) out.line += Concat(NumbersText("rank", ranks, all_ranks.size()), ", ");
  out.line += WhereText(*first);
  if (later) {
    out.line += first->is_training ? "; later steps follow from it" : "; later steps show the same";
  }
  const std::string_view advice = AdviceOf(first->cause.kind);
  if (!advice.empty()) out.line += Concat(". ", advice);
  return out;
}

std::string DetailOf(const FirstCause& cause, Mode mode) {
  if (cause.kind == CauseKind::kWeight || cause.kind == CauseKind::kCalls) return cause.how;
  if (cause.target_row == nullptr || cause.golden_row == nullptr) return {};
  if (cause.kind == CauseKind::kDtype) {
    return Concat(cause.target_row->dtype, " against ", cause.golden_row->dtype);
  }
  if (cause.kind == CauseKind::kShape) {
    return Concat(cause.target_row->shape, " against ", cause.golden_row->shape);
  }
  if (cause.kind != CauseKind::kArgument) return {};
  const auto text_of = [mode](const DumpRow& row) {
    return row.kind == LeafKind::kTensor ? Concat("a tensor ", row.shape, " ", row.dtype)
                                         : ValueText(&row, mode);
  };
  return Concat(text_of(*cause.target_row), " against ", text_of(*cause.golden_row));
}

std::string SourceOf(const StackFile& stack, std::string_view api) {
  const int32_t index = stack.Find(api);
  if (index == StackFile::kNoStack) return {};
  for (const std::string& frame : stack.Frames(index)) {
    // "File /a/b.py, line 60, in forward, \n code"
    constexpr std::string_view kFile = "File ";
    constexpr std::string_view kLine = ", line ";
    const size_t line = frame.find(kLine);
    if (!frame.starts_with(kFile) || line == std::string::npos) continue;
    const std::string_view path = std::string_view(frame).substr(kFile.size(), line - kFile.size());
    if (IsBetween(path)) continue;
    const size_t number = line + kLine.size();
    const size_t end = frame.find(',', number);
    return Concat(path.substr(path.rfind('/') + 1), ":",
                  std::string_view(frame).substr(number, end - number));
  }
  return {};
}

}  // namespace sonde::precision
