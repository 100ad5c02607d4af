#include "base/host/folder_lock.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/test_folder.h"

namespace sonde::base {
namespace {

TEST(FolderLock, KeepsEveryChangeOfAFileThatManyChange) {
  const TestFolder folder;
  const std::string path = folder.File("list");
  ASSERT_TRUE(WriteFileAtomically(path, "").ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int change = 0; change < 20; ++change) {
        const auto lock = FolderLock::Take(folder.path());
        ASSERT_TRUE(lock.ok());
        const auto before = ReadFile(path);
        ASSERT_TRUE(before.ok());
        ASSERT_TRUE(WriteFileAtomically(path, *before + "x").ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadFile(path).value().size(), 160U);
}

TEST(FolderLock, AFolderThatIsMissingIsAnError) {
  EXPECT_FALSE(FolderLock::Take("/nowhere/at/all").ok());
}

}  // namespace
}  // namespace sonde::base
