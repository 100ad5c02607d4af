// Rings of threads that come and go: made ahead, reused, as large as needed.
#include "record/ring.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "record/testing/session_fixture.h"

namespace sonde::record {
namespace {

using capture::RecordKind;

struct RingFiles {
  size_t count = 0;
  size_t largest_bytes = 0;  // on disk
};

RingFiles RingFilesUnder(const std::string& folder) {
  RingFiles files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("ring_")) continue;
    struct stat facts{};
    if (stat(entry.path().c_str(), &facts) != 0) continue;
    ++files.count;
    files.largest_bytes = std::max(files.largest_bytes, static_cast<size_t>(facts.st_blocks) * 512);
  }
  return files;
}

void RecordMarks(const std::string& name, uint64_t count) {
  const sonde_name mark = Name(name);
  for (uint64_t i = 0; i < count; ++i) sonde_mark(mark, 0, 0);
}

void RunThread(const std::string& name, uint64_t count) {
  std::thread([&] {
    RecordMarks(name, count);
    sonde_range_push(Name("open in " + name), 0);
  }).join();
}

// Each thread is recorded under its own name, although all share a few files.
TEST_F(SessionTest, ThreadsOneAfterAnother) {
  constexpr int kThreads = 300;
  Start();
  for (int t = 0; t < kThreads; ++t) {
    RunThread("thread " + std::to_string(t), 20);
    if (t % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // drained
  }
  EXPECT_LT(RingFilesUnder(folder_.path()).count, size_t{kThreads} / 2);
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.threads.size(), size_t{kThreads} + 1);
  for (int t = 0; t < kThreads; ++t) {
    const std::string name = "thread " + std::to_string(t);
    EXPECT_EQ(capture.Count(RecordKind::kMark, name), 20u);
    EXPECT_EQ(capture.Count(RecordKind::kRange, "open in " + name, true), 1u);
  }
  std::map<std::string, uint32_t> threads;  // by name of the mark
  for (const CheckedRecord& checked : capture.records) {
    if (capture::KindOf(checked.record) != RecordKind::kMark) continue;
    EXPECT_EQ(threads.try_emplace(checked.name, checked.thread_index).first->second,
              checked.thread_index);
  }
  EXPECT_EQ(capture.TotalDropped(), 0u);
}

TEST_F(SessionTest, ThreadsThatComeAndGoInAKilledProcess) {
  constexpr int kThreads = 60;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sonde_session_config config = ConfigIn(folder_.path());
    if (sonde_session_start(&config) != 0) _exit(1);
    for (int t = 0; t < kThreads; ++t) {
      RunThread("thread " + std::to_string(t), 20);
      if (t % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(15));
    }
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const std::vector<std::string> spans = FindSpans(folder_.path());
  ASSERT_EQ(spans.size(), 1u);
  const CheckedCapture capture = CheckCapture(spans[0]);
  EXPECT_TRUE(capture.problems.empty()) << capture.ProblemText();
  for (int t = 0; t < kThreads; ++t) {
    const std::string name = "thread " + std::to_string(t);
    EXPECT_EQ(capture.Count(RecordKind::kMark, name), 20u);
    EXPECT_EQ(capture.Count(RecordKind::kRange, "open in " + name, true), 1u);
  }
}

TEST_F(SessionTest, ARingIsAsLargeAsItIsUsed) {
  Start();
  RecordMarks("few", 100);
  EXPECT_LT(RingFilesUnder(folder_.path()).largest_bytes, 200u * 1024);
  RecordMarks("many", 2 * kFirstRingSlots);
  EXPECT_GT(RingFilesUnder(folder_.path()).largest_bytes, size_t{kDefaultRingSlots} * 32);
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kMark, "many"), 2 * kFirstRingSlots);
  EXPECT_EQ(capture.TotalDropped(), 0u);
}

// A memory record takes two slots, and the ring grows between them.
TEST_F(SessionTest, ARingGrowsAtAnOddPlace) {
  Start();
  RecordMarks("odd", 1);
  sonde_memory_event event{};
  event.size_bytes = 8;
  for (uint64_t i = 0; i < kFirstRingSlots; ++i) {
    event.pointer = 0x1000 + i;
    sonde_memory(&event);
  }
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kMemory, ""), size_t{kFirstRingSlots});
  EXPECT_EQ(capture.TotalDropped(), 0u);
}

TEST_F(SessionTest, ADiskWithoutRoomForALargeRing) {
  const std::string disk = folder_.File("disk");
  ASSERT_TRUE(base::MakeDirectories(disk).ok());
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=2200k") != 0) {
    GTEST_SKIP() << "needs root, to mount";
  }
  sonde_session_config config = ConfigIn(disk);
  Start(config);
  constexpr uint64_t kMarks = 5 * kFirstRingSlots;
  for (uint64_t i = 0; i < kMarks; i += 1024) {
    RecordMarks("m", 1024);
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
  }
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kMark, "m") + capture.TotalDropped(), kMarks);
  EXPECT_EQ(umount(disk.c_str()), 0);
}

}  // namespace
}  // namespace sonde::record
