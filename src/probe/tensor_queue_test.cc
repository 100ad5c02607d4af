#include "probe/tensor_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <numeric>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "probe/torch_file.h"

namespace sonde::probe {
namespace {

class TensorQueueTest : public testing::Test {
 protected:
  TensorQueueTest() { std::iota(values_.begin(), values_.end(), 0.0F); }

  TensorView View() const {
    return {.data = values_.data(),
            .type = ElementType::kFloat32,
            .element_bytes = 4,
            .shape = shape_,
            .strides = strides_};
  }
  std::string Path(int number) const {
    return base::JoinPath(folder_.path(), base::Concat(std::to_string(number), ".pt"));
  }

  base::TestFolder folder_;
  std::array<float, 12> values_;
  std::array<int64_t, 2> shape_ = {3, 4};
  std::array<int64_t, 2> strides_ = {1, 3};  // columns one after the other
};

TEST_F(TensorQueueTest, WritesAllTensors) {
  ASSERT_TRUE(WriteTorchFile(Path(0), View(), "float32").ok());
  TensorQueue queue(100);
  for (int number = 1; number < 20; number++) {
    queue.Add(Path(number), View(), "float32");
    values_[0] = -1;  // the copy does not see it
    ASSERT_TRUE(queue.Drain().ok());
    EXPECT_EQ(base::ReadFile(Path(number)).value(), base::ReadFile(Path(0)).value());
    values_[0] = 0;
  }
}

TEST_F(TensorQueueTest, HoldsNoMoreThanItsLimit) {
  TensorQueue queue(100);
  for (int number = 0; number < 50; number++) queue.Add(Path(number), View(), "float32");
  ASSERT_TRUE(queue.Drain().ok());
  EXPECT_EQ(queue.longest_bytes(), 96U);  // two of 48
  EXPECT_TRUE(base::ReadFile(Path(49)).ok());
}

TEST_F(TensorQueueTest, TakesOneThatIsLargerThanTheLimit) {
  TensorQueue queue(10);
  for (int number = 0; number < 3; number++) queue.Add(Path(number), View(), "float32");
  ASSERT_TRUE(queue.Drain().ok());
  EXPECT_EQ(queue.longest_bytes(), 48U);
}

TEST_F(TensorQueueTest, ReportsTheFirstFailureAndGoesOn) {
  TensorQueue queue(1000);
  queue.Add("/nowhere/x.pt", View(), "float32");
  queue.Add(Path(1), View(), "float32");
  const Status status = queue.Drain();
  EXPECT_NE(status.message().find("/nowhere/x.pt"), std::string::npos);
  EXPECT_TRUE(base::ReadFile(Path(1)).ok());
  EXPECT_TRUE(queue.Drain().ok());
}

TEST_F(TensorQueueTest, WritesWaitingTensorsAtTheEnd) {
  {
    TensorQueue queue(1000);
    for (int number = 0; number < 9; number++) queue.Add(Path(number), View(), "float32");
  }
  for (int number = 0; number < 9; number++) EXPECT_TRUE(base::ReadFile(Path(number)).ok());
}

TEST_F(TensorQueueTest, ChildrenOfAForkDoNotWrite) {
  TensorQueue queue(1000);
  queue.Add(Path(1), View(), "float32");
  ASSERT_TRUE(queue.Drain().ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    queue.Add(Path(2), View(), "float32");
    const bool is_fine = queue.Drain().ok();
    queue.~TensorQueue();
    _exit(is_fine ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(base::ReadFile(Path(2)).ok());
}

}  // namespace
}  // namespace sonde::probe
