#include "probe/stack_file.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/test_folder.h"

namespace sonde::probe {
namespace {

TEST(StackFileTest, EqualPathsShareAGroup) {
  const base::TestFolder folder;
  const std::string path = base::JoinPath(folder.path(), "stack.json");
  auto file = StackFile::Create(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(base::ReadFile(path).value(), "{}");
  const size_t first = file->Add("a", StackFile::Elements({"\"f\"", "\"g\""}));
  file->Add("b", StackFile::Elements({"\"f\""}));
  file->AddTo(first, "c");
  EXPECT_EQ(file->Add("e", StackFile::Elements({"\"f\"", "\"g\""})), first);
  file->Add("d", StackFile::Elements({}));
  ASSERT_TRUE(file->Settle().ok());
  EXPECT_EQ(base::ReadFile(path).value(),
            "{\n \"0\": [\n  [\n   \"a\",\n   \"c\",\n   \"e\"\n  ],\n  [\n   \"f\",\n   \"g\"\n  "
            "]\n ],\n"
            " \"1\": [\n  [\n   \"b\"\n  ],\n  [\n   \"f\"\n  ]\n ],\n"
            " \"2\": [\n  [\n   \"d\"\n  ],\n  []\n ]\n}");
}

}  // namespace
}  // namespace sonde::probe
