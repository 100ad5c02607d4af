#include "precision/archive/zip_file.h"

#include <gtest/gtest.h>

namespace sonde::precision {
namespace {

constexpr size_t kMost = 1 << 20;

std::vector<std::pair<std::string, std::string>> Members() {
  return {{"env", "{}"}, {"folder/pip", std::string(5000, 'x')}, {"empty", ""}};
}

TEST(ZipFile, PackedMembersAreRead) {
  const std::string file = MakeZip(Members());
  const auto names = ZipNames(file);
  ASSERT_TRUE(names.ok()) << names.status().message();
  EXPECT_EQ(*names, (std::vector<std::string>{"env", "folder/pip", "empty"}));
  for (const auto& [name, content] : Members()) {
    const auto member = ReadZipMember(file, name, kMost);
    ASSERT_TRUE(member.ok() && member->has_value()) << name;
    EXPECT_EQ(**member, content);
  }
  const auto missing = ReadZipMember(file, "other", kMost);
  ASSERT_TRUE(missing.ok());
  EXPECT_FALSE(missing->has_value());
}

TEST(ZipFile, LargeMembersAreRefusedAndComeInPieces) {
  const std::string content(3 * kMost, 'x');
  const std::string file = MakeZip({{"large", content}});
  const auto member = ReadZipMember(file, "large", kMost);
  EXPECT_EQ(member.status().message(), "its part 'large' is larger than 1.0 MiB");
  std::string pieces;
  size_t largest = 0;
  const auto streamed = StreamZipMember(file, "large", [&](std::string_view piece) {
    largest = std::max(largest, piece.size());
    pieces += piece;
    return Status();
  });
  EXPECT_TRUE(streamed.ok() && *streamed);
  EXPECT_EQ(pieces, content);
  EXPECT_LE(largest, kMost / 4);
}

TEST(ZipFile, TruncatedAtEveryByteIsRefusedOrWhole) {
  const std::string file = MakeZip({{"env", "{\"a\": 1}"}, {"pip", "x"}});
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(ZipNames(std::string_view(file).substr(0, size)).ok()) << size;
  }
}

TEST(ZipFile, ChangedBytesNeverCrash) {
  const std::string file = MakeZip(Members());
  for (size_t at = 0; at < file.size(); ++at) {
    if (at > 80 && at < 5000) continue;  // content
    std::string changed = file;
    changed[at] = static_cast<char>(~changed[at]);
    const auto names = ZipNames(changed);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      const auto member = ReadZipMember(changed, name, kMost);
      EXPECT_TRUE(member.ok() || !member.status().message().empty());
    }
  }
}

}  // namespace
}  // namespace sonde::precision
