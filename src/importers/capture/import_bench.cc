// Speed of the import of a capture: ns a record from files to checkpointed store, by stage.
//
// Usage: sonde_import_bench [OPS] [FOLDER]. The capture is that of testing/training_capture.h, with
// memory events where OPS_MEMORY=1 is set in the environment.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "importers/capture/import.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/capture/testing/training_capture.h"
#include "importers/import_trace.h"

namespace {

using sonde::importers::testing::CaptureBuilder;

double CpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

int Run(int64_t ops, const std::string& folder) {
  const std::string span = folder + "/bench_4242_1_ascend_pt";
  const char* memory = std::getenv("OPS_MEMORY");  // NOLINT(concurrency-mt-unsafe)
  int64_t made = 0;
  {
    CaptureBuilder capture;
    made = sonde::importers::testing::MakeTrainingCapture(
        capture, ops, {.with_shapes = true, .with_memory = memory != nullptr});
    if (!capture.Write(span).ok()) return 1;
  }
  for (int threads = 1; threads <= 2; ++threads) {
    for (int round = 0; round < 3; ++round) {
      const auto sources = sonde::importers::FindTraces(span);
      const double cpu_begin = CpuSeconds();
      const int64_t begin = sonde::base::MonotonicRawNs();
      const auto imported = sonde::importers::ImportTrace((*sources)[0], StorePath((*sources)[0]),
                                                          {.threads = threads});
      const int64_t end = sonde::base::MonotonicRawNs();
      if (!imported.ok()) {
        std::fprintf(stderr, "%s\n", std::string(imported.status().message()).c_str());
        return 1;
      }
      const auto per_op = [&](double seconds) { return seconds * 1e6 / static_cast<double>(made); };
      std::printf("%d threads: %lld ops, %lld slices, %lld tasks: %.3f us an op, CPU %.3f\n",
                  threads, static_cast<long long>(made),
                  static_cast<long long>(imported->summary.slices),
                  static_cast<long long>(imported->summary.device_tasks),
                  per_op(static_cast<double>(end - begin) / 1e9), per_op(CpuSeconds() - cpu_begin));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t ops = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const std::string folder = argc > 2 ? argv[2] : "/tmp/sonde_import_bench";
  const int result = Run(ops, folder);
  if (argc <= 2) sonde::base::RemoveTree(folder).IgnoreError();  // made by this program
  return result;
}
