#include "cli/licenses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace sonde::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Licenses, NamesOfThePartsComeFirstThenTheirNotices) {
  const base::TestFolder folder;
  ASSERT_TRUE(base::MakeDirectories(folder.File("licenses")).ok());
  ASSERT_TRUE(
      base::WriteFileAtomically(folder.File("licenses/zlib.txt"), "zlib 1.2\n\nAs is.\n").ok());
  ASSERT_TRUE(
      base::WriteFileAtomically(folder.File("licenses/duckdb.txt"), "duckdb 1\n\nMIT\n").ok());
  const Result<std::string> texts = LicenseTexts(folder.path());
  ASSERT_TRUE(texts.ok());
  EXPECT_THAT(*texts, StartsWith("Inside this program\n  duckdb 1\n  zlib 1.2\n"));
  EXPECT_THAT(*texts, HasSubstr("\nzlib 1.2\n\nAs is.\n"));
}

TEST(Licenses, AreMissingInABuild) {
  const base::TestFolder folder;
  const Result<std::string> texts = LicenseTexts(folder.path());
  EXPECT_THAT(texts.status().message(), HasSubstr("make wheel"));
}

}  // namespace
}  // namespace sonde::cli
