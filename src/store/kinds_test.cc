// Files made from the list of kinds (capture/kinds.h): the reference page, the page's list.
#include "capture/kinds.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/golden_file.h"
#include "base/strings.h"

namespace sonde::store {
namespace {

using base::Concat;

std::string Code(std::string_view text) { return text.empty() ? "" : Concat("`", text, "`"); }

std::string Markdown() {
  std::string out =
      "# Kinds\n\nMade from `src/capture/kinds.h`: `make golden` rewrites this page.\n\n"
      "## Tracks\n\nThe column `kind` of the table `track`, and the family under which the page "
      "shows it.\n\n| Kind | Family | Content |\n|---|---|---|\n";
  for (const auto& info : capture::kTrackKinds) {
    out += Concat("| ", Code(info.text), " | ", info.family, " | ", info.meaning, " |\n");
  }
  out +=
      "\n## Scopes\n\nThe column `scope` of the table `framework_op`, and the category in files "
      "of Kineto's form.\n\n| Number | Category | Scope |\n|---|---|---|\n";
  for (const auto& info : capture::kScopes) {
    out += Concat("| ", std::to_string(capture::NumberOf(info.scope)), " | ",
                  Code(info.kineto_category), " | ", info.meaning, " |\n");
  }
  out +=
      "\n## Records of a capture\n\nBelow 32 ranges, the others moments "
      "([capture-format.md](../capture-format.md)); their category in the table `slice`, their "
      "scope and their track.\n\n| Number | Category | Scope | Track | Record |\n"
      "|---|---|---|---|---|\n";
  for (const auto& info : capture::kRecordKinds) {
    const bool is_slice = !info.category.empty();
    out += Concat(
        "| ", std::to_string(static_cast<int>(info.kind)), " | ", Code(info.category), " | ",
        info.scope == capture::Scope::kNone ? "" : std::to_string(capture::NumberOf(info.scope)),
        " | ", is_slice ? Code(capture::TextOf(info.track)) : "", " | ", info.meaning, " |\n");
  }
  return out;
}

std::string TypeScript() {
  std::string out =
      "// Made from src/capture/kinds.h: `make golden` rewrites it.\n\n"
      "/** The family under which a track is shown, by its kind. */\n"
      "export const FAMILY_OF_KIND: Readonly<Record<string, string>> = {\n";
  for (const auto& info : capture::kTrackKinds) {
    out += Concat("  ", info.text, ": \"", info.family, "\",\n");
  }
  return out + "};\n";
}

TEST(Kinds, ReferencePageIsCurrent) {
  base::ExpectCurrent(SONDE_SOURCE_DIR "/docs/reference/kinds.md", Markdown());
}

TEST(Kinds, ListOfThePageIsCurrent) {
  base::ExpectCurrent(SONDE_SOURCE_DIR "/web/src/api/kinds.ts", TypeScript());
}

TEST(Kinds, AreDistinct) {
  std::set<std::string_view> texts;
  for (const auto& info : capture::kTrackKinds) {
    EXPECT_TRUE(texts.insert(info.text).second) << info.text;
    EXPECT_EQ(capture::TrackKindOf(info.text), info.kind);
  }
  EXPECT_FALSE(capture::TrackKindOf("no such kind"));
  std::set<int> numbers;
  for (const auto& info : capture::kRecordKinds) {
    EXPECT_TRUE(numbers.insert(static_cast<int>(info.kind)).second) << info.meaning;
    EXPECT_EQ(capture::InfoOf(info.kind).meaning, info.meaning);
  }
  // Unknown kinds have no description.
  EXPECT_TRUE(capture::InfoOf(static_cast<capture::RecordKind>(63)).category.empty());
  EXPECT_TRUE(capture::InfoOf(static_cast<capture::RecordKind>(200)).category.empty());
}

}  // namespace
}  // namespace sonde::store
