#include "probe/numpy_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/test_folder.h"

namespace sonde::probe {
namespace {

std::string Bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// numpy itself reads these files in test/probe.
TEST(NumpyFileTest, HeaderEndsAlignedAndElementsAreRowMajor) {
  const base::TestFolder folder;
  const std::string path = base::JoinPath(folder.path(), "t.npy");
  const std::vector<float> data = {0, 1, 2, 3, 4, 5};
  const std::vector<int64_t> shape = {3, 2};
  const std::vector<int64_t> strides = {1, 3};
  ASSERT_TRUE(WriteNumpyFile(path, {.data = data.data(),
                                    .type = ElementType::kFloat32,
                                    .element_bytes = 4,
                                    .shape = shape,
                                    .strides = strides})
                  .ok());
  const std::string text = base::ReadFile(path).value();
  EXPECT_EQ(text.substr(0, 8), std::string("\x93NUMPY\x01\0", 8));
  EXPECT_NE(text.find("'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"),
            std::string::npos);
  ASSERT_EQ(text.size(), 128 + 24U);
  const std::vector<float> expected = {0, 3, 1, 4, 2, 5};
  EXPECT_EQ(text.substr(128), Bytes(expected));
}

TEST(NumpyFileTest, TypesThatNumpyLacks) {
  const base::TestFolder folder;
  const std::string path = base::JoinPath(folder.path(), "t.npy");
  const std::vector<uint16_t> data = {0x3f80, 0x4000};  // 1 and 2
  const std::vector<int64_t> shape = {2};
  const std::vector<int64_t> strides = {1};
  TensorView view = {.data = data.data(),
                     .type = ElementType::kBFloat16,
                     .element_bytes = 2,
                     .shape = shape,
                     .strides = strides};
  ASSERT_TRUE(WriteNumpyFile(path, view).ok());
  const std::string text = base::ReadFile(path).value();
  EXPECT_NE(text.find("'<f4', 'fortran_order': False, 'shape': (2,), }"), std::string::npos);
  const std::vector<float> expected = {1, 2};
  EXPECT_EQ(text.substr(128), Bytes(expected));
  view.type = ElementType::kOther;
  EXPECT_FALSE(WriteNumpyFile(path, view).ok());
  EXPECT_FALSE(WriteNumpyFile("/nowhere/t.npy", view).ok());
}

TEST(NumpyFileTest, PlantedLinksLeadNowhere) {
  const base::TestFolder folder;
  const std::string path = folder.File("t.npy");
  ASSERT_TRUE(base::WriteFileAtomically(folder.File("victim"), "precious").ok());
  ASSERT_EQ(symlink(folder.File("victim").c_str(), path.c_str()), 0);
  const float value = 1;
  const TensorView view = {.data = &value, .type = ElementType::kFloat32, .element_bytes = 4};
  ASSERT_TRUE(WriteNumpyFile(path, view).ok());
  EXPECT_EQ(*base::ReadFile(folder.File("victim")), "precious");
  EXPECT_EQ(base::ReadFile(path)->substr(1, 5), "NUMPY");
}

}  // namespace
}  // namespace sonde::probe
