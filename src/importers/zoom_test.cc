// Every real trace gets a zoom index when it is imported, with the same drawing as a walk over all
// slices. Real data: SONDE_SHARED_DATA; skipped where it is absent.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/test_folder.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/capture/testing/training_capture.h"
#include "importers/import_trace.h"
#include "store/zoom_check.h"
#include "store/zoom_index.h"

namespace sonde::importers {
namespace {

void CheckAgainstTables(const store::Store& store, uint64_t seed) {
  const auto index =
      store::ZoomIndex::Open(store::ZoomIndex::PathFor(store.path()), store.store_id());
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_GT(index->lanes().size(), 0U);
  store::CheckZoomIndex(store, *index, seed);
}

TEST(ZoomIndexOfTraces, CapturesGetOneInEveryWay) {
  const base::TestFolder folder;
  testing::CaptureBuilder capture;
  testing::MakeTrainingCapture(capture, 20'000, {.with_shapes = true, .with_memory = false});
  const std::string span = folder.File("host_1_1_ascend_pt");
  ASSERT_TRUE(capture.Write(span).ok());
  const auto sources = FindTraces(span);
  ASSERT_TRUE(sources.ok() && sources->size() == 1U);
  const std::string path = StorePath((*sources)[0]);
  for (const int threads : {1, 2}) {
    const auto imported = ImportTrace((*sources)[0], path, {.threads = threads});
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    CheckAgainstTables(*imported->store, 1);
    const auto in_memory = ImportUnpublished((*sources)[0], path, {.threads = threads});
    ASSERT_TRUE(in_memory.ok()) << in_memory.status().message();
    ASSERT_TRUE(in_memory->store->Publish().ok());
    CheckAgainstTables(*in_memory->store, 2);
  }
}

TEST(ZoomIndexOfTraces, DrawsTheSlicesOfTheTables) {
  const char* shared = std::getenv("SONDE_SHARED_DATA");  // NOLINT(concurrency-mt-unsafe)
  const std::string root = shared != nullptr ? shared : SONDE_SHARED_DATA_DEFAULT;
  if (!base::IsDirectory(root)) GTEST_SKIP() << "needs data: none in " << root;
#if defined(__SANITIZE_ADDRESS__)
  constexpr size_t kStride = 3;  // a minute otherwise
#else
  constexpr size_t kStride = 1;
#endif
  const base::TestFolder folder;
  size_t found = 0;
  size_t traces = 0;
  for (const char* kind : {"ascend_pt", "kineto", "mindspore_cpu", "vllm_cpu"}) {
    const auto sources = FindTraces(base::JoinPath(root, kind), 6);
    ASSERT_TRUE(sources.ok()) << sources.status().message();
    for (const TraceSource& source : *sources) {
      if (found++ % kStride != 0) continue;
      const auto imported =
          ImportTrace(source, folder.File("s.duckdb"), {.threads = traces % 2 == 0 ? 1 : 2});
      ASSERT_TRUE(imported.ok()) << source.path << ": " << imported.status().message();
      if (imported->summary.slices == 0) continue;
      CheckAgainstTables(*imported->store, traces);
      ASSERT_FALSE(HasFatalFailure()) << source.path;
      ++traces;
    }
  }
  EXPECT_GT(traces, 10U);
}

}  // namespace
}  // namespace sonde::importers
