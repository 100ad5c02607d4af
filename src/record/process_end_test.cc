// Processes that end in every way, and disks that refuse writes: the capture has all records.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <random>
#include <thread>

#include "record/testing/fork_in_tests.h"
#include "record/testing/session_fixture.h"

#if defined(__SANITIZE_ADDRESS__)
namespace {
const pid_t kParent = getpid();
}  // namespace

// Called by the leak sanitizer. A forked child leaves its parent's memory behind, which is no leak.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() {  // NOLINT
  return static_cast<int>(getpid() != kParent);
}
#endif

namespace sonde::record {
namespace {

using capture::RecordKind;
using capture::StopReason;

// State of a child, in memory that outlives it.
struct Progress {
  std::atomic<uint64_t> opened;
  std::atomic<uint64_t> closed;
  std::atomic<uint64_t> counted;
};

struct SharedProgress {
  Progress threads[2];
  std::atomic<int> started;
};

SharedProgress* NewSharedProgress() {
  void* memory = mmap(nullptr, sizeof(SharedProgress), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) SharedProgress{};
}

// Records for ever: two nested ranges with a counter inside; reports each step when it is done.
void RecordForEver(Progress* progress, int thread) {
  const std::string suffix = std::to_string(thread);
  const sonde_name outer = Name("outer " + suffix);
  const sonde_name inner = Name("inner " + suffix);
  const sonde_name counter = Name("counter " + suffix);
  for (uint64_t i = 0;; ++i) {
    sonde_range_push(outer, 0);
    progress->opened.store(2 * i + 1, std::memory_order_release);
    sonde_range_push(inner, 0);
    progress->opened.store(2 * i + 2, std::memory_order_release);
    sonde_counter(counter, 0, static_cast<double>(i));
    progress->counted.store(i + 1, std::memory_order_release);
    sonde_range_pop();
    progress->closed.store(2 * i + 1, std::memory_order_release);
    sonde_range_pop();
    progress->closed.store(2 * i + 2, std::memory_order_release);
    // A name never seen before now and then, and pauses so that nothing is dropped.
    if (i % 16 == 0) {
      sonde_intern(("dynamic " + std::to_string(i)).c_str(), 10);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

[[noreturn]] void RunChild(const std::string& directory, SharedProgress* shared) {
  sonde_session_config config = ConfigIn(directory);
  config.ring_slots = 1u << 18;  // the drain thread may have to wait for a processor
  if (sonde_session_start(&config) != 0) _exit(1);
  shared->started.store(1);
  std::thread second([shared] { RecordForEver(&shared->threads[1], 1); });
  RecordForEver(&shared->threads[0], 0);
  second.join();
  _exit(1);
}

void CheckThread(const CheckedCapture& capture, const Progress& progress, int thread) {
  const std::string suffix = std::to_string(thread);
  const uint64_t counted = progress.counted.load();
  const uint64_t opened = progress.opened.load();
  const uint64_t closed = progress.closed.load();
  const size_t counters = capture.Count(RecordKind::kCounter, "counter " + suffix);
  const size_t finished = capture.Count(RecordKind::kRange, "outer " + suffix) +
                          capture.Count(RecordKind::kRange, "inner " + suffix);
  const size_t open = capture.Count(RecordKind::kRange, "outer " + suffix, true) +
                      capture.Count(RecordKind::kRange, "inner " + suffix, true);
  EXPECT_GE(counters, counted);
  EXPECT_LE(counters, counted + 1);
  EXPECT_GE(finished, closed);
  EXPECT_LE(finished, closed + 1);
  EXPECT_GE(finished + open, opened);
  EXPECT_LE(finished + open, opened + 1);
}

// Each killed at another moment after its session began, from the first microseconds on.
TEST_F(SessionTest, KilledAtAnyMoment) {
  constexpr int kKills = 300;
  std::mt19937 random(20261121);
  SharedProgress* shared = NewSharedProgress();
  ASSERT_NE(shared, nullptr);
  size_t records = 0;
  for (int round = 0; round < kKills; ++round) {
    new (shared) SharedProgress{};
    const base::TestFolder folder;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) RunChild(folder.path(), shared);
    while (shared->started.load() == 0) std::this_thread::yield();
    const int longest_us = round % 10 == 0 ? 150'000 : 20'000;
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::uniform_int_distribution<int>(0, longest_us)(random)));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));

    const std::vector<std::string> spans = FindSpans(folder.path());
    ASSERT_EQ(spans.size(), 1u);
    const CheckedCapture capture = CheckCapture(spans[0]);
    ASSERT_TRUE(capture.problems.empty()) << "round " << round << ":\n" << capture.ProblemText();
    ASSERT_EQ(capture.TotalDropped(), 0u);
    for (int thread = 0; thread < 2; ++thread)
      CheckThread(capture, shared->threads[thread], thread);
    ASSERT_FALSE(HasFailure()) << "round " << round;
    records += capture.records.size();
  }
  EXPECT_GT(records, 1'000u) << "the children were meant to record";
  munmap(shared, sizeof(SharedProgress));
}

// Runs `body` in a child and gives its exit status.
template <class Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

CheckedCapture OnlyCapture(const std::string& directory) {
  const std::vector<std::string> spans = FindSpans(directory);
  EXPECT_EQ(spans.size(), 1u);
  if (spans.empty()) return {};
  CheckedCapture capture = CheckCapture(spans[0]);
  EXPECT_TRUE(capture.problems.empty()) << capture.ProblemText();
  return capture;
}

TEST_F(SessionTest, EndWithoutExitHandlers) {
  EXPECT_EQ(InChild([&] {
              sonde_session_config config = ConfigIn(folder_.path());
              if (sonde_session_start(&config) != 0) _exit(9);
              sonde_range_push(Name("open"), 0);
              sonde_mark(Name("m"), 0, 0);
              _exit(3);
            }),
            3);
  const CheckedCapture capture = OnlyCapture(folder_.path());
  EXPECT_FALSE(capture.end.has_value());
  EXPECT_EQ(capture.Count(RecordKind::kMark, "m"), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kRange, "open", true), 1u);
}

TEST_F(SessionTest, EndByExit) {
  EXPECT_EQ(InChild([&] {
              sonde_session_config config = ConfigIn(folder_.path());
              if (sonde_session_start(&config) != 0) _exit(9);
              std::thread([] {
                for (;;) sonde_mark(Name("busy"), 0, 0);
              }).detach();
              sonde_mark(Name("m"), 0, 0);
              exit(0);  // NOLINT(concurrency-mt-unsafe): the point of the test
            }),
            0);
  const CheckedCapture capture = OnlyCapture(folder_.path());
  ASSERT_TRUE(capture.end.has_value());
  EXPECT_EQ(capture.end->reason, StopReason::kExit);
  EXPECT_EQ(capture.ring_files, 0u);
  EXPECT_EQ(capture.Count(RecordKind::kMark, "m"), 1u);
}

TEST_F(SessionTest, ForkedChildrenRecordOnTheirOwn) {
  SONDE_SKIP_UNDER_SANITIZERS();
  Start();
  sonde_mark(Name("parent before"), 0, 0);
  const auto child_body = [](bool clean, const char* name) {
    sonde_range_push(Name(name), 0);
    sonde_range_pop();
    std::thread thread([] { sonde_mark(Name("thread of a child"), 0, 0); });
    thread.join();
    sonde_range_push(Name("open in a child"), 0);
    if (clean) sonde_session_stop(nullptr, 0);
  };
  EXPECT_EQ(InChild([&] { child_body(false, "child"); }), 0);  // ends by _exit
  EXPECT_EQ(InChild([&] { child_body(true, "child"); }), 0);
  EXPECT_EQ(InChild([&] {
              EXPECT_EQ(InChild([&] { child_body(false, "grandchild"); }), 0);
              child_body(false, "child");
            }),
            0);
  EXPECT_EQ(InChild([] {}), 0);  // records nothing, makes nothing
  EXPECT_EQ(InChild([&] {
              char path[64] = "x";
              if (sonde_session_stop(path, sizeof(path)) != 0 || path[0] != '\0') _exit(8);
            }),
            0);
  sonde_mark(Name("parent after"), 0, 0);
  const std::string parent_path = sonde_session_path();
  const CheckedCapture parent = Stop();
  EXPECT_EQ(parent.records.size(), 2u) << "the parent's files must not hold records of children";

  int children = 0;
  for (const std::string& span : FindSpans(folder_.path())) {
    if (span == parent_path) continue;
    ++children;
    const CheckedCapture capture = CheckCapture(span);
    EXPECT_TRUE(capture.problems.empty()) << capture.ProblemText();
    EXPECT_EQ(capture.records.size(), 3u);
    EXPECT_EQ(capture.Count(RecordKind::kMark, "thread of a child"), 1u);
    EXPECT_EQ(capture.Count(RecordKind::kRange, "open in a child", true), 1u);
    EXPECT_EQ(capture.metadata.count("parent_pid"), 1u);
  }
  EXPECT_EQ(children, 4);
}

TEST_F(SessionTest, ForkWhileOtherThreadsRecord) {
  SONDE_SKIP_UNDER_SANITIZERS();
  Start();
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !end.load(); ++i) {
        sonde_range_push(Name("busy " + std::to_string(t) + " " + std::to_string(i % 500)), 0);
        sonde_range_pop();
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(InChild([] {
                for (int k = 0; k < 100; ++k) sonde_mark(Name("child " + std::to_string(k)), 0, 0);
              }),
              0);
  }
  end.store(true);
  for (std::thread& thread : threads) thread.join();
  const std::string parent_path = sonde_session_path();
  Stop();
  const std::vector<std::string> spans = FindSpans(folder_.path());
  EXPECT_EQ(spans.size(), 51u);
  for (const std::string& span : spans) {
    if (span == parent_path) continue;
    const CheckedCapture capture = CheckCapture(span);
    EXPECT_TRUE(capture.problems.empty()) << capture.ProblemText();
    EXPECT_EQ(capture.Count(RecordKind::kMark), 100u);
    EXPECT_EQ(capture.records.size(), 100u);
  }
}

TEST_F(SessionTest, AForkedChildFollowsItsParentsStop) {
  SONDE_SKIP_UNDER_SANITIZERS();
  Start();
  SharedProgress* shared = NewSharedProgress();
  const pid_t child = fork();
  if (child == 0) {
    sonde_mark(Name("in time"), 0, 0);
    shared->started.store(1);
    for (int i = 0; CurrentStatus().state != 0 && i < 120'000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    _exit(CurrentStatus().state == 0 ? 0 : 1);
  }
  while (shared->started.load() == 0) std::this_thread::yield();
  const std::string parent_path = sonde_session_path();
  Stop();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child went on recording";
  for (const std::string& span : FindSpans(folder_.path())) {
    if (span == parent_path) continue;
    const CheckedCapture capture = CheckCapture(span);
    EXPECT_EQ(capture.Count(RecordKind::kMark, "in time"), 1u);
    ASSERT_TRUE(capture.end.has_value());
    EXPECT_EQ(capture.end->message, "the parent process stopped recording");
  }
  munmap(shared, sizeof(SharedProgress));
}

TEST_F(SessionTest, UnwritableFolder) {
  const std::string nowhere = "/proc/no_such_place";
  sonde_session_config config = ConfigIn(nowhere);
  EXPECT_LT(sonde_session_start(&config), 0);
  EXPECT_NE(std::string(sonde_last_error()).find("/proc/no_such_place"), std::string::npos)
      << sonde_last_error();
  EXPECT_EQ(sonde_recording(), 0);
  const std::string file = folder_.File("a file");
  ASSERT_TRUE(base::WriteFileAtomically(file, "x").ok());
  config = ConfigIn(file);
  EXPECT_LT(sonde_session_start(&config), 0);
  Start();  // and the next one works
  Stop();
}

// Records until the session has stopped by itself; false after two minutes.
bool RecordUntilStopped() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  const sonde_name name = Name("filler");
  while (CurrentStatus().state == 2) {
    for (int i = 0; i < 1024; ++i) sonde_mark(name, 0, 0);
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

std::string CaughtStderr(int fd) {
  char text[4096];
  const ssize_t n = pread(fd, text, sizeof(text), 0);
  return {text, n > 0 ? static_cast<size_t>(n) : 0};
}

// In a child with its standard error in a file: record into a disk that becomes full.
void CheckDiskFull(const std::string& directory, const std::string& log_path,
                   const std::string& expected_error) {
  EXPECT_EQ(InChild([&] {
              const int log = open(log_path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
              dup2(log, STDERR_FILENO);
              sonde_session_config config = ConfigIn(directory);
              config.ring_slots = 8192;
              if (sonde_session_start(&config) != 0) _exit(9);
              if (!RecordUntilStopped()) _exit(10);
              if (CurrentStatus().state != 3 || CurrentStatus().records == 0) _exit(11);
              const std::string messages = CaughtStderr(log);
              if (std::count(messages.begin(), messages.end(), '\n') != 1) _exit(12);
              char path[512];
              if (sonde_session_stop(path, sizeof(path)) >= 0) _exit(13);
              if (path != FindSpans(directory).at(0)) _exit(14);
              if (std::string(sonde_last_error()).find(expected_error) == std::string::npos) {
                _exit(15);
              }
            }),
            0)
      << base::ReadFile(log_path).value_or("");
  const CheckedCapture capture = OnlyCapture(directory);
  ASSERT_TRUE(capture.end.has_value());
  EXPECT_EQ(capture.end->reason, StopReason::kDiskFull);
  EXPECT_GT(capture.Count(RecordKind::kMark, "filler"), 1000u);
}

TEST_F(SessionTest, DiskFull) {
  const std::string disk = folder_.File("disk");
  ASSERT_TRUE(base::MakeDirectories(disk).ok());
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=3m") != 0) {
    GTEST_SKIP() << "needs root, to mount; FileSizeLimit covers the same path";
  }
  CheckDiskFull(disk, folder_.File("log"), "No space left on device");
  EXPECT_EQ(umount(disk.c_str()), 0);
}

// A program with a new name for each record: with a small ring the records fill the disk first,
// with a large one the names do, while the ring takes more. No record may refer to a name that was
// lost.
TEST_F(SessionTest, DiskFullOfNames) {
  for (const uint32_t ring_slots : {1024u, 8192u, 32768u}) {
    const std::string disk = folder_.File("disk" + std::to_string(ring_slots));
    ASSERT_TRUE(base::MakeDirectories(disk).ok());
    if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=3m") != 0) {
      GTEST_SKIP() << "needs root, to mount";
    }
    EXPECT_EQ(InChild([&] {
                close(STDERR_FILENO);  // the message
                open("/dev/null", O_WRONLY);
                sonde_session_config config = ConfigIn(disk);
                config.ring_slots = ring_slots;
                if (sonde_session_start(&config) != 0) _exit(9);
                for (int i = 0; i < 1'000'000 && CurrentStatus().state == 2; ++i)
                  sonde_mark(Name("a name of the program with number " + std::to_string(i)), 0, 0);
                if (CurrentStatus().state == 2) _exit(10);
              }),
              0);
    const CheckedCapture capture = OnlyCapture(disk);
    EXPECT_EQ(umount(disk.c_str()), 0);
    ASSERT_TRUE(capture.end.has_value()) << "the reason is not written";
    EXPECT_EQ(capture.end->reason, StopReason::kDiskFull);
    EXPECT_NE(capture.end->message.find("No space left on device"), std::string::npos);
  }
}

TEST_F(SessionTest, DiskFullBeforeTheFirstRing) {
  const std::string disk = folder_.File("disk");
  ASSERT_TRUE(base::MakeDirectories(disk).ok());
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=128k") != 0) {
    GTEST_SKIP() << "needs root, to mount";
  }
  sonde_session_config config = ConfigIn(disk);
  Start(config);  // the ring does not fit: anonymous memory, with an issue
  sonde_mark(Name("m"), 0, 0);
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kMark, "m"), 1u);
  ASSERT_EQ(capture.issues.size(), 1u);
  EXPECT_NE(capture.issues[0].find("not backed by a file"), std::string::npos);
  EXPECT_EQ(umount(disk.c_str()), 0);
}

TEST_F(SessionTest, FileSizeLimit) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit{2u << 20, before.rlim_max};
  const std::string directory = folder_.File("captures");
  ASSERT_TRUE(base::MakeDirectories(directory).ok());
  const std::string log = folder_.File("log");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  CheckDiskFull(directory, log, "File too large");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST_F(SessionTest, LimitOfBytes) {
  sonde_session_config config = ConfigIn(folder_.path());
  config.max_bytes = 1u << 20;
  Start(config);
  ASSERT_TRUE(RecordUntilStopped());
  char path[512];
  EXPECT_EQ(sonde_session_stop(path, sizeof(path)), -EFBIG);
  const CheckedCapture capture = OnlyCapture(folder_.path());
  EXPECT_EQ(capture.end->reason, StopReason::kLimit);
  EXPECT_EQ(capture.ring_files, 0u);
  EXPECT_GE(capture.records.size() * sizeof(capture::Record), 900u * 1024);
}

// Budgets are no errors: a later stop returns the path, and the capture records how it ended.
TEST_F(SessionTest, BudgetsEndASession) {
  for (const auto& [name, value] :
       {std::pair("SONDE_PROFILE_MAX_SIZE", "1M"), std::pair("SONDE_PROFILE_MAX_SECONDS", "1")}) {
    setenv(name, value, 1);  // NOLINT(concurrency-mt-unsafe)
    Start();
    const std::string begun = sonde_session_path();
    unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
    ASSERT_TRUE(RecordUntilStopped()) << name;
    char path[512] = {};
    EXPECT_EQ(sonde_session_stop(path, sizeof(path)), 0) << sonde_last_error();
    EXPECT_EQ(path, begun);
    EXPECT_EQ(sonde_session_stop(path, sizeof(path)), -EALREADY) << "reported once";
    const CheckedCapture capture = CheckCapture(begun);
    EXPECT_TRUE(capture.problems.empty()) << capture.ProblemText();
    ASSERT_TRUE(capture.end.has_value());
    EXPECT_EQ(capture.end->reason, StopReason::kLimit) << name;
    EXPECT_NE(capture.end->message.find("--profile-max-s"), std::string::npos);
    EXPECT_EQ(capture.ring_files, 0u);
  }
}

// How long after the first the second clock sample of a session was taken.
int64_t SecondSampleAfterNs(const std::string& folder) {
  CheckedCapture early;  // read while it runs, as after a kill
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (early.clock_samples.size() < 2 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    early = CheckCapture(folder);
  }
  EXPECT_GE(early.clock_samples.size(), 2u);
  if (early.clock_samples.size() < 2) return 0;
  return early.clock_samples[1].monotonic_raw_ns - early.clock_samples[0].monotonic_raw_ns;
}

TEST_F(SessionTest, ShortCaptureHasARateOfItsOwn) {
  // The samples of each second alone would do it in no session; a busy machine may miss some.
  int64_t apart_ns = 0;
  for (int i = 0; i < 20; ++i) {
    Start();
    apart_ns = SecondSampleAfterNs(sonde_session_path());
    Stop();
    EXPECT_GE(apart_ns, 19'000'000);
    if (apart_ns < 900'000'000) break;
  }
  EXPECT_LT(apart_ns, 900'000'000);
}

}  // namespace
}  // namespace sonde::record
