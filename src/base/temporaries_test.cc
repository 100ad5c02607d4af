#include "base/temporaries.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <csignal>
#include <ctime>
#include <future>
#include <set>

#include "base/strings.h"
#include "base/test_folder.h"

namespace sonde::base {
namespace {

size_t Count(const std::string& folder) { return ListDirectory(folder)->size(); }

void MakeOlder(const std::string& path, int64_t seconds) {
  const timespec time = {::time(nullptr) - seconds, 0};
  const timespec times[2] = {time, time};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

TEST(Temporaries, FilesOfKilledProcessesAreRemovedThoseOfLivingOnesStay) {
  const TestFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = AtomicFile::Create(folder.File("table.csv"));
    auto output = AtomicDirectory::Create(folder.File("OUTPUT"));
    const bool fine = file.ok() && output.ok() &&
                      WriteFileAtomically(output->temporary_path() + "/part", "x").ok();
    const char word = fine ? 'y' : 'n';
    if (::write(ready[1], &word, 1) != 1) ::_exit(1);
    ::pause();
  }
  char word = 0;
  ASSERT_EQ(::read(ready[0], &word, 1), 1);
  ASSERT_EQ(word, 'y');
  RemoveLeftovers(folder.path());
  EXPECT_EQ(Count(folder.path()), 2U) << "its maker lives";
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  auto mine = AtomicFile::Create(folder.File("mine.csv"));
  ASSERT_TRUE(mine.ok());
  RemoveLeftovers(folder.path());
  EXPECT_EQ(Count(folder.path()), 1U);
  EXPECT_TRUE(mine->Commit().ok());
  EXPECT_TRUE(PathExists(folder.File("mine.csv")));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(Temporaries, EveryFolderIsNoted) {
  const TestFolder folder;
  constexpr int kFolders = 3000;  // of a lake of a hundred ranks
  for (int i = 0; i < kFolders; ++i) {
    for (const char* name : {"/a", "/b"}) {
      TemporaryNextTo(Concat(folder.path(), "/", std::to_string(i), name));
    }
  }
  const std::string list = folder.File("list");
  const int descriptor = *CreateNewFile(list, 0600);
  EXPECT_GE(WriteTemporaryFolders(descriptor), static_cast<size_t>(kFolders));
  ::close(descriptor);
  const std::string text = *ReadFile(list);
  std::set<std::string_view> here;
  for (const std::string_view noted : Split(text, '\0')) {
    if (!noted.starts_with(folder.path())) continue;
    EXPECT_TRUE(here.insert(noted).second) << noted;
  }
  EXPECT_EQ(here.size(), static_cast<size_t>(kFolders));
}

TEST(Temporaries, FilesOfUsersAndOfOtherMachinesStay) {
  const TestFolder folder;
  for (const char* name : {".a.partial", "b.partial", ".notes.1-2-3.partial", ".x.1-2-3-y.partial",
                           ".of_another.abc-1-2-3.partial", ".old.abc-1-2-3.partial"}) {
    ASSERT_TRUE(WriteFileAtomically(folder.File(name), "").ok());
  }
  MakeOlder(folder.File(".old.abc-1-2-3.partial"), 2 * 86400);
  MakeOlder(folder.File("b.partial"), 2 * 86400);
  RemoveLeftovers(folder.path());
  EXPECT_EQ(Count(folder.path()), 5U);
  EXPECT_FALSE(PathExists(folder.File(".old.abc-1-2-3.partial")));
}

TEST(Temporaries, PlantedLinksAreNotFollowed) {
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("victim"), "precious").ok());
  ASSERT_EQ(::symlink(folder.File("victim").c_str(), folder.File("link").c_str()), 0);
  const auto refused = CreateNewFile(folder.File("link"), 0600);
  EXPECT_EQ(refused.status().code(), StatusCode::kAlreadyExists);
  // A link under the name of the next call, which can be guessed.
  std::string next = TemporaryNextTo(folder.File("table.csv"));
  const std::string end = ".partial";
  next.resize(next.size() - end.size());
  const size_t dash = next.rfind('-');
  const uint64_t number = std::stoull(next.substr(dash + 1)) + 1;
  next = next.substr(0, dash + 1) + std::to_string(number) + end;
  ASSERT_EQ(::symlink(folder.File("victim").c_str(), next.c_str()), 0);
  EXPECT_FALSE(WriteFileAtomically(folder.File("table.csv"), "text").ok());
  EXPECT_EQ(*ReadFile(folder.File("victim")), "precious");
  // A link under the final name is replaced, not written through.
  EXPECT_TRUE(WriteFileAtomically(folder.File("link"), "text").ok());
  EXPECT_EQ(*ReadFile(folder.File("victim")), "precious");
  RemoveTree(next).IgnoreError();
}

TEST(Temporaries, ARecreatedFileReplacesLinksAndFilesOnly) {
  const TestFolder folder;
  const std::string victim = folder.File("victim");
  ASSERT_TRUE(WriteFileAtomically(victim, "precious").ok());
  ASSERT_EQ(::symlink(victim.c_str(), folder.File("symbolic").c_str()), 0);
  ASSERT_EQ(::link(victim.c_str(), folder.File("hard").c_str()), 0);
  ASSERT_EQ(::symlink(folder.File("nothing").c_str(), folder.File("dangling").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(folder.File("older"), "a longer text").ok());
  for (const char* name : {"symbolic", "hard", "dangling", "older", "new"}) {
    const auto descriptor = RecreateFile(folder.File(name), 0600);
    ASSERT_TRUE(descriptor.ok()) << name;
    EXPECT_EQ(::write(*descriptor, "text", 4), 4);
    ::close(*descriptor);
    EXPECT_EQ(*ReadFile(folder.File(name)), "text") << name;
  }
  EXPECT_EQ(*ReadFile(victim), "precious");
  EXPECT_FALSE(PathExists(folder.File("nothing")));
  ASSERT_EQ(::mkfifo(folder.File("pipe").c_str(), 0600), 0);
  EXPECT_EQ(RecreateFile(folder.File("pipe"), 0600).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(RecreateFile(folder.path(), 0600).status().code(), StatusCode::kAlreadyExists);
  EXPECT_FALSE(RecreateFile(folder.File("nowhere/file"), 0600).ok());
}

TEST(Temporaries, TwoThreadsMayRecreateTheSameFileAtOnce) {
  constexpr int kRounds = 300;
  const TestFolder folder;
  std::barrier round(2);
  const auto make = [&] {
    int failures = 0;
    for (int i = 0; i < kRounds; i++) {
      round.arrive_and_wait();
      const auto descriptor = RecreateFile(folder.File("same"), 0600);
      failures += descriptor.ok() ? 0 : 1;
      if (descriptor.ok()) ::close(*descriptor);
    }
    return failures;
  };
  auto other = std::async(std::launch::async, make);
  EXPECT_EQ(make(), 0);
  EXPECT_EQ(other.get(), 0);
}

}  // namespace
}  // namespace sonde::base
