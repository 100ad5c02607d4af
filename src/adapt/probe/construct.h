// construct.json: which module each recorded call belongs to.
//
// A module is named as it begins, and written with the first call that ends after that: order and
// parents are those of the reference tool.
// Threads: the GIL. Errors: status() of the file.
#ifndef SONDE_ADAPT_PROBE_CONSTRUCT_H_
#define SONDE_ADAPT_PROBE_CONSTRUCT_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probe/object_file.h"

namespace sonde::adapt {

class Construct {
 public:
  // Writes to `path` from now on. `with_apis`: functions have places, not only modules.
  Status Open(const std::string& path, bool with_apis);
  void Close();

  // A module's forward or backward begins and ends, on this thread.
  void BeginModule(const std::string& name);
  void EndModule(const std::string& name);
  // "optimizer", "clip_grad" or "": the caller of functions outside all modules.
  void SetStatus(std::string_view status) { status_ = status; }
  // A call ends: it takes its place.
  void Place(const std::string& name);

  Status Settle() { return file_ ? file_->Settle() : Status::Ok(); }
  void MovedTo(const std::string& path);
  // Fine without a file.
  Status status() const { return file_ ? file_->status() : Status::Ok(); }

 private:
  struct Node {
    std::string name;
    std::string parent;  // empty: none
  };
  void Write(const std::string& name, std::string_view parent);
  std::string LastStartedAround(std::string_view name) const;

  std::optional<probe::ObjectFile> file_;
  bool with_apis_ = false;
  std::string status_;
  std::vector<std::string> seen_status_;
  std::vector<Node> waiting_;         // begun, not written yet
  std::vector<std::string> started_;  // open modules of all threads
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_CONSTRUCT_H_
