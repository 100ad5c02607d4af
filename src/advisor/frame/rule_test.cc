// Files of rules: valid ones, errors of invalid ones, and ours.
#include "advisor/frame/rule.h"

#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "base/test_folder.h"

namespace sonde::advisor {
namespace {

constexpr char kRule[] = R"(
rule: slow_copies
section: computation
order: 7
confidence: 0.5
needs: [device_task]
limits:
  least_us: {value: 10, unit: us, source: measured}
title: Slow copies
description: {en: "{occurrences} copies", cn: "{occurrences} 个拷贝"}
suggestions:
  - {en: Copy less, cn: 少拷贝}
rows: SELECT name FROM device_task
)";

TEST(Rule, IsReadWithBothLanguages) {
  const auto rule = ParseRule(kRule, "slow_copies");
  ASSERT_TRUE(rule.ok()) << rule.status().message();
  EXPECT_EQ(rule->name, "slow_copies");
  EXPECT_EQ(rule->section, Section::kComputation);
  EXPECT_EQ(rule->dimension, Section::kComputation);
  EXPECT_EQ(rule->order, 7);
  EXPECT_EQ(rule->confidence, 0.5);
  EXPECT_EQ(rule->title.In(Language::kChinese), "Slow copies");
  EXPECT_EQ(rule->description.In(Language::kChinese), "{occurrences} 个拷贝");
  ASSERT_EQ(rule->limits.size(), 1U);
  EXPECT_EQ(rule->limits[0].source, "measured");
  ASSERT_EQ(rule->suggestions.size(), 1U);
  EXPECT_EQ(rule->suggestions[0].text.In(Language::kEnglish), "Copy less");
}

std::string WhyNot(std::string_view from, std::string_view to) {
  const std::string text(kRule);
  const size_t at = text.find(from);
  const auto rule =
      ParseRule(text.substr(0, at) + std::string(to) + text.substr(at + from.size()), "r.yaml");
  return rule.ok() ? "" : std::string(rule.status().message());
}

TEST(Rule, ErrorsNameTheFault) {
  EXPECT_EQ(WhyNot("order: 7", "order: x"), "rule r.yaml: 'order' is a whole number, not 'x'");
  EXPECT_EQ(WhyNot("confidence: 0.5", "confidence: 2"),
            "rule r.yaml: 'confidence' is a number from 0 to 1, not '2'");
  EXPECT_EQ(WhyNot("section: computation", "section: cooking"),
            "rule r.yaml: 'section' is one of overall, comparison, memory, communication, "
            "computation, dataloader, schedule, serving, not 'cooking'");
  EXPECT_EQ(WhyNot("rows: SELECT name FROM device_task", ""),
            "rule r.yaml: it needs 'rows', the statement that finds");
  EXPECT_EQ(WhyNot("title: Slow copies", "tilte: x"), "rule r.yaml: 'tilte' is no part of a rule");
  EXPECT_EQ(WhyNot("value: 10", "value: ten"),
            "rule r.yaml: limit 'least_us' needs a number as its value");
  EXPECT_EQ(WhyNot(", source: measured", ""), "rule r.yaml: limit 'least_us' has no source");
  EXPECT_NE(WhyNot("title: Slow copies", "title: ["), "");
}

TEST(Rule, OursAreAllWhole) {
  const auto rules = LoadRules({});
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  std::set<std::string> names;
  for (const Rule& rule : rules->rules) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.title.chinese.empty()) << rule.name;
    EXPECT_FALSE(rule.description.chinese.empty()) << rule.name;
    EXPECT_GT(rule.order, 0) << rule.name;
  }
}

TEST(Rule, RulesOfUsersAddToOursOrReplaceThem) {
  const base::TestFolder folder;
  const auto ours = LoadRules({});
  ASSERT_TRUE(ours.ok());
  ASSERT_TRUE(base::WriteFileAtomically(folder.File("a.yaml"), kRule).ok());
  auto rules = LoadRules({folder.path()});
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  EXPECT_EQ(rules->rules.size(), ours->rules.size() + 1);
  std::string same(kRule);
  same.replace(same.find("slow_copies"), 11, ours->rules.front().name);
  ASSERT_TRUE(base::WriteFileAtomically(folder.File("a.yaml"), same).ok());
  rules = LoadRules({folder.path()});
  ASSERT_TRUE(rules.ok());
  EXPECT_EQ(rules->rules.size(), ours->rules.size());
  ASSERT_TRUE(base::WriteFileAtomically(folder.File("a.yaml"), "a: [").ok());
  EXPECT_FALSE(LoadRules({folder.path()}).ok());
  EXPECT_FALSE(LoadRules({folder.File("none")}).ok());
}

}  // namespace
}  // namespace sonde::advisor
