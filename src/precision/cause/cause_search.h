// The walk that finds the first cause, for first_cause.cc (the walk itself and moved calls) and
// judges.cc (the verdict on one pair of rows).
//
// One thread; everything points into the dumps, which must outlive it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "precision/cause/first_cause.h"
#include "precision/cause/operand.h"
#include "precision/cause/origins.h"
#include "precision/cause/tolerance.h"

namespace sonde::precision {

// Rounding that has begun does not end: where statistics show none, elements may still differ.
inline constexpr double kBackgroundDecay = 0.98;
// A gap in one run's calls can explain a difference as long as nothing computed behind it agreed.
inline constexpr int kGapReach = 12;

inline bool IsResult(const DumpRow& row) {
  return row.section == Section::kOutput || row.section == Section::kParametersGrad ||
         row.section == Section::kDebug;
}

inline std::string_view SuffixOf(const DumpRow& row, std::string_view api) {
  return row.name.starts_with(api) ? row.name.substr(api.size()) : row.name;
}

inline std::span<const DumpRow> RowsOf(const DumpFile& dump, int32_t call) {
  if (call == kNoCall) return {};
  const DumpApi& api = dump.apis()[static_cast<size_t>(call)];
  return {&dump.rows()[api.first_row], api.row_count};
}

// Weights stand behind the first argument of some functions.
bool IsParameterPlace(const DumpRow& row, std::string_view api);

// One walk; its result grows in `out_`.
class CauseSearch {
 public:
  CauseSearch(const Comparison& comparison, const DumpFile& target, const DumpFile& golden,
              const Alignment& alignment, const ConstructFile* construct,
              const CauseOptions& options)
      : comparison_(comparison),
        target_(target),
        golden_(golden),
        alignment_(alignment),
        construct_(construct),
        options_(options),
        target_origins_(target, comparison.mode),
        golden_origins_(golden, comparison.mode) {
    out_.largest_relative = 0;
  }

  FirstCause Run();

 private:
  struct Pair {
    const DumpRow* target;
    const DumpRow* golden;
    const ComparedRow* compared;
    Difference difference;
  };

  bool WalkCall(const AlignedCall& call);
  bool HasOtherNodes(const AlignedCall& call, const std::vector<Pair>& pairs) const;
  std::string LoneArguments(const AlignedCall& call) const;
  void NoteArguments(const AlignedCall& call);
  void LeaveOut(const Pair& pair);
  void MeasureRows(const AlignedCall& call, std::vector<Pair>* pairs);
  bool JudgeInput(const AlignedCall& call, const Pair& pair);
  bool IsParameterByItself(const AlignedCall& call, const Pair& pair);
  bool JudgeParameter(const AlignedCall& call, const Pair& pair);
  bool JudgeOrigin(const AlignedCall& call, const Pair& pair);
  bool JudgeResult(const AlignedCall& call, const Pair& pair, const std::vector<Pair>& pairs);
  bool JudgeCollective(const AlignedCall& call, const Pair& pair);
  bool JudgeNumbers(const AlignedCall& call, const Pair& pair, const std::vector<Pair>& pairs);
  const Pair* UnseenPlaces(const AlignedCall& call, const std::vector<Pair>& pairs) const;
  const CallNumbers& NumbersOf(const AlignedCall& call, const std::vector<Pair>& pairs);
  void AddForward(std::string_view golden_api, CallNumbers* numbers);
  bool FindMovedCalls(const AlignedCall& call, const Pair& pair);
  int32_t LaterWith(const DumpFile& dump, int32_t call, const DumpRow& like,
                    std::string_view suffix, std::string_view name) const;
  std::string ModuleOf(std::string_view api) const;
  std::string InsideOf(const AlignedCall& call);
  bool InputsAgree(std::string_view module);
  bool StatisticsRoundEverywhere();
  bool OnlyStatisticsRound(const DumpRow& target, const DumpRow& golden) const;
  bool ReportGap(const AlignedCall& behind);
  void CloseGap();
  void Report(CauseKind kind, const AlignedCall& call, const Pair* pair, std::string why);
  void Pass(double relative, const DumpRow& row);
  std::string BeforeText() const;
  std::string_view NameOf(const DumpFile& dump, int32_t call) const {
    return call == kNoCall ? std::string_view() : dump.apis()[static_cast<size_t>(call)].name;
  }

  const Comparison& comparison_;
  const DumpFile& target_;
  const DumpFile& golden_;
  const Alignment& alignment_;
  const ConstructFile* const construct_;
  const CauseOptions& options_;
  Origins target_origins_;
  Origins golden_origins_;
  FirstCause out_;
  double background_ = 0;
  uint64_t calls_ = 0;    // walked before this one
  size_t gap_begin_ = 0;  // calls that only one run has, not yet explained
  size_t gap_end_ = 0;
  int since_gap_ = 0;
  size_t module_gap_begin_ = 0;  // the first gap with a module in it, behind which values agreed
  size_t module_gap_end_ = 0;
  std::string noted_;          // of a call that passed, for the end
  int statistics_round_ = -1;  // unknown
  std::vector<Pair> pairs_;    // of the current call
  // Of the current call, once a result of it differs.
  CallNumbers numbers_;
  bool has_numbers_ = false;
  double inputs_apart_ = 0;
  std::string name_;  // of another call, being looked for
};

}  // namespace sonde::precision
