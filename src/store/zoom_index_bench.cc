// Zoom index at 10 million slices: time to build, to reopen, and of viewports at every zoom, alone
// and during a slow statement.
//
//   sonde_zoom_bench [slices]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "base/host/parallel.h"
#include "store/table_writer.h"
#include "store/zoom_build.h"
#include "store/zoom_index.h"

namespace {

using namespace sonde::store;  // NOLINT(google-build-using-namespace): a benchmark of this folder
using BenchClock = std::chrono::steady_clock;

constexpr int32_t kLanes = 50;
constexpr int64_t kPixels = 1600;

double MillisecondsSince(BenchClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(BenchClock::now() - begin).count();
}

// Bursts of short slices with pauses, as programs are.
int64_t Fill(Store& store, int64_t slices) {
  auto transaction = store.Begin().value();
  auto writer = TableWriter<SliceRow>::Open(transaction).value();
  std::mt19937_64 random(1);
  int64_t last = 0;
  int32_t id = 0;
  for (int32_t lane = 0; lane < kLanes; ++lane) {
    int64_t ts = 0;
    for (int64_t i = 0; i < slices / kLanes; ++i) {
      const auto dur = static_cast<int64_t>(random() % 20'000);
      writer.Append({.slice_id = id++, .ts = ts, .dur = dur, .track_id = lane, .name = id % 500});
      ts += dur + static_cast<int64_t>(random() % (i % 1000 == 0 ? 50'000'000 : 2'000));
    }
    last = std::max(last, ts);
  }
  if (!writer.Close().ok() || !transaction.Commit().ok() || !store.Publish().ok()) std::abort();
  return last;
}

// CPU time of this thread: without the time in which others had the processor.
double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Times {
  double p50;
  double p99;
  double max;
  double cpu_p99;
};

Times Sorted(std::vector<double>& times, std::vector<double>& cpu) {
  std::sort(times.begin(), times.end());
  std::sort(cpu.begin(), cpu.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100], times.back(),
          cpu[cpu.size() * 99 / 100]};
}

// Viewports of `lanes` lanes that show `span` ns, at random places.
Times Ask(const ZoomIndex& index, int64_t last, int64_t span, int32_t lanes, int rounds) {
  std::mt19937_64 random(2);
  std::vector<double> times;
  std::vector<double> cpu;
  std::vector<ZoomSlice> drawn;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = static_cast<int64_t>(random() % static_cast<uint64_t>(last - span + 1));
    const double cpu_start = CpuMilliseconds();
    const auto start = BenchClock::now();
    drawn.clear();
    for (int32_t lane = 0; lane < lanes; ++lane) {
      index.Query(lane, 0, {begin, begin + span, std::max<int64_t>(1, span / kPixels)}, drawn);
    }
    times.push_back(MillisecondsSince(start));
    cpu.push_back(CpuMilliseconds() - cpu_start);
  }
  return Sorted(times, cpu);
}

// At every zoom, each 2 times as near as the one before; the worst of them is reported.
Times AskAtEveryZoom(const ZoomIndex& index, int64_t last, int32_t lanes, bool print) {
  Times worst = {};
  for (int64_t span = last; span >= 16'000; span /= 2) {
    const Times times = Ask(index, last, span, lanes, 200);
    if (print) {
      std::printf("  1/%-9lld of the trace  p50 %6.3f  p99 %6.3f  max %6.3f  CPU p99 %6.3f ms\n",
                  static_cast<long long>(last / span), times.p50, times.p99, times.max,
                  times.cpu_p99);
    }
    worst = {std::max(worst.p50, times.p50), std::max(worst.p99, times.p99),
             std::max(worst.max, times.max), std::max(worst.cpu_p99, times.cpu_p99)};
  }
  return worst;
}

void Report(const char* what, const Times& times, double goal_ms) {
  std::printf("%-40s p50 %6.3f  p99 %6.3f  max %6.3f  CPU p99 %6.3f ms (p99 asked for: %.0f)\n",
              what, times.p50, times.p99, times.max, times.cpu_p99, goal_ms);
}

// The server's way: the database gets one thread less than there are processors.
void QueryDuringSql(const std::string& path, const ZoomIndex& index, int64_t last) {
  const int threads = std::max(1, sonde::base::AvailableThreads() - 1);
  auto store = Store::OpenReadOnly(path, {.threads = threads}).value();
  std::atomic<bool> stop = false;
  std::atomic<int> statements = 0;
  std::jthread slow([&] {
    while (!stop) {
      const auto rows = store->Query(
          "SELECT count(*) FROM (SELECT name, ts // 1000 AS us, sum(dur), max(slice_id) "
          "FROM slice_ GROUP BY ALL)");
      if (!rows.ok()) std::abort();
      ++statements;
    }
  });
  while (statements == 0) std::this_thread::yield();
  Report("40 lanes during slow SQL, worst zoom", AskAtEveryZoom(index, last, 40, false), 5);
  stop = true;
}

void Reopen(const std::string& path, int64_t last) {
  std::vector<double> times;
  std::vector<double> cpu;
  for (int round = 0; round < 20; ++round) {
    const double cpu_start = CpuMilliseconds();
    const auto start = BenchClock::now();
    const auto store = Store::OpenReadOnly(path).value();
    const auto index = ZoomIndex::Open(ZoomIndex::PathFor(path), store->store_id()).value();
    std::vector<ZoomSlice> drawn;
    for (int32_t lane = 0; lane < 40; ++lane) {
      index.Query(lane, 0, {0, last, last / kPixels}, drawn);
    }
    times.push_back(MillisecondsSince(start));
    cpu.push_back(CpuMilliseconds() - cpu_start);
  }
  std::printf("first of them: %.1f ms\n", times[0]);
  Report("reopen store and index, first viewport", Sorted(times, cpu), 30);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t slices = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  const auto folder = std::filesystem::temp_directory_path() /
                      ("sonde_zoom_bench_" + std::to_string(std::random_device()()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "s.duckdb").string();
  auto store = Store::Create(path).value();
  const int64_t last = Fill(*store, slices);
  const auto start = BenchClock::now();
  auto built = BuildZoomIndex(*store, store->store_id(), ZoomIndex::PathFor(path));
  if (!built.ok() || !built->Commit().ok()) std::abort();
  std::printf("build of %lld slices from the database: %.0f ms, %.0f MB\n",
              static_cast<long long>(slices), MillisecondsSince(start),
              static_cast<double>(std::filesystem::file_size(ZoomIndex::PathFor(path))) / 1e6);
  store.reset();
  Reopen(path, last);
  store = Store::OpenReadOnly(path).value();
  const auto index = ZoomIndex::Open(ZoomIndex::PathFor(path), store->store_id()).value();
  Report("1 lane, worst zoom", AskAtEveryZoom(index, last, 1, false), 1);
  std::printf("40 lanes:\n");
  Report("40 lanes, worst zoom", AskAtEveryZoom(index, last, 40, true), 1);
  store.reset();
  QueryDuringSql(path, index, last);
  std::filesystem::remove_all(folder);
  return 0;
}
