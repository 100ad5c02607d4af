// The declared needs of recipes are complete: on real traces, their results are those of the
// whole store. A statement gives the same rows.
//
// Real data: SONDE_SHARED_DATA; skipped where it is absent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "exporters/format/result_sinks.h"
#include "importers/import_trace.h"
#include "recipes/registry.h"

namespace sonde::exporters {
namespace {

using recipes::Recipe;

class ResultsOf : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* shared = std::getenv("SONDE_SHARED_DATA");  // NOLINT(concurrency-mt-unsafe)
    const std::string path =
        base::JoinPath(shared != nullptr ? shared : SONDE_SHARED_DATA_DEFAULT, GetParam());
    if (!base::PathExists(path)) GTEST_SKIP() << "needs data";
    const importers::Importer* importer = importers::FindImporter(path);
    ASSERT_NE(importer, nullptr) << path;
    const std::string file = folder_.File("trace.duckdb");
    auto imported = importers::ImportTrace({path, importer}, file, {});
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    imported->store.reset();
    auto opened = store::Store::OpenReadOnly(file);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = std::move(*opened);
    ASSERT_EQ(store_->rows(), nullptr) << "read from the file, table by table";
  }
  base::TestFolder folder_;
  std::unique_ptr<store::Store> store_;
};

TEST_P(ResultsOf, NeedOnlyTheDeclaredTables) {
  const auto whole = recipes::TraceData::Load(*store_, 1);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const auto view = recipes::DeviceView::Make(*whole);
  size_t rows = 0;
  for (const Recipe* recipe : recipes::Recipes()) {
    CsvSink expected(*recipe->result);
    recipe->run(view, expected);
    CsvSink found(*recipe->result);
    const Status status = recipes::RunRecipe(*recipe, *store_, found);
    ASSERT_TRUE(status.ok()) << recipe->result->name << ": " << status.message();
    const std::string text = expected.Take();
    EXPECT_EQ(found.Take(), text) << recipe->result->name;
    rows += static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  EXPECT_GT(rows, 2 * recipes::Recipes().size());
}

TEST_P(ResultsOf, AreTables) {
  ASSERT_TRUE(store_->Offer(recipes::MakeResults(*store_)).ok());
  for (const Recipe* recipe : recipes::Recipes()) {
    CsvSink expected(*recipe->result);
    ASSERT_TRUE(recipes::RunRecipe(*recipe, *store_, expected).ok());
    const std::string text = expected.Take();
    const auto count = store_->Query(base::Concat("SELECT count(*) FROM ", recipe->result->name));
    ASSERT_TRUE(count.ok()) << count.status().message();
    const auto lines = std::count(text.begin(), text.end(), '\n');
    const bool is_one_line_a_row = text.find('"') == std::string::npos;
    if (is_one_line_a_row) {
      EXPECT_EQ(count->Int(0, 0), lines - 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Real, ResultsOf,
                         ::testing::Values("ascend_pt/db/level1/rank0_ascend_pt",
                                           "ascend_pt/text/level0/rank0_ascend_pt",
                                           "kineto/ns_resolution_trace/"
                                           "rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
                                           "vllm_cpu/kineto/tp1_stack_on/rank0.pt.trace.json.gz"));

}  // namespace
}  // namespace sonde::exporters
