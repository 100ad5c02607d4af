#include "probe/object_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"
#include "base/test_folder.h"

namespace sonde::probe {
namespace {

class ObjectFileTest : public testing::Test {
 protected:
  ObjectFile Make() {
    auto file = ObjectFile::Create(path_, {.head = "{\n \"data\": {",
                                           .depth = 2,
                                           .tail = "\n }\n}",
                                           .empty_tail = "}\n}",
                                           .moving_prefix = "Module."});
    EXPECT_TRUE(file.ok()) << file.status().message();
    return std::move(*file);
  }
  std::string Read() const { return base::ReadFile(path_).value(); }

  base::TestFolder folder_;
  std::string path_ = base::JoinPath(folder_.path(), "dump.json");
};

TEST_F(ObjectFileTest, IsValidAfterEveryMember) {
  ObjectFile file = Make();
  EXPECT_EQ(Read(), "{\n \"data\": {}\n}");
  file.SetPart("Torch.add.0.forward", "output", "[]");
  EXPECT_EQ(Read(), "{\n \"data\": {}\n}");
  file.Finish("Torch.add.0.forward");
  EXPECT_EQ(Read(), "{\n \"data\": {\n  \"Torch.add.0.forward\": {\n   \"output\": []\n  }\n }\n}");
  file.SetValue("b", "1");
  file.Finish("b");
  EXPECT_EQ(Read(),
            "{\n \"data\": {\n  \"Torch.add.0.forward\": {\n   \"output\": []\n  },\n"
            "  \"b\": 1\n }\n}");
  const std::string before = Read();
  ASSERT_TRUE(file.Settle().ok());
  EXPECT_EQ(Read(), before);
}

TEST_F(ObjectFileTest, ModulesMoveBehindLaterMembers) {
  ObjectFile file = Make();
  file.SetPart("Module.a.forward.0", "input", "1");
  file.SetPart("Torch.x.0.forward", "input", "2");
  file.SetPart("Torch.x.0.forward", "output", "3");
  file.Finish("Torch.x.0.forward");
  EXPECT_NE(Read().find("Torch.x"), std::string::npos);
  file.SetPart("Module.a.forward.0", "output", "4");
  file.Finish("Module.a.forward.0");
  const std::string text = Read();
  EXPECT_LT(text.find("Torch.x"), text.find("Module.a"));
  EXPECT_NE(text.find("\"input\": 1,\n   \"output\": 4"), std::string::npos);
  ASSERT_TRUE(file.Settle().ok());
  EXPECT_EQ(Read(), text);
}

TEST_F(ObjectFileTest, AnOpenCallHoldsItsPlace) {
  ObjectFile file = Make();
  file.SetPart("Torch.x.0.forward", "input", "1");
  file.SetValue("b", "2");
  file.Finish("b");
  EXPECT_EQ(Read(), "{\n \"data\": {}\n}");
  file.Finish("Torch.x.0.forward");
  EXPECT_LT(Read().find("Torch.x"), Read().find("\"b\""));
}

TEST_F(ObjectFileTest, AWrittenMemberIsRewrittenWithAllItsParts) {
  ObjectFile file = Make();
  file.SetPart("a", "input", "1");
  file.SetPart("a", "output", "1");
  file.Finish("a");
  file.SetPart("a", "input", "2");
  file.SetPart("a", "kwargs", "3");
  file.Finish("a");
  ASSERT_TRUE(file.Settle().ok());
  EXPECT_NE(Read().find("{\n   \"input\": 2,\n   \"kwargs\": 3\n  }"), std::string::npos) << Read();
}

TEST_F(ObjectFileTest, ChangedAndRemovedMembers) {
  ObjectFile file = Make();
  for (const char* name : {"a", "b", "c"}) {
    file.SetPart(name, "input", "1");
    file.SetPart(name, "output", "1");
    file.Finish(name, std::string_view(name) == "b");
  }
  file.SetPart("b", "output", "2");
  file.Finish("b");
  file.Remove("c");
  file.SetValue("a", "3");
  ASSERT_TRUE(file.Settle().ok());
  EXPECT_EQ(Read(),
            "{\n \"data\": {\n  \"a\": 3,\n  \"b\": {\n   \"input\": 1,\n   \"output\": 2\n  }\n"
            " }\n}");
  // Members can be added after the file was rewritten.
  file.SetValue("d", "4");
  file.Finish("d");
  EXPECT_NE(Read().find(",\n  \"d\": 4\n }\n}"), std::string::npos);
  EXPECT_EQ(file.size(), 3U);
}

TEST_F(ObjectFileTest, WithoutAMovingPrefixPlacesAreKept) {
  auto file = ObjectFile::Create(path_, {.head = "{", .depth = 1, .tail = "\n}"});
  ASSERT_TRUE(file.ok());
  for (const char* name : {"Module.a.backward.0", "Torch.x.0.backward", "Module.a.backward.0"}) {
    file->SetValue(name, "null");
    file->Finish(name);
  }
  ASSERT_TRUE(file->Settle().ok());
  EXPECT_EQ(Read(), "{\n \"Module.a.backward.0\": null,\n \"Torch.x.0.backward\": null\n}");
}

TEST_F(ObjectFileTest, SettleWritesUnfinishedMembers) {
  ObjectFile file = Make();
  file.SetPart("Torch.x.0.forward", "input", "1");
  ASSERT_TRUE(file.Settle().ok());
  EXPECT_NE(Read().find("Torch.x"), std::string::npos);
}

TEST_F(ObjectFileTest, AFullDiskIsOneErrorAndLeavesNoFile) {
  // A child of its own: the limit simulates a full disk and cannot be raised again.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit nothing_fits{0, 0};
    setrlimit(RLIMIT_FSIZE, &nothing_fits);
    const auto file = ObjectFile::Create(path_, {.head = "{", .depth = 1, .tail = "}"});
    if (file.status().code() != base::StatusCode::kResourceExhausted) _exit(1);
    _exit(file.status().message().find(path_) == std::string_view::npos ? 2 : 0);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  EXPECT_FALSE(base::PathExists(path_));
}

}  // namespace
}  // namespace sonde::probe
