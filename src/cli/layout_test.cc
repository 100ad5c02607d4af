#include "cli/layout.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace sonde::cli {
namespace {

void MakePackage(const std::string& folder) {
  ASSERT_TRUE(base::MakeDirectories(base::JoinPath(folder, "_inject")).ok());
  ASSERT_TRUE(
      base::WriteFileAtomically(base::JoinPath(folder, "_inject/sitecustomize.py"), "").ok());
}

TEST(Layout, InstalledPackageHoldsEverything) {
  const base::TestFolder folder;
  const std::string home = folder.File("site-packages/sonde");
  MakePackage(home);
  const Layout layout = FindLayout(home + "/bin/sonde", nullptr);
  EXPECT_EQ(layout.home, home);
  EXPECT_EQ(layout.library_folder, home + "/lib");
  EXPECT_EQ(layout.python_package, home);
  EXPECT_EQ(layout.InjectFolder(), home + "/_inject");
  EXPECT_EQ(layout.PythonFolder(), folder.File("site-packages"));
}

TEST(Layout, BuildTreeLiesBelowTheRepository) {
  const base::TestFolder folder;
  MakePackage(folder.File("repo/python/sonde"));
  const Layout layout = FindLayout(folder.File("repo/build/dev/bin/sonde"), "");
  EXPECT_EQ(layout.home, folder.File("repo/build/dev"));
  EXPECT_EQ(layout.python_package, folder.File("repo/python/sonde"));
}

TEST(Layout, SondeHomeOverrides) {
  const base::TestFolder folder;
  MakePackage(folder.File("other"));
  const Layout layout = FindLayout(folder.File("x/bin/sonde"), folder.File("other").c_str());
  EXPECT_EQ(layout.home, folder.File("other"));
  EXPECT_EQ(layout.python_package, folder.File("other"));
  EXPECT_EQ(FindLayout(folder.File("x/bin/sonde"), nullptr).python_package, "");
}

TEST(Layout, FindsItself) { EXPECT_TRUE(SelfPath()->ends_with("_test")); }

}  // namespace
}  // namespace sonde::cli
