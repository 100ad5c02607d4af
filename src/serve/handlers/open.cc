// POST /api/open?path=: reads one more path. GET /api/browse?path=: what lies in a folder. Both
// stay inside of the folders that the server was started with. GET /api/progress: how far imports
// are.
#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "importers/registry.h"
#include "serve/handlers.h"

namespace sonde::serve {
namespace {

constexpr size_t kMaxEntries = 500;

}  // namespace

Result<HttpAnswer> HandleOpen(Session& session, const HttpRequest& request) {
  if (request.Text("path").empty()) return base::InvalidArgumentError("'path' is missing");
  SONDE_RETURN_IF_ERROR(session.Add(request.Text("path")));
  return HttpAnswer{.body = "{}"};
}

Result<HttpAnswer> HandleBrowse(Session& session, const HttpRequest& request) {
  FolderMessage message;
  SONDE_ASSIGN_OR_RETURN(message.path, session.Confine(request.Text("path")));
  if (!base::IsDirectory(message.path)) {
    return base::InvalidArgumentError(base::Concat("'", message.path, "' is no folder"));
  }
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(message.path));
  for (const base::DirectoryEntry& entry : entries) {
    if (entry.name.starts_with('.') || message.entries.size() == kMaxEntries) continue;
    const std::string inside = base::JoinPath(message.path, entry.name);
    const importers::Importer* importer = importers::FindImporter(inside);
    message.entries.push_back({.name = entry.name,
                               .folder = base::IsDirectory(inside),
                               .format = importer != nullptr ? importer->what : ""});
  }
  std::stable_sort(message.entries.begin(), message.entries.end(),
                   [](const auto& a, const auto& b) { return a.folder && !b.folder; });
  return HttpAnswer{.body = ToJson(message)};
}

Result<HttpAnswer> HandleProgress(Session& session, const HttpRequest& /*request*/) {
  return HttpAnswer{.body = ToJson(session.Progress())};
}

}  // namespace sonde::serve
