#include "cli/buckets.h"

#include <cstdlib>
#include <utility>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "cli/python_task.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr std::string_view kFileScheme = "file://";

// The conditions on run and rank by which the scans of a plan choose files; false where one takes
// all.
bool CollectFilters(const base::JsonValue& node, std::vector<std::string>& filters) {
  bool is_known = true;
  for (const base::JsonValue& child : node.Elements()) is_known &= CollectFilters(child, filters);
  for (const base::JsonValue& child : node["children"].Elements()) {
    is_known &= CollectFilters(child, filters);
  }
  if (node["extra_info"]["Function"].Dump() != "\"READ_PARQUET\"") return is_known;
  const Result<std::string> filter = node["extra_info"]["File Filters"].AsString();
  if (!filter.ok()) return false;
  filters.push_back(*filter);
  return is_known;
}

// SQL on run and rank: files that the statement may need; empty where it may need all.
std::string FilesCondition(const store::JointStore& lake, const std::string& sql) {
  std::string plan;
  const auto begin = [](const std::vector<store::QueryColumn>&) { return Status(); };
  const Status asked = lake.ScanWithColumns(Concat("EXPLAIN (FORMAT json) ", sql), begin,
                                            [&](const store::Chunk& chunk) -> Status {
                                              for (size_t row = 0; row < chunk.rows(); ++row)
                                                plan = chunk.Text(1, row);
                                              return {};
                                            });
  const auto document = base::JsonDocument::Parse(plan, "plan");
  std::vector<std::string> filters;
  if (!asked.ok() || !document.ok() || !CollectFilters(document->root(), filters)) return {};
  for (std::string& filter : filters) filter = Concat("(", filter, ")");
  return base::Join(filters, " OR ");
}

// Empty files: the database looks whether each is there before it chooses. One that is read anyway
// is an error.
Status StandIn(const std::string& folder, const std::vector<store::LakeFile>& files) {
  for (const store::LakeFile& file : files) {
    const std::string path = base::JoinPath(folder, file.path);
    if (base::PathExists(path)) continue;
    SONDE_RETURN_IF_ERROR(base::MakeDirectories(std::string(base::DirName(path))));
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(path, ""));
  }
  return {};
}

}  // namespace

bool IsBucket(const std::string& path) {
  return path.find("://") != std::string::npos && !path.starts_with(kFileScheme);
}

std::string WithoutFileScheme(const std::string& path) {
  return path.starts_with(kFileScheme) ? path.substr(kFileScheme.size()) : path;
}

Result<std::unique_ptr<Bucket>> Bucket::Open(const Context& context, const std::string& uri) {
  std::unique_ptr<Bucket> bucket(new Bucket(context, uri));
  SONDE_ASSIGN_OR_RETURN(bucket->folder_, base::PrivateFolder::Make("bucket"));
  SONDE_ASSIGN_OR_RETURN(bucket->lists_, base::PrivateFolder::Make("names"));
  return bucket;
}

Status Bucket::Run(std::vector<std::string> words, const std::vector<store::LakeFile>* files) {
  const char* python = std::getenv("SONDE_ENGINE_PYTHON");
  PythonTask task{.python = python == nullptr || *python == '\0' ? "python3" : python,
                  .module = "sonde.engine.buckets",
                  .words = std::move(words)};
  task.words.insert(task.words.end(), {uri_, folder()});
  if (files != nullptr) {
    std::string lines;
    for (const store::LakeFile& file : *files) {
      lines += Concat(std::to_string(file.bytes), " ", file.path, "\n");
    }
    const std::string list = base::JoinPath(lists_->path(), "names");
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(list, lines));
    task.words.insert(task.words.end(), {"--names", list});
  }
  SONDE_ASSIGN_OR_RETURN(const PythonResult result, RunPythonTask(context_, task));
  if (result.exit_status != 0 || !result.report) {
    return base::InternalError(Concat("nothing was copied from or to '", uri_, "'"));
  }
  SONDE_ASSIGN_OR_RETURN(const std::string error, result.report->root().GetString("error", ""));
  return error.empty() ? Status() : base::FailedPreconditionError(error);
}

Status Bucket::GetAll() { return Run({"get"}, nullptr); }

Status Bucket::GetIfThere() { return Run({"get", "--maybe"}, nullptr); }

Status Bucket::Get(const std::vector<store::LakeFile>& files) {
  return files.empty() ? Status() : Run({"get"}, &files);
}

Status Bucket::GetToChange(const std::string& name) {
  seen_ = base::JoinPath(lists_->path(), "seen");
  const std::vector<store::LakeFile> files = {{name, -1}};
  return Run({"get", "--seen", seen_}, &files);
}

Status Bucket::Put(const std::vector<std::string>& names) {
  std::vector<store::LakeFile> files;
  for (const std::string& name : names) files.push_back({name, -1});
  return seen_.empty() ? Run({"put"}, &files) : Run({"put", "--seen", seen_}, &files);
}

Status Bucket::PutAll() { return Run({"put"}, nullptr); }

Status BucketPaths::Read(std::string& path) {
  path = WithoutFileScheme(path);
  if (!IsBucket(path)) return {};
  SONDE_ASSIGN_OR_RETURN(auto bucket, Bucket::Open(context_, path));
  SONDE_RETURN_IF_ERROR(bucket->GetAll());
  path = bucket->folder();
  read_.push_back(std::move(bucket));
  return {};
}

Status BucketPaths::Write(std::string& path, bool goes_on) {
  path = WithoutFileScheme(path);
  if (!IsBucket(path)) return {};
  SONDE_ASSIGN_OR_RETURN(auto bucket, Bucket::Open(context_, path));
  if (goes_on) SONDE_RETURN_IF_ERROR(bucket->GetIfThere());
  path = bucket->folder();
  written_.push_back(std::move(bucket));
  return {};
}

Status BucketPaths::Put() {
  for (const auto& bucket : written_) SONDE_RETURN_IF_ERROR(bucket->PutAll());
  return {};
}

Status GetForStatement(Bucket& bucket, const std::string& sql, const store::JointOptions& options) {
  SONDE_RETURN_IF_ERROR(bucket.GetToChange(kLakeCatalog));
  if (!store::IsLake(bucket.folder())) return bucket.GetAll();
  SONDE_ASSIGN_OR_RETURN(const auto first, store::LakeFiles(bucket.folder(), "", ""));
  SONDE_RETURN_IF_ERROR(bucket.Get(first));
  SONDE_ASSIGN_OR_RETURN(const auto all, store::LakeFiles(bucket.folder(), sql, ""));
  SONDE_RETURN_IF_ERROR(StandIn(bucket.folder(), all));
  std::string condition;
  {
    SONDE_ASSIGN_OR_RETURN(const auto lake, store::OpenLake(bucket.folder(), options));
    condition = FilesCondition(*lake, sql);
  }
  const auto files = store::LakeFiles(bucket.folder(), sql, condition);
  return bucket.Get(files.ok() ? *files : all);  // it may need more than run and rank
}

}  // namespace sonde::cli
