#include "serve/messages.h"

#include <gtest/gtest.h>

#include "base/golden_file.h"

namespace sonde::serve {
namespace {

TEST(Messages, JsonHasTheMembers) {
  SliceListMessage list;
  list.total = 2;
  list.slices.push_back({.trace = 0, .id = 7, .track = 1, .name = "a\"b", .ts = 5, .dur = -1});
  EXPECT_EQ(ToJson(list),
            R"({"total":2,"slices":[{"trace":0,"id":7,"track":1,"name":"a\"b","ts":5,"dur":-1,)"
            R"("depth":0}]})");
  TableMessage table;
  table.rows.text = "[[1,null]]";
  EXPECT_EQ(ToJson(table), R"({"columns":[],"rows":[[1,null]],"complete":false,"elapsed":0})");
}

TEST(Messages, TypeScriptTypes) {
  EXPECT_EQ(TypeScriptType("int64_t"), "number");
  EXPECT_EQ(TypeScriptType("std::vector<std::string>"), "string[]");
  EXPECT_EQ(TypeScriptType("std::vector<TrackMessage>"), "TrackMessage[]");
}

// The page's declarations are made from ours.
TEST(Messages, DeclarationOfThePageIsCurrent) {
  base::ExpectCurrent(SONDE_SOURCE_DIR "/web/src/api/messages.ts", TypeScriptMessages());
}

}  // namespace
}  // namespace sonde::serve
