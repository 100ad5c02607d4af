// The recorded work of an Ascend device, as plain values: filled by the readers of databases, text
// files and raw records, and turned into rows of the store in one place.
//
// Texts are numbers of the rows' name pool, store::kNone where unknown. Unknown numbers are -1.
// Units: nanoseconds of the Unix epoch. DeviceRows: refers to the rows it fills; one thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "importers/rows/trace_rows.h"

namespace sonde::importers::ascend {

// Device and stream.
struct Place {
  int32_t process_id = store::kNone;
  int32_t device_id = store::kNone;
  int32_t stream_id = store::kNone;
  auto operator<=>(const Place&) const = default;
};

// Description of a kernel: COMPUTE_TASK_INFO, kernel_details.csv. Shared by many tasks.
struct Kernel {
  int32_t name = store::kNone;
  int32_t op_type = store::kNone;
  int32_t core = store::kNone;  // unknown: it is a kernel still
  int64_t block_num = -1;
  int64_t mix_block_num = -1;
  int32_t input_formats = store::kNone;
  int32_t input_types = store::kNone;
  int32_t input_shapes = store::kNone;
  int32_t output_formats = store::kNone;
  int32_t output_types = store::kNone;
  int32_t output_shapes = store::kNone;
  int32_t op_state = store::kNone;
  int32_t hf32 = store::kNone;
  int32_t attributes = store::kNone;  // of the operator: an argument of the tasks' slices
  bool operator==(const Kernel&) const = default;
};

struct DeviceTask {
  int64_t ts = 0;
  int64_t dur = 0;
  Place place = {};
  store::TaskKindRow kind = {};       // of KindOf, or a name for other tasks than kernels
  int32_t kind_id = store::kNone;     // in place of it: a row of rows.kinds
  std::optional<int64_t> plane = {};  // of a communication that it is part of: shown there
  int64_t connection_id = -1;         // of the host call that launched it
  int64_t queue_number = -1;          // that the device's queue gave it
  int64_t step_id = -1;
  int32_t slice_id = store::kNone;  // where the timeline has it already, with its track
  int32_t track_id = store::kNone;
  bool is_shown = true;  // false: no slice is made of it
};

struct CommunicationOp {
  int64_t ts = 0;
  int64_t dur = 0;
  int32_t process_id = store::kNone;
  int32_t device_id = store::kNone;
  int32_t name = store::kNone;
  std::string_view type = {};                  // from the source; "": the type in the name
  std::optional<std::string_view> group = {};  // communicator
  int32_t data_type = store::kNone;
  int32_t algorithm = store::kNone;
  int64_t count = -1;  // elements
  int64_t rank_size = -1;
  int64_t connection_id = -1;
  int64_t step_id = -1;
  int32_t launch_slice_id = store::kNone;
  int32_t slice_id = store::kNone;  // where the timeline has it already
  bool is_shown = true;
};

// A call of the host into the vendor's library.
struct ApiCall {
  int64_t ts = 0;
  int64_t dur = 0;
  int32_t thread_id = store::kNone;
  int32_t name = store::kNone;
  int32_t level = store::kNone;  // acl, node, runtime, communication, ...
  int64_t connection_id = -1;
  int32_t slice_id = store::kNone;  // where the timeline has it already
  int32_t track_id = store::kNone;  // of CallTrack
};

// A value of a hardware counter in a task.
struct HardwareCounter {
  int32_t task = store::kNone;
  int32_t name = store::kNone;
  double value = 0;
  bool is_of_database = false;  // times are nanoseconds, and have the names of databases
};

// An argument of a slice.
struct Argument {
  std::string_view key;
  std::string text;
  bool is_number = true;
};

// Arguments of the slice of a communication's task, with the names that timelines use.
struct TransferFacts {
  std::array<int64_t, 4> numbers = {-1, -1, -1, -1};                          // kNumberKeys
  std::array<int32_t, 3> texts = {store::kNone, store::kNone, store::kNone};  // kTextKeys
  std::optional<double> bandwidth = {};                                       // GB/s
  static constexpr std::array<std::string_view, 4> kNumberKeys = {"notify_id", "src rank",
                                                                  "dst rank", "size(Byte)"};
  static constexpr std::array<std::string_view, 3> kTextKeys = {"transport type", "data type",
                                                                "link type"};
};

// Transfers between the same ranks, of one size, over one link, as one row.
class TransferSums {
 public:
  struct Transfer {
    int32_t operation = store::kNone;  // index of rows.communications
    int32_t transport = store::kNone;
    int32_t link = store::kNone;
    int32_t src_rank = store::kNone;
    int32_t dst_rank = store::kNone;
    int64_t size = 0;
    int64_t dur_ns = 0;
  };
  // Whether a task of this name moves data.
  static bool MovesData(std::string_view name);
  // Names of communication.json: the link decides, since SDMA is common to all links inside a
  // machine.
  static int32_t TransportOf(store::NamePool& names, std::string_view link, int32_t transport);

  void Add(const Transfer& transfer);
  void Write(TraceRows& rows) const;

 private:
  struct Sum {
    int64_t count = 0;
    int64_t dur_ns = 0;
  };
  using Key = std::tuple<int32_t, int32_t, int32_t, int32_t, int32_t, int64_t>;
  std::map<Key, Sum> sums_;
};

// Launches are taken from tasks whose time is that of a kernel or operation of the same connection:
// the transfers and waits of an operation, and the hardware's tasks around either.
void LeaveLaunches(TraceRows& rows);

inline constexpr std::string_view kAttributes = "attributes";

class DeviceRows {
 public:
  explicit DeviceRows(TraceRows& rows) : rows_(rows) {}

  // The kind of tasks that run this kernel.
  store::TaskKindRow KindOf(const Kernel& kernel);
  // A cell of shapes (ascend/groups.h), "N/A" and "": unknown.
  int32_t Shapes(std::string_view cell);
  int32_t Known(std::string_view cell);

  // Each appends a row and returns its index: of rows.tasks, rows.communications, slices.
  int32_t AddTask(const DeviceTask& task);
  // `has_size`: false for an impossible size.
  int32_t AddOperation(const CommunicationOp& op, bool& has_size);
  int32_t AddCall(const ApiCall& call);
  void AddCounter(const HardwareCounter& counter);
  // Appended to its arguments; its set must not be shared with other slices.
  void AddArguments(int32_t slice, std::span<const Argument> arguments);
  // Arguments of a slice; `name`: of the task.
  void AddFacts(int32_t slice, int32_t name, const TransferFacts& facts);

  int32_t StreamTrack(const Place& place);
  int32_t CallTrack(int32_t thread_id);

 private:
  struct Metric {
    int32_t name;
    double unit;
  };
  Metric MetricOf(int32_t name);
  int32_t PlaneTrack(const DeviceTask& task);

  TraceRows& rows_;
  std::unordered_map<int32_t, Metric> metrics_;
  std::map<Place, int32_t> track_of_stream_;
  std::map<std::tuple<int32_t, int32_t, int64_t>, int32_t> track_of_plane_;
};

}  // namespace sonde::importers::ascend
