#include "cluster/pp_chart/schedule.h"

#include "base/strings.h"

namespace sonde::cluster {
namespace {

using base::Concat;

// The parts of one stage; counters are the next micro batches of both chunks.
class Stage {
 public:
  Stage(int64_t stages, int64_t micro_batches, int64_t stage)
      : stages_(stages), batches_(micro_batches), stage_(stage) {
    forward1_ = backward1_ = micro_batches;
  }

  std::vector<ScheduledPart> Run() {
    const int64_t behind = stages_ - stage_ - 1;
    for (int64_t i = 0; i < 2 * behind; ++i) Add(Number(forward0_++), 0);
    for (int64_t i = 0; i <= stage_; ++i) {
      Add(Number(forward0_++), 1);
      Add(Number(forward1_++), 1);
    }
    for (int64_t i = 0; i < behind; ++i) {
      AddLogits(2);
      Add(Number(backward1_, "b"), 2);
      Add(Number(backward1_++, "w"), 2);
      Add(Number(forward1_++), 2);
    }
    Overlap();
    for (int64_t i = 0; i < behind; ++i) {
      AddLogits(4);
      Add(Number(backward1_++, "B"), 4);
      Add(Both(forward1_++, backward0_++), 4);
    }
    CoolDown();
    return std::move(parts_);
  }

 private:
  static std::string Number(int64_t batch, std::string_view what = "") {
    return Concat(std::to_string(batch), what);
  }
  static std::string Both(int64_t forward, int64_t backward) {
    return Concat(Number(forward, "F+"), Number(backward, "B"));
  }
  void Add(std::string name, int64_t type) { parts_.push_back({std::move(name), type}); }
  void AddLogits(int64_t type) {
    if (stage_ == 0) Add("logits", type);
  }

  void Overlap() {
    const int64_t repeats = batches_ - 2 * stages_ + stage_ + 1;
    for (int64_t i = 0; i < repeats; ++i) {
      AddLogits(3);
      if (stage_ == stages_ - 1 && i == 0) {
        Add(Number(forward0_++, "F"), 3);
        Add(Number(backward1_++, "B"), 3);
      } else {
        Add(Both(forward0_++, backward1_++), 3);
      }
      Add(Both(forward1_++, backward0_++), 3);
    }
  }

  void CoolDown() {
    bool is_first_next = false;  // chunk
    for (int64_t i = 0; i <= stage_; ++i) {
      is_first_next = i % 2 == 0;
      if (is_first_next) AddLogits(5);
      Add(Number(is_first_next ? backward1_++ : backward0_++, "B"), 5);
    }
    while (backward0_ < batches_ || backward1_ < 2 * batches_) {
      const bool has_left = is_first_next ? backward0_ < batches_ : backward1_ < 2 * batches_;
      if (has_left) Add(Number(is_first_next ? backward0_++ : backward1_++, "B"), 6);
      is_first_next = !is_first_next;
    }
  }

  int64_t stages_;
  int64_t batches_;
  int64_t stage_;
  int64_t forward0_ = 0;
  int64_t forward1_ = 0;
  int64_t backward0_ = 0;
  int64_t backward1_ = 0;
  std::vector<ScheduledPart> parts_;
};

}  // namespace

std::vector<ScheduledPart> DualPipeV(int64_t stages, int64_t micro_batches, int64_t stage) {
  constexpr int64_t kMost = 1'000'000;
  if (stages < 1 || stage < 0 || stage >= stages || micro_batches < 2 * stages) return {};
  if (micro_batches > kMost) return {};
  return Stage(stages, micro_batches, stage).Run();
}

}  // namespace sonde::cluster
