// Many threads, overflow, and stopping while everybody records.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "record/testing/session_fixture.h"

namespace sonde::record {
namespace {

using capture::RecordKind;

TEST_F(SessionTest, OverflowIsCountedExactly) {
  sonde_session_config config = ConfigIn(folder_.path());
  config.ring_slots = 128;
  Start(config);
  constexpr uint64_t kRanges = 200'000;
  for (uint64_t i = 0; i < kRanges; ++i) {
    sonde_range_push(Name("r"), 0);
    sonde_range_pop();
  }
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.records.size() + capture.TotalDropped(), kRanges);
  EXPECT_GT(capture.TotalDropped(), 0u) << "the ring was meant to be too small";
  EXPECT_EQ(capture.end->dropped, capture.TotalDropped());
  EXPECT_EQ(CurrentStatus().records, capture.records.size());
  EXPECT_EQ(CurrentStatus().dropped, capture.TotalDropped());
}

TEST_F(SessionTest, SixtyFourThreadsThatEnd) {
  constexpr int kThreads = 64;
  constexpr uint64_t kRanges = 2'000;
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      const sonde_name name = Name("thread " + std::to_string(t));
      for (uint64_t i = 0; i < kRanges; ++i) {
        sonde_range_push(name, 0);
        sonde_range_pop();
      }
      if (t % 2 == 0) sonde_range_push(Name("left open"), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.threads.size(), size_t{kThreads} + 1) << "and the one that prepared";
  EXPECT_EQ(capture.Count(RecordKind::kRange, "left open", true), size_t{kThreads} / 2);
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(capture.Count(RecordKind::kRange, "thread " + std::to_string(t)), kRanges);
  }
  EXPECT_EQ(capture.TotalDropped(), 0u);
}

// Bytes of address space that rings have now.
uint64_t MappedRingBytes() {
  std::ifstream maps("/proc/self/maps");
  uint64_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/ring_") == std::string::npos) continue;
    char* rest = nullptr;
    const uint64_t begin = std::strtoull(line.c_str(), &rest, 16);
    bytes += std::strtoull(rest + 1, nullptr, 16) - begin;
  }
  return bytes;
}

// Programs that make a thread for each request: rings pass from one to the next, however fast.
TEST_F(SessionTest, ThousandsOfThreadsOneAfterAnother) {
  constexpr int kThreads = 4'000;
  constexpr int kAtOnce = 4;
  Start();
  const sonde_name name = Name("short");
  uint64_t most = 0;
  for (int i = 0; i < kThreads / kAtOnce; ++i) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kAtOnce; ++t) {
      threads.emplace_back([name] {
        sonde_range_push(name, 0);
        sonde_range_pop();
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (i % 50 == 0) most = std::max(most, MappedRingBytes());
  }
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kRange, "short"), size_t{kThreads});
  EXPECT_EQ(capture.TotalDropped(), 0u);
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, 16'000'000u) << "spare rings, and those of threads that end";
}

// Servers whose requests come in waves: many threads at a time record little, and wait.
TEST_F(SessionTest, ABurstOfThreadsMapsLittle) {
  constexpr int kThreads = 4'000;
  constexpr int kAtOnce = 80;
  Start();
  const sonde_name name = Name("brief");
  uint64_t most = 0;
  for (int wave = 0; wave < kThreads / kAtOnce; ++wave) {
    std::barrier begun(kAtOnce + 1);
    std::barrier seen(kAtOnce + 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < kAtOnce; ++t) {
      threads.emplace_back([&] {
        sonde_range_push(name, 0);
        begun.arrive_and_wait();
        seen.arrive_and_wait();
        sonde_range_pop();
      });
    }
    begun.arrive_and_wait();
    most = std::max(most, MappedRingBytes());
    seen.arrive_and_wait();
    for (std::thread& thread : threads) thread.join();
  }
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kRange, "brief"), size_t{kThreads});
  EXPECT_EQ(capture.TotalDropped(), 0u);
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, 100'000'000u);
}

// The promise of stop: all records made before it are in the files, none is incomplete, and records
// made + refused add up although threads never pause. Run under ThreadSanitizer, too.
TEST_F(SessionTest, StoppingWhileThreadsRecord) {
  constexpr int kThreads = 4;
  constexpr int kSessions = 40;
  std::atomic<bool> end{false};
  struct alignas(64) Progress {
    std::atomic<uint64_t> made{0};
  };
  std::vector<Progress> progress(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const sonde_name name = Name("worker " + std::to_string(t));
      while (!end.load(std::memory_order_relaxed)) {
        sonde_range_push(name, 0);
        sonde_range_pop();
        progress[static_cast<size_t>(t)].made.fetch_add(1, std::memory_order_release);
      }
    });
  }
  for (int session = 0; session < kSessions; ++session) {
    sonde_session_config config = ConfigIn(folder_.path());
    config.ring_slots = 1024;
    // Threads run on during the check: at most the records since the count before the start were
    // recorded, at least those since the count after it.
    std::vector<uint64_t> before;
    for (const Progress& p : progress) before.push_back(p.made.load());
    Start(config);
    std::vector<uint64_t> at_start;
    for (const Progress& p : progress) at_start.push_back(p.made.load());
    std::this_thread::sleep_for(std::chrono::microseconds(200 * (session % 10)));
    std::vector<uint64_t> at_stop;
    for (const Progress& p : progress) at_stop.push_back(p.made.load());
    const CheckedCapture capture = Stop();
    std::vector<uint64_t> after;
    for (const Progress& p : progress) after.push_back(p.made.load());
    for (size_t t = 0; t < kThreads; ++t) {
      const std::string name = "worker " + std::to_string(t);
      uint64_t dropped = 0;
      uint64_t recorded = 0;
      for (const CheckedRecord& checked : capture.records) {
        if (checked.name != name) continue;
        ++recorded;
        dropped = capture.dropped.at(checked.thread_index);
      }
      if (recorded == 0) continue;  // did not run while the session was on
      EXPECT_GE(recorded + dropped + 1, at_stop[t] - at_start[t]) << name;
      EXPECT_LE(recorded + dropped, after[t] - before[t] + 2) << name;
    }
  }
  end.store(true);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SessionTest, InterningFromManyThreads) {
  Start();
  constexpr int kThreads = 8;
  constexpr int kNames = 3'000;
  std::vector<std::vector<sonde_name>> ids(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kNames; ++i) {
        const sonde_name name = Name("name " + std::to_string(i));
        ids[static_cast<size_t>(t)].push_back(name);
        if (i % 16 == 0) sonde_mark(name, 0, 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const CheckedCapture capture = Stop();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(ids[static_cast<size_t>(t)], ids[0]);
  EXPECT_EQ(capture.names.at(ids[0][2999]), "name 2999");
}

// Texts of one session have numbers that the next one uses for others: no record may get the text
// of another, although sessions change between any two instructions of a marker.
TEST_F(SessionTest, TextsOfMarkersWhileSessionsChange) {
  constexpr int kThreads = 3;
  constexpr int kSessions = 40;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&stop, t] {
      for (uint64_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
        const std::string text = std::to_string(t) + ":" + std::to_string(i);
        sonde_mark_text(text.data(), text.size(), 0);
      }
    });
  }
  size_t marks = 0;
  for (int session = 0; session < kSessions; ++session) {
    Start();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::map<uint32_t, std::pair<char, uint64_t>> last;  // by thread
    for (const CheckedRecord& checked : Stop().records) {
      ++marks;
      ASSERT_GE(checked.name.size(), 3u) << "a number without a text";
      const uint64_t number = std::stoull(checked.name.substr(2));
      const auto [before, is_first] =
          last.try_emplace(checked.thread_index, checked.name[0], number);
      EXPECT_EQ(checked.name[0], before->second.first) << "a text of another thread";
      EXPECT_TRUE(is_first || number > before->second.second) << "of another moment";
      before->second.second = number;
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(marks, 0u);
}

}  // namespace
}  // namespace sonde::record
