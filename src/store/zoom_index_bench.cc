// Zoom index at 10 million slices: time to build, to open, and of viewports at random zooms.
//
//   sonde_zoom_bench [slices]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "store/table_writer.h"
#include "store/zoom_index.h"

namespace {

using namespace sonde::store;  // NOLINT(google-build-using-namespace): a benchmark of this folder
using Clock = std::chrono::steady_clock;

constexpr int32_t kLanes = 50;
constexpr int64_t kPixels = 1600;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
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

void Report(const char* what, std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  std::printf("%-34s p50 %7.3f  p99 %7.3f  max %7.3f ms\n", what, times[times.size() / 2],
              times[times.size() * 99 / 100], times.back());
}

// Viewports of `lanes` lanes.
void Ask(const ZoomIndex& index, int64_t last, int32_t lanes, const char* what) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> zoom(0, std::log(static_cast<double>(last) / 16'000.0));
  std::vector<double> times;
  std::vector<ZoomSlice> drawn;
  for (int i = 0; i < 5000; ++i) {
    const auto span = static_cast<int64_t>(static_cast<double>(last) / std::exp(zoom(random)));
    const auto begin = static_cast<int64_t>(random() % static_cast<uint64_t>(last - span + 1));
    const auto start = Clock::now();
    drawn.clear();
    for (int32_t lane = 0; lane < lanes; ++lane) {
      index.Query(lane, 0, {begin, begin + span, std::max<int64_t>(1, span / kPixels)}, drawn);
    }
    times.push_back(MillisecondsSince(start));
  }
  Report(what, times);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t slices = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  const auto folder = std::filesystem::temp_directory_path() / "sonde_zoom_bench";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "s.duckdb").string();
  auto store = Store::Create(path).value();
  const int64_t last = Fill(*store, slices);
  auto start = Clock::now();
  if (!ZoomIndex::Build(*store, ZoomIndex::PathFor(path)).ok()) std::abort();
  std::printf("build of %lld slices: %.0f ms, %.0f MB\n", static_cast<long long>(slices),
              MillisecondsSince(start),
              static_cast<double>(std::filesystem::file_size(ZoomIndex::PathFor(path))) / 1e6);
  store.reset();
  start = Clock::now();
  store = Store::OpenReadOnly(path).value();
  const auto index = ZoomIndex::Open(ZoomIndex::PathFor(path), *store).value();
  std::vector<ZoomSlice> drawn;
  for (int32_t lane = 0; lane < 40; ++lane) {
    index.Query(lane, 0, {0, last, last / kPixels}, drawn);
  }
  std::printf("open store and index, first viewport: %.1f ms\n", MillisecondsSince(start));
  Ask(index, last, 1, "1 lane, random zoom");
  Ask(index, last, 40, "40 lanes, random zoom");
  std::filesystem::remove_all(folder);
  return 0;
}
