#include "probe/torch_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/test_folder.h"

namespace sonde::probe {
namespace {

// As on a disk that is full: nothing beyond the first bytes of a file can be written.
class FewBytesAFile {
 public:
  FewBytesAFile() : on_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit few = before_;
    few.rlim_cur = 100;
    setrlimit(RLIMIT_FSIZE, &few);
  }
  FewBytesAFile(const FewBytesAFile&) = delete;
  FewBytesAFile& operator=(const FewBytesAFile&) = delete;
  ~FewBytesAFile() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, on_signal_);
  }

 private:
  rlimit before_ = {};
  void (*on_signal_)(int);
};

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

TEST(TorchFileTest, LargeSizesAndOffsetsAreZip64) {
  const base::TestFolder folder;
  const std::string path = base::JoinPath(folder.path(), "t.pt");
  const std::vector<uint8_t> data(3000, 7);
  const std::vector<int64_t> shape = {3000};
  const std::vector<int64_t> strides = {1};
  const TensorView view = {.data = data.data(),
                           .type = ElementType::kUInt8,
                           .element_bytes = 1,
                           .shape = shape,
                           .strides = strides};
  ASSERT_TRUE(WriteTorchFile(path, view, "uint8", 2000).ok());
  const std::string text = base::ReadFile(path).value();
  const size_t end = text.size() - 22;
  EXPECT_EQ(text.substr(end, 4), "PK\x05\x06");
  EXPECT_EQ(base::LoadLe<uint32_t>(text.data() + end + 16), 0xffffffffU);
  const size_t locator = end - 20;
  ASSERT_EQ(text.substr(locator, 4), "PK\x06\x07");
  const auto wide_end = base::LoadLe<uint64_t>(text.data() + locator + 8);
  ASSERT_EQ(text.substr(wide_end, 4), "PK\x06\x06");
  const auto directory = base::LoadLe<uint64_t>(text.data() + wide_end + 48);
  ASSERT_EQ(text.substr(directory, 4), "PK\x01\x02");
  // The elements' record: its sizes are in the extra field, 64 bits each.
  const size_t name = text.find("archive/data/0", directory);
  ASSERT_NE(name, std::string::npos);
  const char* extra = text.data() + name + 14;
  EXPECT_EQ(base::LoadLe<uint16_t>(extra), 1U);
  EXPECT_EQ(base::LoadLe<uint64_t>(extra + 4), 3000U);
  EXPECT_EQ(base::LoadLe<uint64_t>(extra + 12), 3000U);
}

TEST(TorchFileTest, FailuresNameTheFile) {
  const base::TestFolder folder;
  const std::string path = folder.File("t.pt");
  const float value = 1;
  const TensorView view = {.data = &value, .type = ElementType::kFloat32, .element_bytes = 4};
  {
    const FewBytesAFile limit;
    const Status full = WriteTorchFile(path, view, "float32");
    ASSERT_FALSE(full.ok());
    EXPECT_NE(full.message().find(path), std::string_view::npos);
  }
  EXPECT_FALSE(base::PathExists(path));
  EXPECT_FALSE(WriteTorchFile("/nowhere/t.pt", view, "float32").ok());
  EXPECT_FALSE(WriteTorchFile("/dev/full", view, "float32").ok());
  EXPECT_TRUE(base::PathExists("/dev/full"));
}

TEST(TorchFileTest, PlantedLinksLeadNowhere) {
  const base::TestFolder folder;
  const std::string path = folder.File("t.pt");
  ASSERT_TRUE(base::WriteFileAtomically(folder.File("victim"), "precious").ok());
  ASSERT_EQ(symlink(folder.File("victim").c_str(), path.c_str()), 0);
  const float value = 1;
  const TensorView view = {.data = &value, .type = ElementType::kFloat32, .element_bytes = 4};
  ASSERT_TRUE(WriteTorchFile(path, view, "float32").ok());
  EXPECT_EQ(*base::ReadFile(folder.File("victim")), "precious");
  EXPECT_EQ(base::ReadFile(path)->substr(0, 2), "PK");
}

}  // namespace
}  // namespace sonde::probe
