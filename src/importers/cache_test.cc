#include "importers/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <string>

#include "base/files.h"
#include "base/test_folder.h"

namespace sonde::importers {
namespace {

constexpr int64_t kNow = 2'000'000'000;
constexpr int64_t kDay = 86400;

class CacheTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return base::JoinPath(folder_.path(), name); }

  void Make(const std::string& name, int64_t age_s) {
    ASSERT_TRUE(base::WriteFileAtomically(Path(name), std::string(size_t{64} << 10U, 'x')).ok());
    const timespec time{kNow - age_s, 0};
    const std::array<timespec, 2> times = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, Path(name).c_str(), times.data(), 0), 0);
  }
  bool Has(const std::string& name) const { return base::PathExists(Path(name)); }

  base::TestFolder folder_;
};

TEST_F(CacheTest, LeastRecentlyUsedStoresGoFirst) {
  Make("1.duckdb", 3 * kDay);
  Make("1.zoom", 3 * kDay);
  Make("2.duckdb", 2 * kDay);
  Make("2.zoom", 5 * kDay);
  Make("3.duckdb", kDay);
  PruneCache(folder_.path(), uint64_t{200} << 10U, kNow);
  EXPECT_FALSE(Has("1.duckdb"));
  EXPECT_FALSE(Has("1.zoom"));
  EXPECT_TRUE(Has("2.duckdb"));
  EXPECT_TRUE(Has("2.zoom"));
  EXPECT_TRUE(Has("3.duckdb"));
}

TEST_F(CacheTest, StoresOfThisHourStay) {
  Make("1.duckdb", 60);
  Make("2.duckdb", 2 * 3600);
  PruneCache(folder_.path(), 0, kNow);
  EXPECT_TRUE(Has("1.duckdb"));
  EXPECT_FALSE(Has("2.duckdb"));
}

TEST_F(CacheTest, UnfinishedFilesAndOthers) {
  Make("1.duckdb.1-77-2-3.partial", 2 * kDay);
  Make("2.duckdb.1-78-2-3.partial", 60);
  Make("notes.txt", 100 * kDay);
  PruneCache(folder_.path(), uint64_t{1} << 30U, kNow);
  EXPECT_FALSE(Has("1.duckdb.1-77-2-3.partial"));
  EXPECT_TRUE(Has("2.duckdb.1-78-2-3.partial"));
  EXPECT_TRUE(Has("notes.txt"));
}

TEST_F(CacheTest, AUsedStoreCountsAsNew) {
  const int64_t now = ::time(nullptr);
  Make("1.duckdb", kNow - now + 3 * kDay);
  TouchStore(Path("1.duckdb"));
  PruneCache(folder_.path(), 0, now + 60);
  EXPECT_TRUE(Has("1.duckdb"));
  PruneCache(folder_.path(), 0, now + kDay);
  EXPECT_FALSE(Has("1.duckdb"));
}

TEST_F(CacheTest, AFolderThatOthersMayWriteIsRefused) {
  const std::string cache = Path("sonde/stores");
  EXPECT_TRUE(CheckCacheFolder(cache).ok()) << "not there yet";
  ASSERT_TRUE(base::MakeDirectories(cache, 0700).ok());
  EXPECT_TRUE(CheckCacheFolder(cache).ok());
  for (const std::string& loose : {cache, Path("sonde")}) {
    ASSERT_EQ(::chmod(loose.c_str(), 0777), 0);
    EXPECT_EQ(CheckCacheFolder(cache).code(), base::StatusCode::kPermissionDenied) << loose;
    ASSERT_EQ(::chmod(loose.c_str(), 0700), 0);
  }
  ASSERT_TRUE(base::RemoveTree(cache).ok());
  ASSERT_EQ(::symlink("/tmp", cache.c_str()), 0);
  EXPECT_FALSE(CheckCacheFolder(cache).ok()) << "the link leads where all may write";
  if (::geteuid() != 0) GTEST_SKIP() << "the rest needs another owner";
  ASSERT_TRUE(base::RemoveTree(cache).ok());
  ASSERT_TRUE(base::MakeDirectories(cache, 0700).ok());
  ASSERT_EQ(::chown(cache.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(CheckCacheFolder(cache).ok());
  Make("1.duckdb", 60);
  EXPECT_TRUE(IsOwnFile(Path("1.duckdb")));
  ASSERT_EQ(::chown(Path("1.duckdb").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(IsOwnFile(Path("1.duckdb")));
}

TEST_F(CacheTest, NothingToPruneIsFine) { PruneCache(Path("nowhere"), 0, kNow); }

}  // namespace
}  // namespace sonde::importers
