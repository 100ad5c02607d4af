#include "base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/test_folder.h"

namespace sonde::base {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Names(const std::string& path) {
  const auto listed = ListDirectory(path);
  std::vector<std::string> names;
  if (!listed.ok()) return {listed.status().ToString()};
  for (const auto& entry : *listed) names.push_back(entry.name);
  return names;
}

TEST(Files, ReadsWholeFilesAlsoOfProc) {
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("a"), "hello").ok());
  EXPECT_EQ(*ReadFile(folder.File("a")), "hello");
  EXPECT_EQ(*FileSize(folder.File("a")), 5U);
  EXPECT_THAT(*ReadFile("/proc/self/status"), HasSubstr("Pid:"));
  EXPECT_EQ(ReadFile(folder.File("a"), 4).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(*ReadFile(folder.File("a"), 5), "hello");
}

TEST(Files, FailuresNameThePathAndARemedy) {
  const TestFolder folder;
  const Status missing = ReadFile(folder.File("none")).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/none': No such file"));
  EXPECT_EQ(ReadFile(folder.path()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrnoStatus(ENOSPC, "write", "x").ToString(),
              HasSubstr("ResourceExhausted: cannot write 'x': No space left on device (free"));
  EXPECT_EQ(ErrnoStatus(EACCES, "write", "x").code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(MappedFile::Open(folder.File("none")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ListDirectory(folder.File("none")).status().code(), StatusCode::kNotFound);
}

TEST(MappedFile, MapsAndMoves) {
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("a"), std::string(10000, 'x')).ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("empty"), "").ok());
  auto mapped = MappedFile::Open(folder.File("a"));
  ASSERT_TRUE(mapped.ok());
  const MappedFile moved = std::move(*mapped);
  EXPECT_EQ(moved.text(), std::string(10000, 'x'));
  moved.Forget(0, 9000);
  EXPECT_EQ(moved.text(), std::string(10000, 'x'));
  EXPECT_EQ(MappedFile::Open(folder.File("empty"))->size(), 0U);
}

TEST(AtomicFile, AppearsAtCommitOnly) {
  const TestFolder folder;
  {
    auto file = AtomicFile::Create(folder.File("out"), {.buffer_bytes = 8});
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->Append("12345").ok());
    EXPECT_TRUE(file->Append("67890").ok());
    EXPECT_TRUE(file->Append("a long piece past the buffer").ok());
    EXPECT_EQ(file->bytes_written(), 38U);
    EXPECT_FALSE(PathExists(folder.File("out")));
    AtomicFile moved = std::move(*file);
    EXPECT_TRUE(moved.Commit().ok());
  }
  EXPECT_EQ(*ReadFile(folder.File("out")), "1234567890a long piece past the buffer");
  EXPECT_THAT(Names(folder.path()), ::testing::ElementsAre("out"));
}

TEST(AtomicFile, LeavesTheOldFileWithoutCommit) {
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("out"), "old").ok());
  {
    auto file = AtomicFile::Create(folder.File("out"));
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->Append("new").ok());
  }
  EXPECT_EQ(*ReadFile(folder.File("out")), "old");
  EXPECT_THAT(Names(folder.path()), ::testing::ElementsAre("out"));
}

TEST(AtomicFile, FullDiskIsKeptUntilCommitAndLeavesNothing) {
  const TestFolder folder;
  // A child of its own: the limit on file sizes simulates a full disk and cannot be raised again.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto file = AtomicFile::Create(folder.File("out"), {.buffer_bytes = 16});
    if (!file.ok()) _exit(1);
    file->Append(std::string(4000, 'x')).IgnoreError();
    if (file->Append("y").code() != StatusCode::kResourceExhausted) _exit(2);
    if (file->Commit().code() != StatusCode::kResourceExhausted) _exit(3);
    file->Abandon();
    _exit(0);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  EXPECT_TRUE(Names(folder.path()).empty());
}

TEST(AtomicFile, RefusesFoldersAndMissingParents) {
  const TestFolder folder;
  EXPECT_EQ(AtomicFile::Create(folder.path()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(AtomicFile::Create(folder.File("no/out")).status().code(), StatusCode::kNotFound);
}

TEST(AtomicDirectory, ExchangesTheWholeFolder) {
  const TestFolder folder;
  for (const std::string text : {"first", "second"}) {
    auto out = AtomicDirectory::Create(folder.File("out"));
    ASSERT_TRUE(out.ok());
    ASSERT_TRUE(WriteFileAtomically(JoinPath(out->temporary_path(), text), text).ok());
    EXPECT_TRUE(out->Commit().ok());
    EXPECT_THAT(Names(folder.File("out")), ::testing::ElementsAre(text));
  }
  EXPECT_THAT(Names(folder.path()), ::testing::ElementsAre("out"));
}

TEST(AtomicDirectory, KeepsTheOldOneWithoutReplace) {
  const TestFolder folder;
  ASSERT_TRUE(MakeDirectories(folder.File("out/sub")).ok());
  {
    auto out = AtomicDirectory::Create(folder.File("out"), /*replace=*/false);
    ASSERT_TRUE(out.ok());
    EXPECT_EQ(out->Commit().code(), StatusCode::kAlreadyExists);
  }
  EXPECT_THAT(Names(folder.File("out")), ::testing::ElementsAre("sub"));
  EXPECT_THAT(Names(folder.path()), ::testing::ElementsAre("out"));
}

TEST(Folders, MakesListsAndRemoves) {
  const TestFolder folder;
  ASSERT_TRUE(MakeDirectories(folder.File("a/b/c")).ok());
  ASSERT_TRUE(MakeDirectories(folder.File("a/b/c/")).ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("a/file"), "x").ok());
  ASSERT_EQ(symlink("/nowhere", folder.File("a/link").c_str()), 0);
  const auto entries = ListDirectory(folder.File("a"));
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].kind, DirectoryEntry::Kind::kDirectory);
  EXPECT_EQ((*entries)[1].kind, DirectoryEntry::Kind::kFile);
  EXPECT_EQ((*entries)[2].kind, DirectoryEntry::Kind::kSymlink);
  EXPECT_EQ(MakeDirectories(folder.File("a/file/b")).code(), StatusCode::kNotFound);
  EXPECT_TRUE(RemoveTree(folder.File("a")).ok());
  EXPECT_TRUE(RemoveTree(folder.File("a")).ok());
  EXPECT_TRUE(Names(folder.path()).empty());
}

TEST(Folders, WritableIsTriedNotGuessed) {
  const TestFolder folder;
  EXPECT_TRUE(CheckWritableDirectory(folder.path()).ok());
  EXPECT_TRUE(CheckWritableDirectory(folder.File("new/deeper")).ok());
  EXPECT_FALSE(PathExists(folder.File("new")));
  EXPECT_TRUE(Names(folder.path()).empty());
  ASSERT_TRUE(WriteFileAtomically(folder.File("file"), "x").ok());
  EXPECT_FALSE(CheckWritableDirectory(folder.File("file")).ok());
  EXPECT_FALSE(CheckWritableDirectory("/proc/none").ok());
  EXPECT_GT(*FreeDiskBytes(folder.File("new/deeper")), 0U);
}

TEST(Paths, Parts) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(BaseName("a/b.csv"), "b.csv");
  EXPECT_EQ(BaseName("a/"), "a");
  EXPECT_EQ(BaseName("/"), "/");
  EXPECT_EQ(DirName("a/b.csv"), "a");
  EXPECT_EQ(DirName("b"), ".");
  EXPECT_EQ(DirName("/b"), "/");
  EXPECT_EQ(DirName("a/b/"), "a");
  EXPECT_EQ(Extension("a/b.tar.gz"), ".gz");
  EXPECT_EQ(Extension(".profile"), "");
  EXPECT_EQ(AbsolutePath("/a/./b/../c//d/"), "/a/c/d");
  EXPECT_EQ(AbsolutePath("/.."), "/");
  EXPECT_TRUE(AbsolutePath("x").starts_with('/'));
}

TEST(MappedFile, CopiesBytesPastTheMapping) {
  const TestFolder folder;
  const std::string path = folder.File("a");
  ASSERT_TRUE(WriteFileAtomically(path, "0123456789").ok());
  auto file = MappedFile::Open(path, MappedFile::Access::kCopies);
  ASSERT_TRUE(file.ok());
  const MappedFile moved = std::move(*file);
  std::string text(4, '.');
  EXPECT_EQ(moved.CopyTo(3, text), 4U);
  EXPECT_EQ(text, "3456");
  EXPECT_EQ(moved.CopyTo(8, text), 2U);
  EXPECT_EQ(text, "8956");
  EXPECT_EQ(moved.CopyTo(20, text), 0U);
}

}  // namespace
}  // namespace sonde::base
