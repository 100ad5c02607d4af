#include "probe/torch_file.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/test_folder.h"

namespace sonde::probe {
namespace {

// torch itself reads these files in test/probe, `sonde probe` in test/precision.
TEST(TorchFileTest, ElementsLieAlignedAndRowMajor) {
  const base::TestFolder folder;
  const std::string path = base::JoinPath(folder.path(), "t.pt");
  const std::vector<float> data = {0, 1, 2, 3, 4, 5};
  const std::vector<int64_t> shape = {3, 2};
  const std::vector<int64_t> strides = {1, 3};
  ASSERT_TRUE(WriteTorchFile(path,
                             {.data = data.data(),
                              .type = ElementType::kFloat32,
                              .element_bytes = 4,
                              .shape = shape,
                              .strides = strides},
                             "float32")
                  .ok());
  const std::string text = base::ReadFile(path).value();
  const std::vector<float> expected = {0, 3, 1, 4, 2, 5};
  const std::string bytes(reinterpret_cast<const char*>(expected.data()), 24);
  const size_t at = text.find(bytes);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(at % 64, 0U);
  EXPECT_NE(text.find("FloatStorage"), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 22, 4), "PK\x05\x06");
}

TEST(TorchFileTest, FailuresNameTheFile) {
  const float value = 1;
  const TensorView view = {.data = &value, .type = ElementType::kFloat32, .element_bytes = 4};
  const Status full = WriteTorchFile("/dev/full", view, "float32");
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.message().find("/dev/full"), std::string_view::npos);
  EXPECT_FALSE(WriteTorchFile("/nowhere/t.pt", view, "float32").ok());
}

}  // namespace
}  // namespace sonde::probe
