#include "importers/registry.h"

#include <array>

#include "base/files.h"
#include "base/strings.h"
#include "importers/capture/import.h"

namespace sonde::importers {
namespace {

constexpr std::array kImporters = {
    Importer{"capture", "captures of Sonde", IsCapture, CaptureRank, ImportCapture},
};

Status Search(const std::string& path, int max_depth, std::vector<TraceSource>& found) {
  if (const Importer* importer = FindImporter(path)) {
    found.push_back({path, importer});
    return {};
  }
  if (max_depth == 0 || !base::IsDirectory(path)) return {};
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(path));
  for (const base::DirectoryEntry& entry : entries) {
    if (entry.kind != base::DirectoryEntry::Kind::kDirectory) continue;
    SONDE_RETURN_IF_ERROR(Search(base::JoinPath(path, entry.name), max_depth - 1, found));
  }
  return {};
}

}  // namespace

std::span<const Importer> Importers() { return kImporters; }

const Importer* FindImporter(const std::string& path) {
  for (const Importer& importer : kImporters) {
    if (importer.recognises(path)) return &importer;
  }
  return nullptr;
}

Result<std::vector<TraceSource>> FindTraces(const std::string& path, int max_depth) {
  if (!base::PathExists(path)) return base::NotFoundError(base::Concat("there is no '", path, "'"));
  std::vector<TraceSource> found;
  SONDE_RETURN_IF_ERROR(Search(path, max_depth, found));
  return found;
}

std::string StorePath(const TraceSource& source) {
  const std::string inside = base::JoinPath(source.path, "SONDE");
  return base::JoinPath(base::IsDirectory(inside) ? inside : source.path, "trace.duckdb");
}

Result<ImportedTrace> ImportTrace(const TraceSource& source, const std::string& store_path,
                                  const ImportOptions& options) {
  ImportedTrace result;
  store::StoreOptions store_options;
  store_options.threads = options.threads;
  SONDE_ASSIGN_OR_RETURN(result.store, store::Store::Create(store_path, store_options));
  SONDE_ASSIGN_OR_RETURN(result.summary,
                         source.importer->import(source.path, *result.store, options));
  SONDE_RETURN_IF_ERROR(result.store->Publish());
  return result;
}

}  // namespace sonde::importers
