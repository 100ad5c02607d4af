#include "base/host/build_id.h"

#include <gtest/gtest.h>

namespace sonde::base {
namespace {

TEST(BuildId, IsTheSameWithinAProgram) {
  EXPECT_NE(BuildId(), 0U);
  EXPECT_EQ(BuildId(), BuildId());
}

}  // namespace
}  // namespace sonde::base
