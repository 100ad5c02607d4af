#include "cli/fuzz/analysed.h"

#include <cstdlib>
#include <utility>

#include "base/files.h"
#include "base/host/private_folder.h"
#include "cli/analyse_rank.h"
#include "cli/analyse_server.h"
#include "importers/import_trace.h"
#include "importers/registry.h"
#include "recipes/registry.h"
#include "store/result_info.h"

namespace sonde::cli {
namespace {

// Takes all rows, so that they are made.
class IgnoredRows final : public store::RowSink {
 public:
  void Int(int64_t) override {}
  void Double(double) override {}
  void Text(std::string_view) override {}
  void Null() override {}
  void EndRow() override {}
};

bool MakeResults(const importers::TraceSource& source) {
  const auto store =
      importers::OpenOrImport(source, {.threads = 1}, [](std::string_view /*notice*/) {});
  if (!store.ok()) return false;
  bool all_made = true;
  for (const recipes::Recipe* recipe : recipes::Recipes()) {
    IgnoredRows rows;
    all_made &= recipes::RunRecipe(*recipe, **store, rows).ok();
  }
  return all_made;
}

}  // namespace

const std::string& FuzzFolder() {
  static const auto folder = [] {
    auto made = base::PrivateFolder::Make("fuzz");
    if (!made.ok()) std::abort();
    if (::setenv("XDG_CACHE_HOME", ((*made)->path() + "/cache").c_str(), 1) != 0) std::abort();
    return *std::move(made);
  }();
  return folder->path();
}

int AnalyseAllOf(const std::string& folder, const std::string& form) {
  const std::string output = FuzzFolder() + "/output";
  if (!base::RemoveTree(output).ok() || !base::RemoveTree(FuzzFolder() + "/cache").ok()) {
    std::abort();
  }
  const auto sources = importers::FindTraces(folder);
  if (!sources.ok()) return 0;
  int whole = 0;
  for (const importers::TraceSource& source : *sources) {
    const AnalyseOptions options{.export_types = {form}, .output_folder = output};
    const base::Status status = IsServer(source) ? AnalyseServer(source, options).status()
                                                 : AnalyseRank(source, options).status();
    const bool are_made = MakeResults(source);
    if (status.ok() && are_made) ++whole;
  }
  return whole;
}

}  // namespace sonde::cli
