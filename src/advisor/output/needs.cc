#include "advisor/output/needs.h"

#include <array>

#include "base/strings.h"

namespace sonde::advisor {
namespace {

struct FactWords {
  std::string_view fact;  // as advisor/frame/trace_facts.h calls it
  std::string_view english;
  std::string_view chinese;
};
constexpr std::array<FactWords, 5> kFacts = {{
    {"is_ascend", "for Ascend NPUs alone", "仅用于昇腾 NPU"},
    {"is_other", "for devices other than Ascend NPUs", "仅用于昇腾 NPU 以外的设备"},
    {"has_pair", "for two traces (-bp)", "需要两份数据（-bp）"},
    {"has_no_benchmark", "for a trace without -bp", "仅用于没有 -bp 时"},
    {"is_single", "for a single rank and device", "仅用于单个 rank 和设备"},
}};

}  // namespace

std::string NeedText(const Silence& silence, Language language) {
  if (silence.is_failure) return silence.why;
  const bool is_english = language == Language::kEnglish;
  for (const FactWords& words : kFacts) {
    if (words.fact == silence.why) return std::string(is_english ? words.english : words.chinese);
  }
  return is_english ? base::Concat("without data (", silence.why, ")")
                    : base::Concat("没有数据（", silence.why, "）");
}

}  // namespace sonde::advisor
