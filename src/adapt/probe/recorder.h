// One dump that is being written: the three JSON files of a step and the tensors beside them.
//
// Threads: the GIL. Errors: failures to write are kept once and handed out by TakeError(); they
// end the writing of that file, never the program. Failures to render are Python exceptions.
#ifndef SONDE_ADAPT_PROBE_RECORDER_H_
#define SONDE_ADAPT_PROBE_RECORDER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "adapt/probe/frame_walk.h"
#include "adapt/probe/renderer.h"
#include "probe/object_file.h"
#include "probe/stack_file.h"

namespace sonde::adapt {

// Bits of the last argument of add().
inline constexpr uint64_t kSaveTensors = 1;
inline constexpr uint64_t kFinish = 2;
inline constexpr uint64_t kKeepParts = 4;
inline constexpr uint64_t kInList = 8;  // the value is the only element of a list
inline constexpr uint64_t kWithStack = 32;
inline constexpr uint64_t kWhole = 16;  // the value is the whole member, not a part

struct DumpFiles {
  std::string folder;
  std::string main_file;  // "dump.json" or "debug.json"
  std::string head;       // text before the members
  std::string tensor_folder;
  bool with_stacks = false;
  bool with_construct = false;
};

class Recorder {
 public:
  Recorder(const PythonCalls& calls, TensorReader reader, const RenderOptions& options,
           PyObject* describe_frame)
      : calls_(calls),
        reader_(std::move(reader)),
        options_(options),
        frames_(calls, describe_frame) {}

  Status Open(const DumpFiles& files);
  // Renders `value` and makes it the part `key` of a member; `io` begins the names of its files.
  bool Add(const std::string& name, std::string_view key, std::string_view io, PyObject* value,
           uint64_t flags);
  void Finish(const std::string& name);
  void Remove(const std::string& name);
  // Puts the current call path into stack.json.
  bool AddStack(const std::string& name);
  bool AddConstruct(const std::string& name, PyObject* parent);
  // Everything collected so far lies in the files in its final form.
  Status Settle();
  // The folder of the dump was renamed.
  void MovedTo(const std::string& folder);
  void Close();
  // The first failure since the last call, empty for none.
  std::string TakeError();
  // Whether NaN or infinity was met since the last call.
  bool TakeBad() { return std::exchange(bad_, false); }

 private:
  bool Save(const std::string& name, const ReadTensor& tensor);
  void Keep(const Status& status);

  const PythonCalls& calls_;
  TensorReader reader_;
  RenderOptions options_;
  FrameWalk frames_;
  std::optional<probe::ObjectFile> data_;
  std::optional<probe::ObjectFile> construct_;
  std::optional<probe::StackFile> stacks_;
  DumpFiles files_;
  std::string error_;
  bool has_failed_ = false;
  bool bad_ = false;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_RECORDER_H_
