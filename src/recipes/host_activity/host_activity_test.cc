// Every example of the list, and those that must not be taken for what they sound like.
#include "recipes/host_activity/host_activity.h"

#include <gtest/gtest.h>

namespace sonde::recipes {
namespace {

struct ActivityExample {
  std::string_view name;
  HostActivity activity;
};
#define NAME(activity, name)
#define PYTHON(activity, file, name)
#define BUILTIN(activity, type, name)
#define RANGE(activity, end)
#define IS(activity, name) {name, HostActivity::activity},
#define NOT(name) {name, HostActivity::kOther},
constexpr ActivityExample kActivityExamples[] = {
#include "recipes/host_activity/activities.inc"
};
#undef NAME
#undef PYTHON
#undef BUILTIN
#undef RANGE
#undef IS
#undef NOT

TEST(HostActivityList, EveryExample) {
  for (const ActivityExample& example : kActivityExamples) {
    EXPECT_EQ(NameOf(ActivityOf(example.name)), NameOf(example.activity)) << example.name;
  }
  EXPECT_EQ(ActivityOf(""), HostActivity::kOther);
  EXPECT_EQ(ActivityOf("(1): "), HostActivity::kOther);
}

}  // namespace
}  // namespace sonde::recipes
