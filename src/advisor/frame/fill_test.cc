// Texts of rules: names become values, other braces stay, unknown names are refused.
#include "advisor/frame/fill.h"

#include <gtest/gtest.h>

namespace sonde::advisor {
namespace {

TEST(Fill, NamesBecomeValues) {
  const Values values = {{"n", int64_t{3}},
                         {"x", 2.5},
                         {"name", std::string("a{b}")},
                         {"nothing", Value()},
                         {"share", 0.2667}};
  EXPECT_EQ(*Fill("{n} of {x} {name}{nothing}", values), "3 of 2.5 a{b}");
  EXPECT_EQ(*Fill("{x:.3f} {share:%2} {n:.1f}", values), "2.500 26.67% 3.0");
}

TEST(Fill, OtherBracesStay) {
  EXPECT_EQ(*Fill("{0,1} {'a': 1} { n } {", {{"n", int64_t{3}}}), "{0,1} {'a': 1} { n } {");
}

TEST(Fill, UnknownNamesAndFormsAreRefused) {
  const auto unknown = Fill("{m}", {{"n", int64_t{3}}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().message(), "{m} is unknown; known are n");
  EXPECT_FALSE(Fill("{n:wide}", {{"n", int64_t{3}}}).ok());
}

TEST(Fill, TruthOfValues) {
  EXPECT_TRUE(IsTrue(int64_t{1}) && IsTrue(0.5) && IsTrue(std::string("x")));
  EXPECT_FALSE(IsTrue(int64_t{0}) || IsTrue(Value()) || IsTrue(std::string()) ||
               IsTrue(std::string("false")));
}

}  // namespace
}  // namespace sonde::advisor
