// Fuzz target of raw records: pieces of a kind (u8), a length (u16) and so many bytes are the files
// of a folder.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "importers/ascend_raw/device_layer.h"
#include "importers/ascend_raw/device_rows.h"
#include "importers/ascend_raw/framework.h"
#include "importers/ascend_raw/host_layer.h"

namespace {

using namespace sonde;             // NOLINT(google-build-using-namespace): one file
using namespace sonde::importers;  // NOLINT(google-build-using-namespace)

// A stream of one slice, whose file is in memory.
class MemoryStream {
 public:
  MemoryStream(std::string_view name, std::string_view bytes)
      : descriptor_(::memfd_create("slice", 0)) {
    const bool is_whole =
        ::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    stream.name = name;
    if (!is_whole) return;
    stream.slices.push_back(
        {.file = {"/proc/self/fd/" + std::to_string(descriptor_), "f"}, .is_closed = true});
  }
  ~MemoryStream() { ::close(descriptor_); }
  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;

  raw::Stream stream;

 private:
  int descriptor_;
};

constexpr std::array<std::string_view, 19> kFiles = {
    "torch.op_range",
    "torch.op_mark",
    "torch.memory_usage",
    "torch.python_tracer_func",
    "torch.python_tracer_hash",
    "torch.gc_record",
    "unaging.api_event.data",
    "unaging.compact.task_track",
    "unaging.compact.node_basic_info",
    "aging.compact.node_basic_info",
    "unaging.compact.hccl_op_info",
    "unaging.compact.memcpy_info",
    "unaging.compact.expand_stream_spec",
    "unaging.additional.hash_dic",
    "unaging.additional.type_info_dic",
    "unaging.additional.tensor_info",
    "unaging.additional.context_id_info",
    "unaging.additional.hccl_info",
    "stars_soc.data",
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  TraceRows rows;
  const raw::Clock clock{.start_ticks = 1000,
                         .start_ns = 5'000'000,
                         .kilohertz = 38'400,
                         .wall = 1'700'000'000'000'000'000,
                         .is_known = true};
  base::ByteReader reader(std::string_view(reinterpret_cast<const char*>(data), size));
  const raw::Chip chip{reader.Read<uint8_t>() % 2 == 0 ? 5 : 15};
  raw::FrameworkLayer framework(rows);
  raw::HostLayer host(rows, clock, chip.is_v6());
  raw::DeviceLayer device(rows, clock, chip, 0);
  while (reader.ok() && reader.remaining() > 0) {
    const size_t kind = reader.Read<uint8_t>() % (kFiles.size() + 1);
    const auto length = reader.Read<uint16_t>();
    const std::string_view bytes = reader.ReadText(std::min<size_t>(length, reader.remaining()));
    const std::string_view name = kind < kFiles.size() ? kFiles.at(kind) : "ts_track.data";
    if (framework.Read({name, bytes, rows.issues}, clock)) continue;
    const MemoryStream file(name, bytes);
    if (!host.Read(file.stream)) device.Read(file.stream, host.expands_streams());
  }
  framework.Finish();
  host.Build(7);
  raw::DeviceTables tables(rows, host, framework, 7);
  tables.Add(device, device.Join(host));
  tables.Finish();
  rows.Arrange();
  return 0;
}
