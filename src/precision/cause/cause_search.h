// The walk that finds the first cause: first_cause.cc has the walk itself, lone_calls.cc calls that
// one run lacks or makes elsewhere, judge_inputs.cc and judges.cc the verdict on one pair of rows.
//
// One thread; everything points into the dumps, which must outlive it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "precision/cause/first_cause.h"
#include "precision/cause/operand.h"
#include "precision/cause/origins.h"
#include "precision/cause/roles.h"
#include "precision/cause/tolerance.h"

namespace sonde::precision {

// Rounding that has begun does not end: where statistics show none, elements may still differ.
inline constexpr double kBackgroundDecay = 0.98;
// A gap in one run's calls can explain a difference as long as nothing computed behind it agreed.
inline constexpr int kGapReach = 12;

inline constexpr std::string_view kForwardPart = ".forward";
inline constexpr std::string_view kTf32Text =
    "products in TF32 explain it: compare torch.backends.cudnn.allow_tf32 and .cuda.matmul";

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
        golden_construct_(options.golden_construct),
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
  bool WalkGradientsOf(const AlignedCall& call);
  bool JudgeDeferred(const AlignedCall& call, const std::vector<Pair>& pairs, bool other_nodes);
  void Finish();
  bool HasOtherNodes(const AlignedCall& call, const std::vector<Pair>& pairs) const;
  std::string LoneArguments(const AlignedCall& call) const;
  void NoteArguments(const AlignedCall& call);
  void NoteDeferred(const AlignedCall& call, const std::vector<Pair>& pairs);
  void LeaveOut(const Pair& pair);
  void MeasureRows(const AlignedCall& call, std::vector<Pair>* pairs);
  bool JudgeInput(const AlignedCall& call, const Pair& pair);
  bool IsParameterByItself(const AlignedCall& call, const Pair& pair);
  bool JudgeParameter(const AlignedCall& call, const Pair& pair);
  bool ReportWeightAround(const AlignedCall& call);
  bool ReportUpdate(const AlignedCall& call, const Pair& buffer);
  bool IsVectorInside(std::string_view module, const Pair& pair);
  bool ReportChangedBehind(const AlignedCall& call, const Pair& pair, int32_t giver);
  bool IsComputed(const AlignedCall& call, const Pair& pair) const;
  void ReportInside(const std::string& module, const AlignedCall& call, const Pair& pair);
  void ReportOutside(const AlignedCall& call, const Pair& pair);
  CauseKind KindBehindCalls(const Pair& pair, CauseKind kind) const;
  bool JudgeOrigin(const AlignedCall& call, const Pair& pair);
  bool IsOverwrittenInOne(const AlignedCall& call);
  bool JudgeNotFinite(const AlignedCall& call, const Pair& pair, const std::vector<Pair>& pairs);
  bool JudgeResult(const AlignedCall& call, const Pair& pair, const std::vector<Pair>& pairs);
  bool JudgeCollective(const AlignedCall& call, const Pair& pair);
  bool JudgeNumbers(const AlignedCall& call, const Pair& pair, const std::vector<Pair>& pairs);
  bool ReportNumbers(const AlignedCall& call, const Pair& pair, const std::vector<Pair>& pairs,
                     const Tolerance& tolerance);
  const Pair* UnseenPlaces(const AlignedCall& call, const std::vector<Pair>& pairs) const;
  const CallNumbers& NumbersOf(const AlignedCall& call, const std::vector<Pair>& pairs);
  void AddForward(std::string_view golden_api, CallNumbers* numbers);
  bool FindMovedCalls(const AlignedCall& call, const Pair& pair);
  bool AreInOtherOrder(const AlignedCall& call, int32_t in_target, int32_t in_golden) const;
  bool IsWrapper(const AlignedCall& call) const;
  bool IsEndAlike();
  bool ReportLoneCallsInside(const AlignedCall& call);
  bool IsInside(std::string_view api, std::string_view module, const ConstructFile* tree) const;
  bool IsFromOutside(const AlignedCall& call, const Pair& pair);
  bool IsGivenInside(const AlignedCall& call, const Pair& pair);
  double UnitInside(const AlignedCall& call) const;
  bool IsConcentrated(const Pair& pair, const CallNumbers& numbers,
                      const Tolerance& tolerance) const;
  AlignedCall BackwardOf(const AlignedCall& call);
  bool IsUnwritten(const AlignedCall& call, const Pair& pair);
  bool JudgeArgument(const Pair& pair);
  bool IsReshaped(const Pair& pair) const;
  bool IsMadeInParts(const AlignedCall& call) const;
  bool JudgeTypeOrShape(const AlignedCall& call, const Pair& pair);
  bool IsBehindBackward(int32_t golden_call);
  double LargestGradient();
  double GradientNoise();
  bool PassesAsRounding(const AlignedCall& call, const Pair& pair);
  bool IsInOtherOrder(const AlignedCall& call, const Pair& pair);
  std::string OtherPlaceOf(const AlignedCall& call, const Pair& pair);
  bool ReportDeferred(const AlignedCall& call);
  std::string InputsText(const AlignedCall& call, const std::vector<Pair>& pairs);
  void NoteUnseenOrder(const AlignedCall& call, const std::vector<Pair>& pairs);
  double UnitThrough(const DumpRow& golden_row, int32_t golden_call);
  bool IsCuda();
  void Remember(const Pair& pair, double distance, double explained);
  // Another call of this name, before or behind `call`, that has the values of `like` at the same
  // place.
  int32_t OtherWith(const DumpFile& dump, int32_t call, const DumpRow& like,
                    std::string_view suffix, std::string_view name) const;
  int32_t LaterWith(const DumpFile& dump, int32_t call, const DumpRow& like,
                    std::string_view suffix, std::string_view name) const;
  std::string ModuleOf(std::string_view api) const;
  std::string InsideOf(const AlignedCall& call);
  bool InputsAgree(std::string_view module);
  bool OnlyStatisticsRound(const DumpRow& target, const DumpRow& golden, bool is_loaded) const;
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
  const ConstructFile* const golden_construct_;
  const CauseOptions& options_;
  Origins target_origins_;
  Origins golden_origins_;
  FirstCause out_;
  double background_ = 0;
  double coarsest_ = 0;   // unit roundoff of all that was walked
  uint64_t calls_ = 0;    // walked before this one
  size_t gap_begin_ = 0;  // calls that only one run has, not yet explained
  size_t gap_end_ = 0;
  int since_gap_ = 0;
  size_t module_gap_begin_ = 0;  // the first gap with a module in it, behind which values agreed
  size_t module_gap_end_ = 0;
  std::string noted_;               // of a call that passed, for the end
  std::vector<Pair> pairs_;         // of the current call
  size_t at_ = 0;                   // its place in the alignment
  const Pair* deferred_ = nullptr;  // an argument of it that differs: its results decide
  const Pair* reshaped_ = nullptr;  // an input of another shape, with the same numbers: as above
  std::unordered_map<int32_t, double>
      through_;  // coarsest type that a golden call's results came through
  static constexpr int32_t kUnknownCall = -2;
  int32_t last_backward_ = kUnknownCall;           // of the golden run
  double largest_gradient_ = -1;                   // unknown
  int is_cuda_ = -1;                               // unknown
  bool crossed_ = false;                           // the current call was made in another order
  std::vector<std::string> crossed_names_;         // backwards of such calls, of the target
  std::vector<std::string> crossed_golden_names_;  // and of the golden run
  // Of the current call, once a result of it differs.
  CallNumbers numbers_;
  bool has_numbers_ = false;
  double inputs_apart_ = 0;
  std::string name_;  // of another call, being looked for
};

}  // namespace sonde::precision
