// The result of comparing two dumps, row by row, before it is written anywhere.
//
// Rows stand in the order of the target; groups are the rows of one API. Rows that only the golden
// dump has come behind, in its order. Everything points into the two dumps, which must outlive it.
// Threads: a finished comparison is read-only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/large_vector.h"
#include "precision/compare/cell.h"
#include "precision/dump/dump_file.h"

namespace sonde::precision {

enum class Mode : uint8_t { kStatistics, kTensor, kMd5 };

// The training engine whose rows are held against its inference engine (engines/engine_pairs.h).
enum class Engine : uint8_t { kNone, kFsdp, kMegatron };

enum class Verdict : uint8_t { kPass, kWarning, kError, kUnmatched };
std::string_view VerdictText(Verdict verdict);  // "pass", "warning", "error", "unmatched"

// The ten rules, in the order in which the reference reports them, and those that it leaves out; a
// row's messages are a bit set.
enum class Message : uint8_t {
  kOverflow,
  kOneThousandth,
  kRelativeError,
  kRequiresGrad,
  kScalarParameter,
  kDtype,
  kShape,
  kNormGrowth,
  kCosineDrop,
  kChecksum,
  kChecksumUnmatched,
  kGoldenOnly,
  kUnreadable,
};
inline constexpr int kMessageCount = 13;
std::string_view MessageText(Message message);

// Cells 0..3 differences and 4..7 relative errors of Max, Min, Mean, Norm (statistics), or 0..5
// Cosine, EucDist, MaxAbsErr, MaxRelativeErr and the two ratios (tensor).
inline constexpr int kMaxCells = 8;
enum TensorMetric : uint8_t {
  kCosine,
  kEucDist,
  kMaxAbsErr,
  kMaxRelativeErr,
  kOneThousandth,
  kFiveThousandths,
};
inline constexpr int kTensorMetricCount = 6;

struct ComparedRow {
  const DumpRow* target = nullptr;  // null: only in the golden dump
  const DumpRow* golden = nullptr;  // null: without a match
  std::array<Cell, kMaxCells> cells;
  uint16_t messages = 0;  // bit set of Message
  Verdict verdict = Verdict::kPass;

  bool Has(Message message) const {
    return ((messages >> static_cast<unsigned>(message)) & 1U) != 0;
  }
  void Report(Message message, Verdict level);
};

struct ComparedGroup {
  std::string_view api;
  uint32_t first_row = 0;
  uint32_t row_count = 0;
};

// A column that the user's own metric adds, behind the six of tensor mode.
struct ExtraColumn {
  std::string name;
  std::vector<std::string> cells;  // one a row
};

struct Comparison {
  Mode mode = Mode::kStatistics;
  bool cross_framework = false;
  Engine engine = Engine::kNone;  // otherwise the two sides are two engines of one model
  base::LargeVector<ComparedRow> rows;
  std::vector<ComparedGroup> groups;
  uint32_t golden_only_begin = 0;  // rows from here on have no target
  std::vector<ExtraColumn> extra_columns;
  std::shared_ptr<const void> made_rows;  // keeps rows that stand for several of a dump

  uint32_t target_row_count() const { return golden_only_begin; }
};

// "N/A" for an empty view, else the view itself.
inline std::string_view OrNotAvailable(std::string_view text) {
  return text.empty() ? std::string_view("N/A") : text;
}

// The JSON list of the row's messages: `["error: ..."]`.
std::string MessageList(const ComparedRow& row);

}  // namespace sonde::precision
