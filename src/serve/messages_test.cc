#include "serve/messages.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"

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

// The page's declarations are made from ours. UPDATE_MESSAGES=1 writes them.
TEST(Messages, PageHasTheSameDeclarations) {
  const std::string path = SONDE_SOURCE_DIR "/web/src/api/messages.ts";
  const std::string expected = TypeScriptMessages();
  if (std::getenv("UPDATE_MESSAGES") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    ASSERT_TRUE(base::WriteFileAtomically(path, expected).ok());
  }
  const auto found = base::ReadFile(path);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(*found == expected) << path << " is out of date: UPDATE_MESSAGES=1 writes it";
}

}  // namespace
}  // namespace sonde::serve
