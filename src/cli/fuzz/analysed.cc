#include "cli/fuzz/analysed.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/files.h"
#include "cli/analyse_rank.h"
#include "cli/analyse_server.h"
#include "importers/import_trace.h"
#include "importers/registry.h"
#include "recipes/registry.h"
#include "store/result_info.h"

namespace sonde::cli {
namespace {

// Counts rows, so that all of them are made.
class IgnoredRows final : public store::RowSink {
 public:
  void Int(int64_t) override {}
  void Double(double) override {}
  void Text(std::string_view) override {}
  void Null() override {}
  void EndRow() override { ++count_; }

 private:
  int64_t count_ = 0;
};

void MakeResults(const importers::TraceSource& source) {
  const auto store =
      importers::OpenOrImport(source, {.threads = 1}, [](std::string_view /*notice*/) {});
  if (!store.ok()) return;
  for (const recipes::Recipe* recipe : recipes::Recipes()) {
    IgnoredRows rows;
    recipes::RunRecipe(*recipe, **store, rows).IgnoreError();
  }
}

}  // namespace

const std::string& FuzzFolder() {
  static const std::string folder = [] {
    std::string path = "/tmp/sonde_fuzz_XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) std::abort();
    if (::setenv("XDG_CACHE_HOME", (path + "/cache").c_str(), 1) != 0) std::abort();
    return path;
  }();
  return folder;
}

void AnalyseAllOf(const std::string& folder, const std::string& form) {
  const std::string output = FuzzFolder() + "/output";
  if (!base::RemoveTree(output).ok() || !base::RemoveTree(FuzzFolder() + "/cache").ok()) {
    std::abort();
  }
  const auto sources = importers::FindTraces(folder);
  if (!sources.ok()) return;
  for (const importers::TraceSource& source : *sources) {
    const AnalyseOptions options{.export_types = {form}, .output_folder = output};
    if (IsServer(source)) {
      AnalyseServer(source, options).status().IgnoreError();
    } else {
      AnalyseRank(source, options).status().IgnoreError();
    }
    MakeResults(source);
  }
}

}  // namespace sonde::cli
