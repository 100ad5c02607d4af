// Object storage for commands: what lies under s3://, gs:// and whatever else fsspec knows is
// copied to a folder of this machine by the Python package (sonde/engine/buckets.py), and results
// back.
//
// The database library has no reader of object storage; credentials are those that fsspec finds.
// Errors: Status with the line of the module. Threads: as Supervise.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/host/private_folder.h"
#include "base/status.h"
#include "cli/command.h"
#include "store/lake.h"

namespace sonde::cli {

// s3://bucket/key and the like; file:///folder is none, WithoutFileScheme gives its path.
bool IsBucket(const std::string& path);
std::string WithoutFileScheme(const std::string& path);

class Bucket {
 public:
  // With an empty folder of this machine, which goes with the object.
  static Result<std::unique_ptr<Bucket>> Open(const Context& context, const std::string& uri);

  const std::string& folder() const { return folder_->path(); }
  Status GetAll();
  // Whatever is there, which may be nothing.
  Status GetIfThere();
  Status Get(const std::vector<store::LakeFile>& files);
  // The file may not be there yet; Put() fails if another writer changed it meanwhile.
  Status GetToChange(const std::string& name);
  // In this order: the last one shows the others.
  Status Put(const std::vector<std::string>& names);
  Status PutAll();

 private:
  Bucket(const Context& context, std::string uri) : context_(context), uri_(std::move(uri)) {}
  Status Run(std::vector<std::string> words, const std::vector<store::LakeFile>* files);

  const Context& context_;
  const std::string uri_;
  std::unique_ptr<base::PrivateFolder> folder_;
  std::unique_ptr<base::PrivateFolder> lists_;
  std::string seen_;  // file with the versions of what is to be changed
};

// The paths of a command: those in buckets are replaced by folders of this machine.
class BucketPaths {
 public:
  explicit BucketPaths(const Context& context) : context_(context) {}
  // A copy of what lies there.
  Status Read(std::string& path);
  // For results; with a copy of those of earlier calls where it `goes_on`. Put() copies them back.
  Status Write(std::string& path, bool goes_on);
  Status Put();

 private:
  const Context& context_;
  std::vector<std::unique_ptr<Bucket>> read_;
  std::vector<std::unique_ptr<Bucket>> written_;
};

// What a statement needs: of a lake the catalogue and some files, which the database's own plan
// shows; else all that lies there.
Status GetForStatement(Bucket& bucket, const std::string& sql, const store::JointOptions& options);

inline constexpr const char* kLakeCatalog = "catalog.ducklake";

}  // namespace sonde::cli
