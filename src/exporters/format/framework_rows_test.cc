// Which calls get a row of their own, against every pair of call and operator looked at.
#include "exporters/format/framework_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sonde::exporters {
namespace {

using recipes::TraceData;
using store::SliceRow;

constexpr int64_t kTid = 42;

// One thread with a track of operators and one of module calls, on each some depths of slices that
// are disjoint within their depth.
class Thread {
 public:
  explicit Thread(unsigned seed) : random_(seed) {
    thread_.tid = kTid;
    for (const int32_t name : {0, 1}) {
      store::TrackRow& track = tracks_[name];
      track.track_id = name;
      track.thread_id = 0;
      track.process_id = 0;
      track.kind = name;
      data_.track_begin.push_back(slices_.size());
      for (int32_t depth = 0; depth < 3; ++depth) AddDepth(name, depth);
    }
    data_.track_begin.push_back(slices_.size());
    data_.names = {"thread", "module"};
    data_.threads = {&thread_, 1};
    data_.tracks = tracks_;
    data_.slices = slices_;
    data_.last_ns = 10'000;
  }

  const TraceData& data() const { return data_; }

  bool Crosses(const SliceRow& call) const {
    const int64_t end = data_.EndNs(call);
    for (const SliceRow& op : slices_) {
      if (op.track_id != 0) continue;
      const int64_t op_end = data_.EndNs(op);
      if (op.ts < call.ts && call.ts < op_end && op_end < end) return true;
      if (call.ts < op.ts && op.ts < end && end < op_end) return true;
    }
    return false;
  }

 private:
  // Few distinct times, so that slices often touch and share their ends.
  void AddDepth(int32_t track, int32_t depth) {
    int64_t now = Draw(20);
    for (int i = 0; i < 40; ++i) {
      SliceRow slice;
      slice.slice_id = static_cast<int32_t>(slices_.size());
      slice.track_id = track;
      slice.depth = depth;
      slice.ts = now;
      slice.dur = 1 + Draw(12);
      slices_.push_back(slice);
      now += slice.dur + Draw(4);
    }
    slices_.back().dur = -1;  // still runs when the trace ends
  }
  int64_t Draw(int64_t below) { return std::uniform_int_distribution(int64_t{0}, below)(random_); }

  std::mt19937 random_;
  store::ThreadRow thread_;
  store::TrackRow tracks_[2];
  std::vector<SliceRow> slices_;
  TraceData data_;
};

TEST(FrameworkRows, CallsThatCrossAnOperatorLeaveTheRow) {
  size_t moved = 0;
  size_t stayed = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Thread thread(seed);
    const FrameworkRows rows(thread.data());
    for (const int32_t id : thread.data().SlicesOfKinds({recipes::TrackKind::kModule})) {
      const SliceRow& call = thread.data().Slice(id);
      const bool crosses = thread.Crosses(call);
      EXPECT_EQ(rows.OfSlice(call) != kTid, crosses)
          << "seed " << seed << ", call at " << call.ts << " of " << call.dur;
      ++(crosses ? moved : stayed);
    }
  }
  EXPECT_GT(moved, 1000U);
  EXPECT_GT(stayed, 100U);
}

}  // namespace
}  // namespace sonde::exporters
