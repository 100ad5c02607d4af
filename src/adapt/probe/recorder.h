// One dump that is being written: the three JSON files of a step and the files of tensors.
//
// Threads: the GIL. Errors: failures to write are kept once and returned by TakeError(); they end
// the writing of that file, never the program. Failures to render are Python exceptions.
#ifndef SONDE_ADAPT_PROBE_RECORDER_H_
#define SONDE_ADAPT_PROBE_RECORDER_H_

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "adapt/probe/construct.h"
#include "adapt/probe/frame_walk.h"
#include "adapt/probe/renderer.h"
#include "probe/entry_file.h"
#include "probe/stack_file.h"
#include "probe/tensor_queue.h"

namespace sonde::adapt {

// Bits of the last argument of add().
inline constexpr uint64_t kSaveTensors = 1;
inline constexpr uint64_t kFinish = 2;
inline constexpr uint64_t kKeepParts = 4;
inline constexpr uint64_t kInList = 8;  // the value is the only element of a list
inline constexpr uint64_t kWhole = 16;  // the value is the whole member, not a part
inline constexpr uint64_t kWithStack = 32;
inline constexpr uint64_t kPlace = 64;  // the call ends: it takes its place in construct.json
// Of all calls of functions: only those whose results hold NaN are reported.
inline constexpr uint64_t kOnlyNan = 128;
inline constexpr uint64_t kNoBackward = 256;  // with it: not of gradients
inline constexpr uint64_t kModule = 512;      // a module begins with this call, or ends

struct DumpFiles {
  std::string folder;
  std::string main_file;  // "dump.json" or "debug.json"
  std::string head;       // text before the members
  std::string tensor_folder;
  bool with_stacks = false;
  bool with_construct = false;
  bool with_apis = false;      // functions, too, have places in construct.json
  uint64_t waiting_bytes = 0;  // of tensors that a thread writes; 0: each is written at once
};

// Arguments as they come with a call: the values of `names`, a tuple or nullptr, follow the others.
struct CallArguments {
  PyObject* const* values;
  size_t count;  // without those of names
  PyObject* names;
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
  // The same for the arguments of a call.
  bool AddValues(const std::string& name, std::string_view key, std::string_view io,
                 const CallArguments& values, uint64_t flags);
  // Both parts of a backward call, tuples or single values, which is then complete.
  bool AddGradients(const std::string& name, PyObject* to_outputs, PyObject* to_inputs,
                    uint64_t flags);
  // Both kinds of inputs of a call, and with kWithStack its call path.
  bool AddInputs(const std::string& name, const CallArguments& arguments, uint64_t flags);
  void Finish(const std::string& name);
  void Remove(const std::string& name);
  // A call without an entry ends.
  void Place(const std::string& name);
  // Puts the current call path into stack.json.
  bool AddStack(const std::string& name);
  Construct& construct() { return construct_; }
  // Fetches numbers from devices and writes the entries that waited for them.
  bool FetchNumbers();
  // All fetched numbers are in the files in their final form.
  Status Settle();
  // The folder of the dump was renamed.
  void MovedTo(const std::string& folder);
  TensorReader& reader() { return reader_; }
  void Close();
  // The first failure since the last call, empty for none.
  std::string TakeError();
  // Whether NaN or infinity was met since the last call.
  bool TakeBad() { return std::exchange(bad_, false); }

 private:
  struct StackGroup {
    uint64_t second;
    size_t number;
  };
  struct StackText {
    uint64_t second;
    std::string elements;
  };
  // Of the current call path, as stack.json has it; nullptr with a Python exception.
  const std::string* ElementsOfStack(const FramesHash& hash);
  // After changes to data_: limits the number of waiting entries.
  bool Written();
  bool Save(const std::string& name, const ReadTensor& tensor);
  SaveTensor SaveFor(uint64_t flags);
  void Keep(const Status& status);

  const PythonCalls& calls_;
  TensorReader reader_;
  RenderOptions options_;
  FrameWalk frames_;
  std::optional<probe::EntryFile> data_;
  std::optional<probe::StackFile> stacks_;
  std::unordered_map<uint64_t, StackGroup> groups_;  // by the first hash of the frames
  // Every step has the same stacks: texts of all steps, found in the same way. The code objects of
  // a hash stay alive, since `frames_` keeps them.
  std::unordered_map<uint64_t, StackText> stack_texts_;
  Construct construct_;
  std::optional<probe::TensorQueue> queue_;
  DumpFiles files_;
  std::string error_;
  bool has_failed_ = false;
  bool bad_ = false;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_RECORDER_H_
