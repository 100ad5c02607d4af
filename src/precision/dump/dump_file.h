// One dump.json or debug.json, flattened into rows: one row for every tensor or scalar that went
// into or came out of a call, in the order of the reference (inputs, parameters, outputs,
// gradients).
//
// Both generations and both frameworks are read: sections `input_args`, `input_kwargs`, `input`,
// `parameters`, `output`, keys `...parameters_grad[.N]`, keys ending in `.debug`.
// The file stays mapped while the object lives; all views refer to it or to its arena.
// Errors: a file that is missing or is not JSON is a Status that names file and byte. One that only
// ends too early, as a program leaves it that was killed while it wrote, gives its whole entries.
// Threads: loading is one thread's work; a loaded file is read-only and may be shared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/large_vector.h"
#include "base/status.h"
#include "precision/dump/text_arena.h"
#include "precision/dump/value.h"

namespace sonde::precision {

enum class Section : uint8_t { kInput, kParameters, kOutput, kParametersGrad, kDebug };
inline constexpr size_t kSectionCount = 5;

enum class LeafKind : uint8_t {
  kNone,    // null
  kTensor,  // anything with a dtype: tensors, numpy arrays
  kScalar,  // int, float, bool, str, dtype, device, ...
  kSize,    // torch.Size
  kSlice,
  kEllipsis,
  kPeer,  // a scalar whose name ends in src, dst, group_src or group_dst
  kProcessGroup,
};

// The four statistics, in the order of all tables.
enum Statistic : uint8_t { kMax = 0, kMin = 1, kMean = 2, kNorm = 3 };
inline constexpr int kStatisticCount = 4;

struct DumpRow {
  std::string_view name;           // "Functional.linear.0.forward.input.0"
  std::string_view dtype;          // "torch.float32", "<class 'int'>"; empty: not applicable
  std::string_view shape;          // "[2, 3]"; empty: not applicable
  std::string_view requires_grad;  // "True", "False"; empty: not applicable
  std::string_view md5;            // as dumped; empty: not there, see ChecksumText()
  std::string_view data_name;      // tensor file; empty: none
  std::string_view raw;            // JSON of the record
  Value stats[kStatisticCount];
  uint32_t api = 0;  // index into apis()
  Section section = Section::kInput;
  LeafKind kind = LeafKind::kNone;

  // The rule of the reference: `.output.` anywhere in the name.
  bool IsOutput() const { return name.find(".output.") != std::string_view::npos; }
};

struct DumpApi {
  std::string_view name;  // "Functional.linear.0.forward"
  std::string_view raw;   // JSON of the entry
  uint32_t first_row = 0;
  uint32_t row_count = 0;
};

class DumpFile {
 public:
  static Result<std::unique_ptr<DumpFile>> Load(const std::string& path);
  // For tests and fuzzing: `text` must outlive the object.
  static Result<std::unique_ptr<DumpFile>> Parse(std::string_view text, std::string_view path);

  const std::string& path() const { return path_; }
  const std::string& task() const { return task_; }            // "statistics", "tensor", ...
  const std::string& level() const { return level_; }          // "L0", "L1", "mix", "debug"
  const std::string& framework() const { return framework_; }  // "" when absent
  const std::string& dump_data_dir() const { return dump_data_dir_; }  // "" when null
  bool has_md5() const { return has_md5_; }
  // The file ends in the middle of an entry, which is left out.
  bool is_cut_off() const { return is_cut_off_; }

  const std::vector<DumpApi>& apis() const { return apis_; }
  const base::LargeVector<DumpRow>& rows() const { return rows_; }

 private:
  friend class DumpReader;
  friend class MergedGraphMaker;
  DumpFile() = default;

  base::MappedFile file_;
  TextArena arena_;
  std::unordered_map<std::string, std::string_view, base::StringHash, std::equal_to<>> interned_;
  std::string path_;
  std::string task_;
  std::string level_;
  std::string framework_;
  std::string dump_data_dir_;
  bool has_md5_ = false;
  bool is_cut_off_ = false;
  std::vector<DumpApi> apis_;
  base::LargeVector<DumpRow> rows_;
};

// The checksum cell of a row: the dumped one, else the CRC-32 of the value's text (as the reference
// does for scalars), "N/A" for null.
std::string ChecksumText(const DumpRow& row);

// CRC-32 (zlib) of `text` as eight hexadecimal digits.
std::string Crc32Text(std::string_view text);

}  // namespace sonde::precision
