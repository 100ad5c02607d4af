#include "cluster/parts/part_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/test_folder.h"
#include "cluster/parts/launch.h"

namespace sonde::cluster {
namespace {

struct KeptRow {
  std::string name;
  std::vector<int64_t> ns;
  double share = 0;
  bool operator==(const KeptRow&) const = default;
};

PartFile Example() {
  PartFile file{
      .facts = {.mode = "slow_rank", .options = "{}", .world = 3},
      .ranks =
          {{.rank = 0, .path = "/run/0", .importer = "capture"},
           {.rank = 2, .run = 1, .trace = 7, .path = "/run/2", .importer = "capture"},
           {.rank = 3, .path = "/run/3", .importer = "capture", .code = 5, .failure = "cut off"}},
      .parts = std::vector<Part>(3),
      .notices = {"rank 0: the data has faults", "it's \"quoted\""}};
  file.parts[0].Rows<KeptRow>() = {{"first", {1, 2}, -0.0}, {"\xff no text", {}, 0.1}};
  file.parts[1].Rows<KeptRow>() = {{"", {-1}, 1e300}};
  return file;
}

TEST(PartFile, RoundTrips) {
  const base::TestFolder folder;
  const std::string path = folder.File("slow_rank.parquet");
  auto files = PartFiles::Open();
  ASSERT_TRUE(files.ok()) << files.status().message();
  const PartFile file = Example();
  ASSERT_TRUE(files->Write(path, file).ok());
  const auto read = files->Read(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->facts.mode, "slow_rank");
  EXPECT_EQ(read->facts.world, 3);
  EXPECT_FALSE(read->facts.is_waits);
  EXPECT_EQ(read->notices, file.notices);
  EXPECT_TRUE(read->HasFailures());
  EXPECT_FALSE(read->HasPending());
  ASSERT_EQ(read->ranks.size(), 3U);
  EXPECT_EQ(read->ranks[1].trace, 7);
  EXPECT_EQ(read->ranks[2].failure, "cut off");
  EXPECT_EQ(read->parts[0].Rows<KeptRow>(), file.parts[0].Rows<KeptRow>());
  EXPECT_EQ(read->parts[1].Rows<KeptRow>(), file.parts[1].Rows<KeptRow>());
  EXPECT_TRUE(read->parts[2].empty());
  const auto one = files->Read(path, {2});
  ASSERT_TRUE(one.ok()) << one.status().message();
  ASSERT_EQ(one->ranks.size(), 1U);
  EXPECT_EQ(one->parts[0].Rows<KeptRow>(), file.parts[1].Rows<KeptRow>());
}

TEST(PartFile, WhatIsNoPartIsRefused) {
  const base::TestFolder folder;
  const std::string path = folder.File("slow_rank.parquet");
  auto files = PartFiles::Open();
  ASSERT_TRUE(files.ok());
  EXPECT_FALSE(files->Read(path).ok());
  ASSERT_TRUE(files->Write(path, Example()).ok());
  auto bytes = base::ReadFile(path);
  ASSERT_TRUE(bytes.ok());
  for (size_t cut = 0; cut < bytes->size(); cut += 1 + bytes->size() / 40) {
    ASSERT_TRUE(base::WriteFileAtomically(path, bytes->substr(0, cut)).ok());
    const auto read = files->Read(path);
    EXPECT_FALSE(read.ok()) << cut;
    EXPECT_NE(read.status().message().find(path), std::string::npos);
  }
}

TEST(PartFile, AnotherBuildIsRefused) {
  const base::TestFolder folder;
  const std::string path = folder.File("slow_rank.parquet");
  auto files = PartFiles::Open();
  ASSERT_TRUE(files.ok());
  ASSERT_TRUE(files->Write(path, Example()).ok());
  auto bytes = base::ReadFile(path);
  ASSERT_TRUE(bytes.ok());
  const std::string own = ProgramOfThis();
  const size_t place = bytes->find(own);
  ASSERT_NE(place, std::string::npos);
  bytes->replace(place, 1, "9");
  ASSERT_TRUE(base::WriteFileAtomically(path, *bytes).ok());
  const auto read = files->Read(path);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("map it again"), std::string::npos);
}

TEST(Place, IsReadFromWords) {
  EXPECT_EQ(ParsePlace("2/8")->number, 2);
  EXPECT_EQ(ParsePlace("0/1")->count, 1);
  for (const char* words : {"", "2", "8/8", "-1/2", "1/2/3", "a/b", "1/"}) {
    EXPECT_FALSE(ParsePlace(words).ok()) << words;
  }
}

}  // namespace
}  // namespace sonde::cluster
