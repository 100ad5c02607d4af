#include "base/count_of.h"

#include <gtest/gtest.h>

namespace sonde::base {
namespace {

TEST(CountOf, OneIsNamedInTheSingular) {
  EXPECT_EQ(CountOf(1, "row"), "1 row");
  EXPECT_EQ(CountOf(1, "step is", "steps are"), "1 step is");
}

TEST(CountOf, NoneAndManyAreNamedInThePlural) {
  EXPECT_EQ(CountOf(0, "row"), "0 rows");
  EXPECT_EQ(CountOf(12, "row"), "12 rows");
  EXPECT_EQ(CountOf(2, "step is", "steps are"), "2 steps are");
}

}  // namespace
}  // namespace sonde::base
