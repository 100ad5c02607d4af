#include "compare/verdict/words.h"

#include <array>

#include "base/strings.h"

namespace sonde::compare {
namespace {

using base::Concat;

#define SONDE_KEY(name, key, ...) #key,
constexpr auto kCauseKeys = std::to_array<std::string_view>({SONDE_COMPARE_CAUSES(SONDE_KEY)});
constexpr auto kVerdictKeys = std::to_array<std::string_view>({SONDE_COMPARE_VERDICTS(SONDE_KEY)});
#undef SONDE_KEY
#define SONDE_KIND(name, key, kind) CauseKind::kind,
constexpr auto kKinds = std::to_array<CauseKind>({SONDE_COMPARE_CAUSES(SONDE_KIND)});
#undef SONDE_KIND

constexpr std::string_view kCause = "compare.cause.";
constexpr std::string_view kVerdict = "compare.verdict.";

std::string Text(std::string_view what, std::string_view key, recipes::Language language) {
  return recipes::FilledText(Concat(what, key), {}, language);
}

template <size_t count>
std::array<std::string, count> EnglishOf(std::string_view what,
                                         const std::array<std::string_view, count>& keys) {
  std::array<std::string, count> texts;
  for (size_t i = 0; i < count; ++i) texts[i] = Text(what, keys[i], recipes::Language::kEnglish);
  return texts;
}

}  // namespace

CauseKind KindOf(CauseWord cause) { return kKinds[static_cast<size_t>(cause)]; }

std::string_view TextOf(CauseKind kind) { return kind == CauseKind::kWork ? "work" : "time"; }

std::string TextOf(CauseWord cause, recipes::Language language) {
  return Text(kCause, kCauseKeys[static_cast<size_t>(cause)], language);
}

std::string_view TextOf(CauseWord cause) {
  static const auto texts = EnglishOf(kCause, kCauseKeys);
  return texts[static_cast<size_t>(cause)];
}

std::string_view TextOf(Verdict verdict) {
  static const auto texts = EnglishOf(kVerdict, kVerdictKeys);
  return texts[static_cast<size_t>(verdict)];
}

std::vector<std::pair<std::string, std::string>> WordsOf(recipes::Language language) {
  std::vector<std::pair<std::string, std::string>> words;
  const auto add = [&](std::string_view what, std::string_view key) {
    words.emplace_back(Text(what, key, recipes::Language::kEnglish), Text(what, key, language));
  };
  for (const std::string_view key : kCauseKeys) add(kCause, key);
  for (const std::string_view key : kVerdictKeys) add(kVerdict, key);
  for (const std::string_view name :
       {"step", "computing", "communication", "free", "outside", "program"}) {
    words.emplace_back(name, Text("compare.stage.", name, language));
  }
  // Others have their names everywhere: TTFT, TPOT.
  for (const std::string_view name : {"queue", "batch", "engine step"}) {
    words.emplace_back(name, Text("compare.measure.", name, language));
  }
  return words;
}

}  // namespace sonde::compare
