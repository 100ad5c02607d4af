// Forked children: records of several threads while the child's capture is made, names that are
// given with the record, and children that outlive their parent.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "record/testing/fork_in_tests.h"
#include "record/testing/session_fixture.h"

namespace sonde::record {
namespace {

using capture::RecordKind;
using capture::StopReason;

template <class Body>
pid_t Fork(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  return child;
}

// The captures but that of the parent.
std::vector<CheckedCapture> Children(const std::string& directory, const std::string& parent) {
  std::vector<CheckedCapture> found;
  for (const std::string& span : FindSpans(directory)) {
    if (span == parent) continue;
    found.push_back(CheckCapture(span));
    EXPECT_TRUE(found.back().problems.empty()) << found.back().ProblemText();
  }
  return found;
}

// Every one of them may be the first to record, and all do so while its capture is made.
TEST_F(SessionTest, NoThreadOfAForkedChildLosesARecord) {
  SONDE_SKIP_UNDER_SANITIZERS();
  constexpr int kRounds = 20;
  constexpr int kThreads = 8;
  constexpr int kRanges = 50;
  Start();
  const sonde_name fixed = Name("fixed");
  for (int round = 0; round < kRounds; ++round) {
    const pid_t child = Fork([&] {
      std::atomic<int> waiting{kThreads};
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
          waiting.fetch_sub(1);
          while (waiting.load() > 0) std::this_thread::yield();
          for (int i = 0; i < kRanges; ++i) {
            sonde_range_push(fixed, 0);
            sonde_range_pop();
            sonde_mark_text("by its text", 11, 0);
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    });
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
  const std::string parent = sonde_session_path();
  Stop();
  const std::vector<CheckedCapture> children = Children(folder_.path(), parent);
  EXPECT_EQ(children.size(), size_t{kRounds});
  for (const CheckedCapture& capture : children) {
    EXPECT_EQ(capture.Count(RecordKind::kRange, "fixed"), size_t{kThreads} * kRanges);
    EXPECT_EQ(capture.Count(RecordKind::kMark, "by its text"), size_t{kThreads} * kRanges);
  }
}

TEST_F(SessionTest, TheFirstRecordOfAForkedChildKeepsItsName) {
  SONDE_SKIP_UNDER_SANITIZERS();
  Start();
  const auto in_child = [](auto body) {
    const pid_t child = Fork(body);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
  };
  in_child([] { sonde_mark_text("a mark", 6, 0); });
  in_child([] {
    sonde_range_push_text("a range", 7, 0);
    sonde_range_pop();
  });
  in_child([] { sonde_range_end(sonde_range_start_text("a span", 6, 0)); });
  in_child([] {
    sonde_args_builder builder;
    sonde_args_init(&builder);
    sonde_args_int(&builder, Name("size"), 7);
    sonde_mark(Name("with arguments"), 0, sonde_args_once(&builder));
  });
  const std::string parent = sonde_session_path();
  Stop();
  size_t marks = 0, ranges = 0, spans = 0, arguments = 0;
  for (const CheckedCapture& capture : Children(folder_.path(), parent)) {
    marks += capture.Count(RecordKind::kMark, "a mark");
    ranges += capture.Count(RecordKind::kRange, "a range");
    spans += capture.Count(RecordKind::kSpanBegin, "a span");
    for (const auto& record : capture.records) {
      arguments += record.name == "with arguments" && record.record.args != 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(marks, 1u);
  EXPECT_EQ(ranges, 1u);
  EXPECT_EQ(spans, 1u);
  EXPECT_EQ(arguments, 1u);
}

// A daemon: the process that was started ends at once, its child does the work.
TEST_F(SessionTest, AForkedChildOutlivesItsParentAndSaysSo) {
  SONDE_SKIP_UNDER_SANITIZERS();
  constexpr int kMarks = 50;
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* done = new (page) std::atomic<int>(0);
  const pid_t program = Fork([&] {
    sonde_session_config config = ConfigIn(folder_.path());
    if (sonde_session_start(&config) != 0) _exit(9);
    const pid_t daemon = fork();
    if (daemon != 0) exit(0);  // NOLINT(concurrency-mt-unsafe): the point of the test
    for (int i = 0; i < kMarks; ++i) {
      sonde_mark(Name("work"), 0, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    sonde_session_stop(nullptr, 0);
    done->store(1);
    _exit(0);
  });
  int status = 0;
  ASSERT_EQ(waitpid(program, &status, 0), program);
  for (int i = 0; done->load() == 0 && i < 2'000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_EQ(done->load(), 1);
  munmap(page, 4096);
  const std::vector<CheckedCapture> captures = Children(folder_.path(), "");
  ASSERT_EQ(captures.size(), 2u);
  const CheckedCapture& daemon = captures[captures[0].metadata.count("parent_pid") == 1 ? 0 : 1];
  EXPECT_EQ(daemon.Count(RecordKind::kMark, "work"), size_t{kMarks});
  ASSERT_TRUE(daemon.end.has_value());
  EXPECT_EQ(daemon.end->reason, StopReason::kStopped);
  EXPECT_EQ(daemon.metadata.count("detached"), 1u);
}

}  // namespace
}  // namespace sonde::record
