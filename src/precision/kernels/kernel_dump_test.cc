#include "precision/kernels/kernel_dump.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "precision/kernels/atb_tensor.h"

namespace sonde::precision {
namespace {

TEST(KernelDump, NamesOfTensorFiles) {
  struct Case {
    const char* file;
    const char* name;
    int64_t time;
  };
  for (const Case& c : {
           Case{"Add.Default_Add-op0.0.0.17.input.1.DefaultFormat.npy", "Default_Add-op0.0.input.1",
                17},
           // Newer MindSpore writes the element type behind the format.
           Case{"Cast.Default_Cast-op5.0.0.1795263998851197.input.0.DefaultFormat.Int64.npy",
                "Default_Cast-op5.0.input.0.DefaultFormat", 1795263998851197},
           Case{"Add.op.3.4.5.6.output.0.2.NCHW.npy", "op.3.output.0.2", 5},
       }) {
    KernelRecord record;
    ASSERT_TRUE(ParseKernelFileName(c.file, &record)) << c.file;
    EXPECT_EQ(record.name, c.name);
    EXPECT_EQ(record.time, c.time);
  }
  for (const char* other :
       {"", "a.npy", "Add.op.0.0.x.input.0.DefaultFormat.npy", "Add.op.0.0.5.middle.0.F.npy",
        "Add.op.0.0.5.input.0.DefaultFormat.txt", "Add.op.0.0.5.input.x.0.F.npy"}) {
    KernelRecord record;
    EXPECT_FALSE(ParseKernelFileName(other, &record)) << other;
  }
}

Result<Tensor> ParseText(const std::string& text) {
  return ParseAtbTensor(std::as_bytes(std::span(text)));
}

TEST(AtbTensor, HeadAndValues) {
  const float values[] = {1, 2, 3, 4};
  std::string text = "$Version=1.0\ndtype=0\nformat=2\ndims=2,2\n$End=1\n";
  text.append(reinterpret_cast<const char*>(values), sizeof values);
  const auto tensor = ParseText(text);
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(tensor->shape(), (std::vector<int64_t>{2, 2}));
  double read[4] = {};
  tensor->ReadDoubles(0, 4, read);
  EXPECT_EQ(read[3], 4);
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseText(text.substr(0, size)).ok()) << size;
  }
}

TEST(AtbTensor, BrokenHeads) {
  for (const char* text :
       {"dtype=7\ndims=1\n$End=1\n", "dtype=0\ndims=x\n$End=1\n", "dtype=0\ndims=-1\n$End=1\n",
        "dtype=0\ndims=4000000000,4000000000,4000000000\n$End=1\n", "no equals\n$End=1\n",
        "data=elsewhere\n$End=1\n"}) {
    EXPECT_FALSE(ParseText(text).ok()) << text;
  }
}

}  // namespace
}  // namespace sonde::precision
