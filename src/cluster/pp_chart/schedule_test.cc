#include "cluster/pp_chart/schedule.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace sonde::cluster {
namespace {

std::string Text(const std::vector<ScheduledPart>& parts) {
  std::vector<std::string> texts;
  for (const ScheduledPart& part : parts) {
    texts.push_back(base::Concat(part.name, ":", std::to_string(part.type)));
  }
  return base::Join(texts, " ");
}

// As the reference's own generator gives them, release 26.2.0.
TEST(DualPipeV, TwoStagesAndFourMicroBatches) {
  EXPECT_EQ(Text(DualPipeV(2, 4, 0)),
            "0:0 1:0 2:1 4:1 logits:2 4b:2 4w:2 5:2 logits:3 3F+5B:3 6F+0B:3 logits:4 6B:4 7F+1B:4 "
            "logits:5 7B:5 2B:6 3B:6");
  EXPECT_EQ(Text(DualPipeV(2, 4, 1)),
            "0:1 4:1 1:1 5:1 2F:3 4B:3 6F+0B:3 3F+5B:3 7F+1B:3 6B:5 2B:5 7B:6 3B:6");
}

TEST(DualPipeV, EachStageHasAsManyPartsAsTheReferenceExpects) {
  const std::vector<size_t> expected = {44, 32, 30, 29};
  for (size_t stage = 0; stage < expected.size(); ++stage) {
    EXPECT_EQ(DualPipeV(4, 10, static_cast<int64_t>(stage)).size(), expected[stage]);
  }
  EXPECT_EQ(DualPipeV(3, 6, 1).size(), 20U);
}

TEST(DualPipeV, NeedsTwiceAsManyMicroBatchesAsStages) {
  EXPECT_TRUE(DualPipeV(2, 3, 0).empty());
  EXPECT_TRUE(DualPipeV(2, 4, 2).empty());
}

}  // namespace
}  // namespace sonde::cluster
