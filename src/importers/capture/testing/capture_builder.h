// Writes captures byte by byte in the layout of capture/format.h, for tests, fuzzing and
// benchmarks.
//
// Independent of the recorder and of the importer. Not for products. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "capture/args.h"
#include "capture/format.h"

namespace sonde::importers::testing {

// Bytes of an argument set.
class ArgsBuilder {
 public:
  ArgsBuilder& Int(uint32_t key, int64_t value);
  ArgsBuilder& Double(uint32_t key, double value);
  ArgsBuilder& Text(uint32_t key, std::string_view text);
  ArgsBuilder& NameOf(uint32_t key, uint32_t name);
  ArgsBuilder& Ints(uint32_t key, const std::vector<int64_t>& values);
  // One float tensor for each list of sizes.
  ArgsBuilder& Tensors(uint32_t key, const std::vector<std::vector<int64_t>>& sizes);
  ArgsBuilder& Field(uint32_t key, capture::ArgType type, std::string_view payload);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class CaptureBuilder {
 public:
  // The clock: tick t is at epoch_ns + t * ns_per_tick.
  explicit CaptureBuilder(int64_t epoch_ns = 1'700'000'000'000'000'000);

  // --- Dictionary ---
  uint32_t Name(std::string_view text);  // the same id for the same text
  uint32_t Args(const ArgsBuilder& args);
  uint32_t Frame(std::string_view function, std::string_view file, uint32_t line);
  uint32_t Stack(const std::vector<uint32_t>& frames);
  void Domain(uint32_t id, std::string_view text);
  void Thread(uint32_t index, uint32_t tid, uint32_t framework_number, std::string_view name);
  void Metadata(std::string_view key, std::string_view json);
  void ClockSample(uint64_t ticks, int64_t monotonic_raw_ns, int64_t realtime_ns);
  void Issue(std::string_view text);
  void End(capture::StopReason reason, uint64_t dropped);
  void Entry(capture::EntryType type, uint32_t id, std::string_view payload);

  // --- Records; of one thread in the order in which they end ---
  struct Range {
    capture::RecordKind kind = capture::RecordKind::kOp;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t name = 0;
    uint32_t args = 0;
    uint32_t link = 0;
    int32_t sequence = -1;
    uint8_t domain = 0;
  };
  void Add(uint32_t thread, const Range& range);
  void Add(uint32_t thread, const capture::Record& record);
  void AddMemory(uint32_t thread, uint64_t ticks, uint64_t pointer, int64_t size_bytes,
                 int64_t total_allocated);
  // Value or id in the 8 bytes at `offset_of_args` (counters, flows) or at link (spans).
  void AddInstant(uint32_t thread, capture::RecordKind kind, uint64_t ticks, uint32_t name,
                  uint64_t args_and_link);
  void AddSpan(uint32_t thread, bool begin, uint64_t ticks, uint32_t name, uint64_t id);
  // Puts the records since the last call into a chunk of the segment.
  void Flush(uint32_t thread, uint64_t dropped_total = 0);
  // The last chunk of a thread: ranges that were open, outermost first.
  void FlushOpen(uint32_t thread, const std::vector<Range>& open);

  // Instead of Flush: puts later records into a ring file, with these open ranges. `last_ended`:
  // the record of the last one was written, and it was not yet taken off.
  std::string Ring(uint32_t thread, uint32_t tid, uint64_t capacity, uint64_t tail,
                   const std::vector<Range>& open, bool last_ended = false);

  // --- Files ---
  const std::string& dictionary() const { return dictionary_; }
  const std::string& segment() const { return segment_; }
  // <folder>/SONDE with all files; rings by file name.
  Status Write(const std::string& folder) const;
  std::map<std::string, std::string>& rings() { return rings_; }

  static std::string FileHeader(uint64_t magic, uint32_t number, uint64_t session_id);
  static constexpr uint64_t kSessionId = 77;
  static constexpr uint32_t kPid = 4242;

 private:
  struct ThreadState {
    uint64_t next_slot = 0;
    std::vector<capture::Record> pending;
  };
  void AppendChunk(uint32_t thread, uint64_t first_slot, const std::vector<capture::Record>& slots,
                   uint64_t dropped_total);

  std::string dictionary_;
  std::string segment_;
  std::map<std::string, uint32_t, std::less<>> names_;
  uint32_t next_args_ = 1;
  uint32_t next_frame_ = 1;
  uint32_t next_stack_ = 1;
  std::map<uint32_t, ThreadState> threads_;
  std::map<std::string, std::string> rings_;
};

}  // namespace sonde::importers::testing
