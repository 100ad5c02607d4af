// From a capture to complete text deliverables: microseconds an operator, by stage.
//
// Usage: sonde_export_bench [OPS] [FOLDER]. The capture is that of
// importers/capture/testing/training_capture.h at level 0 without shapes, as `sonde run` records by
// default; BENCH_LEVEL=Level1 (with shapes) and OPS_MEMORY=1 widen it. Stages, as `sonde analyse`
// has them: import (files to rows in memory), load (their order), view (device side), text (files),
// commit (all is there), rest of the store.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "exporters/registry.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/capture/testing/training_capture.h"
#include "importers/import_trace.h"
#include "recipes/trace/device_view.h"

namespace {

using sonde::Status;
using sonde::importers::testing::CaptureBuilder;

std::string Environment(const char* name, const char* fallback) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : fallback;
}

sonde::Result<int64_t> MakeCapture(const std::string& span, int64_t ops) {
  CaptureBuilder capture;
  const std::string level = Environment("BENCH_LEVEL", "Level0");
  const bool with_memory = !Environment("OPS_MEMORY", "").empty();
  const std::string shapes = level == "Level0" ? "false" : "true";
  capture.Metadata(
      "profiler_config",
      sonde::base::Concat(R"({"common_config": {"record_shapes": )", shapes,
                          R"(, "profile_memory": )", with_memory ? "true" : "false",
                          R"(}, "experimental_config": {"_profiler_level": ")", level, "\"}}"));
  const int64_t made =
      sonde::importers::testing::MakeTrainingCapture(capture, ops, {shapes == "true", with_memory});
  SONDE_RETURN_IF_ERROR(capture.Write(span));
  return made;
}

int64_t CpuNs() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Prints time and processor time of each stage, and of all.
class Stopwatch {
 public:
  void Lap(const char* stage) {
    const int64_t now_ns = sonde::base::MonotonicRawNs();
    const int64_t cpu_ns = CpuNs();
    std::printf("%s %.0f (%.0f), ", stage, static_cast<double>(now_ns - last_ns_) / 1e6,
                static_cast<double>(cpu_ns - last_cpu_ns_) / 1e6);
    last_ns_ = now_ns;
    last_cpu_ns_ = cpu_ns;
  }
  void Finish(int64_t ops) {
    std::printf("all %.3f (%.3f) us an op\n",
                static_cast<double>(last_ns_ - begin_ns_) / 1e3 / static_cast<double>(ops),
                static_cast<double>(last_cpu_ns_ - begin_cpu_ns_) / 1e3 / static_cast<double>(ops));
  }

 private:
  int64_t begin_ns_ = sonde::base::MonotonicRawNs();
  int64_t begin_cpu_ns_ = CpuNs();
  int64_t last_ns_ = begin_ns_;
  int64_t last_cpu_ns_ = begin_cpu_ns_;
};

Status Round(const std::string& span, const std::string& form, int threads, int64_t ops) {
  SONDE_ASSIGN_OR_RETURN(const auto sources, sonde::importers::FindTraces(span));
  std::printf("%d threads, %lld ops, ms (processor ms): ", threads, static_cast<long long>(ops));
  Stopwatch watch;
  SONDE_ASSIGN_OR_RETURN(
      const auto imported,
      sonde::importers::ImportUnpublished(sources[0], StorePath(sources[0]), {.threads = threads}));
  watch.Lap("import");
  SONDE_ASSIGN_OR_RETURN(const auto data,
                         sonde::recipes::TraceData::Load(*imported.store, threads));
  watch.Lap("load");
  const auto view = sonde::recipes::DeviceView::Make(data);
  watch.Lap("view");
  SONDE_ASSIGN_OR_RETURN(auto output, sonde::base::AtomicDirectory::Create(
                                          sonde::base::JoinPath(span, "ASCEND_PROFILER_OUTPUT")));
  const sonde::exporters::ExportContext context{.view = view,
                                                .span_folder = span,
                                                .output_folder = output.temporary_path(),
                                                .span_name = "bench",
                                                .threads = threads};
  Status published;
  sonde::base::TaskGroup background(threads);
  const auto* const exporter = sonde::exporters::FindExporter(form);
  const bool in_parallel = sonde::exporters::LeavesIdle(*exporter, threads);
  if (in_parallel) background.Run([&] { published = imported.store->Publish(); });
  SONDE_RETURN_IF_ERROR(exporter->run(context));
  watch.Lap(form.c_str());
  SONDE_RETURN_IF_ERROR(output.Commit());
  watch.Lap("commit");
  background.Wait();
  if (!in_parallel) published = imported.store->Publish();
  SONDE_RETURN_IF_ERROR(published);
  watch.Lap("rest of the store");
  watch.Finish(ops);
  return {};
}

Status Run(int64_t ops, const std::string& folder) {
  const std::string span = folder + "/bench_4242_1_ascend_pt";
  SONDE_ASSIGN_OR_RETURN(const int64_t made, MakeCapture(span, ops));
  for (const int threads : {1, 2, 2, 2}) {
    SONDE_RETURN_IF_ERROR(Round(span, Environment("BENCH_FORM", "text"), threads, made));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t ops = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const std::string folder = argc > 2 ? argv[2] : "/tmp/sonde_export_bench";
  const Status status = Run(ops, folder);
  if (argc <= 2) sonde::base::RemoveTree(folder).IgnoreError();  // made by this program
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
