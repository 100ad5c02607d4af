// Findings of planted truths: which rank is slow, and when none is; texts in both languages.
#include "recipes/finding/finding.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/files.h"

namespace sonde::recipes {
namespace {

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
  EXPECT_EQ(FilledText("cluster.groups", {"1", "1 dp"}, Language::kEnglish),
            "1 group communicates: 1 dp");
  EXPECT_EQ(FilledText("cluster.groups", {"11", "11 dp"}, Language::kEnglish),
            "11 groups communicate: 11 dp");
}

TEST(FindingTexts, AnArgumentMayBeAText) {
  const std::vector<std::string> arguments = {"@request_cause.queue|40.0 ms",
                                              "@request_cause.rank_wait|1.50 s|3"};
  EXPECT_EQ(FilledText("request_reason.two", arguments, Language::kEnglish),
            "waited 40.0 ms longer in the engine's queue, and waited 1.50 s for rank 3, for which "
            "the other ranks waited");
  EXPECT_EQ(FilledText("request_reason.two", arguments, Language::kChinese),
            "在引擎队列中多等了 40.0 ms，并且等待 rank 3 1.50 s，其他 rank 也在等它");
  EXPECT_EQ(FilledText("no such key", {}, Language::kEnglish), "");
}

}  // namespace
}  // namespace sonde::recipes
