// Findings of planted truths: which rank is slow, and when none is; texts in both languages.
#include "recipes/finding/finding.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/files.h"
#include "recipes/finding/slow_rank.h"

namespace sonde::recipes {
namespace {

constexpr int64_t kMs = 1'000'000;

std::vector<int64_t> Slow(const std::vector<RankWork>& ranks) {
  std::vector<int64_t> found;
  for (const Finding& finding : SlowRanks(ranks)) found.push_back(finding.rank);
  return found;
}

TEST(SlowRank, IsTheOneThatTheOthersWaitFor) {
  const std::vector<RankWork> ranks = {
      {0, 0, 0, 100 * kMs, 60 * kMs}, {0, 0, 1, 160 * kMs, 0}, {0, 0, 2, 102 * kMs, 58 * kMs}};
  const auto found = SlowRanks(ranks);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_NEAR(found[0].value, 100 * (160.0 / 102 - 1), 1e-9);
  EXPECT_EQ(TextOf(found[0], Language::kEnglish),
            "rank 1 is slow: it computes 56.8 % longer than the median rank of its stage, and the "
            "others wait for it");
  EXPECT_NE(TextOf(found[0], Language::kChinese).find("rank 1 较慢"), std::string::npos);
}

TEST(SlowRank, NoRankIsSlowWithoutEvidence) {
  EXPECT_EQ(Slow({{0, 0, 0, 100 * kMs, 10 * kMs}, {0, 0, 1, 160 * kMs, 8 * kMs}}),
            std::vector<int64_t>())
      << "the other does not wait";
  EXPECT_EQ(Slow({{0, 0, 0, 1 * kMs, 60 * kMs}, {1, 0, 1, 235 * kMs, 0}}), std::vector<int64_t>())
      << "two runs";
  EXPECT_EQ(Slow({{0, 0, 0, 100 * kMs, 60 * kMs}, {0, 1, 1, 160 * kMs, 0}}), std::vector<int64_t>())
      << "stages of a pipeline";
  EXPECT_EQ(Slow({{0, 0, 0, 100 * kMs, 4 * kMs}, {0, 0, 1, 104 * kMs, 0}}), std::vector<int64_t>())
      << "below the limit";
  EXPECT_EQ(Slow({{0, 0, 0, 100 * kMs, 60 * kMs}, {0, 0, 0, 160 * kMs, 0}}), std::vector<int64_t>())
      << "one rank twice: two runs that cannot be distinguished";
  EXPECT_EQ(Slow({{0, 0, -1, 100 * kMs, 60 * kMs}, {0, 0, -1, 160 * kMs, 0}}),
            std::vector<int64_t>());
  EXPECT_EQ(Slow({{0, 0, 0, 0, 60 * kMs}, {0, 0, 1, 160 * kMs, 0}}), std::vector<int64_t>())
      << "nothing was recorded of its computing";
  EXPECT_EQ(Slow({}), std::vector<int64_t>());
}

TEST(SlowRank, EachStageIsComparedByItself) {
  EXPECT_EQ(Slow({{0, 0, 0, 100 * kMs, 70 * kMs},
                  {0, 0, 1, 170 * kMs, 0},
                  {0, 1, 2, 300 * kMs, 1 * kMs},
                  {0, 1, 3, 301 * kMs, 0}}),
            std::vector<int64_t>({1}));
}

struct Text {
  std::string_view key;
  std::string_view english;
  std::string_view chinese;
};
#define TEXT(key, english, chinese) Text{key, english, chinese},
constexpr Text kTexts[] = {
#include "recipes/finding/texts.inc"
};
#undef TEXT

std::multiset<std::string> Places(std::string_view text) {
  std::multiset<std::string> places;
  for (size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    places.emplace(text.substr(at, 2));
  }
  return places;
}

TEST(FindingTexts, HaveTheSameArgumentsInBothLanguages) {
  std::set<std::string_view> keys;
  for (const Text& text : kTexts) {
    EXPECT_TRUE(keys.insert(text.key).second) << text.key;
    EXPECT_EQ(Places(text.english), Places(text.chinese)) << text.key;
    EXPECT_NE(text.english, text.chinese) << text.key;
  }
}

// The texts between quotes, up to the end of a declaration, joined: the code of an issue is the
// first, its advice the rest.
std::string AdviceOf(std::string_view declaration) {
  std::string advice;
  size_t texts = 0;
  for (size_t at = declaration.find('"'); at != std::string_view::npos;
       at = declaration.find('"', at + 1)) {
    for (++at; declaration[at] != '"'; ++at) {
      if (declaration[at] == '\\') ++at;
      if (texts > 0) advice += declaration[at];
    }
    ++texts;
  }
  return advice;
}

std::vector<std::string> AllAdvice() {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  for (const char* folder : {"/src/importers", "/src/store"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(SONDE_SOURCE_DIR + std::string(folder))) {
      const std::string path = entry.path();
      if (path.ends_with("_test.cc") || !(path.ends_with(".cc") || path.ends_with(".h"))) continue;
      const std::string text = *base::ReadFile(path);
      constexpr std::string_view kDeclaration = "IssueKind k";
      for (size_t at = text.find(kDeclaration); at != std::string::npos;
           at = text.find(kDeclaration, at + 1)) {
        const std::string_view rest = std::string_view(text).substr(at);
        all.push_back(AdviceOf(rest.substr(0, rest.find("};"))));
      }
    }
  }
  return all;
}

TEST(FindingTexts, AdviceOfImportersIsThereInBothLanguages) {
  size_t known = 0;
  for (const std::string& advice : AllAdvice()) {
    if (advice.empty()) continue;  // it is of the data
    ++known;
    EXPECT_EQ(advice.find_first_of("{}|@"), std::string::npos) << advice;
    EXPECT_EQ(FilledText(advice, {}, Language::kEnglish), advice) << "is not in advice.inc";
    EXPECT_NE(FilledText(advice, {}, Language::kChinese), advice);
  }
  EXPECT_GT(known, 90U);
}

TEST(FindingTexts, AdviceIsInTheRequestedLanguage) {
  TraceData data;
  data.issues = {{"warning", "negative_duration", 3,
                  "something ends before it begins; its duration was taken as 0"},
                 {"error", "file_unreadable", 1, "@home cannot be read: a|b"}};
  DeviceView view;
  view.data = &data;
  const auto findings = FindingsOf(view);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(TextOf(findings[1], Language::kChinese),
            "negative_duration（3 处）：结束早于开始；时长按 0 处理");
  EXPECT_EQ(TextOf(findings[1], Language::kEnglish),
            "negative_duration (3): something ends before it begins; its duration was taken as 0");
  EXPECT_EQ(TextOf(findings[0], Language::kChinese),
            "file_unreadable（1 处）：@home cannot be read: a|b");
}

TEST(FindingTexts, NounsAgreeWithTheirNumber) {
  EXPECT_EQ(FilledText("cluster.last_rank", {"5", "1", "step 0"}, Language::kEnglish),
            "rank 5 came last in 1 collective, first in step 0: the others waited for it");
  EXPECT_EQ(FilledText("cluster.last_rank", {"5", "11", "step 0"}, Language::kEnglish),
            "rank 5 came last in 11 collectives, first in step 0: the others waited for it");
}

TEST(FindingTexts, AnArgumentMayBeAText) {
  const std::vector<std::string> arguments = {"r7", "90.0", "@slow_request.queue|40.0 ms"};
  EXPECT_EQ(FilledText("slow_request", arguments, Language::kEnglish),
            "request r7 took 90.0 ms: queued for 40.0 ms");
  EXPECT_EQ(FilledText("slow_request", arguments, Language::kChinese),
            "请求 r7 用了 90.0 ms：排队 40.0 ms");
  EXPECT_EQ(FilledText("no such key", {}, Language::kEnglish), "");
}

}  // namespace
}  // namespace sonde::recipes
