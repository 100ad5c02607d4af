#include "precision/tensor/tensor_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "precision/tensor/metrics.h"
#include "precision/tensor/pickle.h"
#include "precision/test_support.h"

namespace sonde::precision {
namespace {

// Files of test/precision/make_tensor_files.py.
std::string File(const std::string& name) { return base::JoinPath(SONDE_PRECISION_TESTDATA, name); }

std::vector<double> Values(const Tensor& tensor) {
  const size_t count = static_cast<size_t>(tensor.element_count());
  std::vector<double> out(IsComplex(tensor.dtype()) ? 2 * count : count);
  if (count > 0) tensor.ReadDoubles(0, count, out.data());
  return out;
}

using Doubles = std::vector<double>;
using Shape = std::vector<int64_t>;

TEST(TensorFileTest, EveryElementType) {
  for (const char* name : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                           "float16", "bfloat16", "float32", "float64", "float8_e4m3fn",
                           "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"}) {
    const auto tensor = OpenTensorFile(File(base::Concat("type_", name, ".pt")));
    ASSERT_TRUE(tensor.ok()) << name << ": " << tensor.status().ToString();
    EXPECT_EQ(tensor->shape(), (Shape{2, 3})) << name;
    Doubles wanted = {0, 1, 2, 3, 4, 5};
    EXPECT_EQ(Values(*tensor), wanted) << name;
    std::vector<float> floats(6);
    tensor->ReadFloats(0, 6, floats.data());
    EXPECT_EQ(floats, (std::vector<float>{0, 1, 2, 3, 4, 5})) << name;
  }
  EXPECT_EQ(Values(*OpenTensorFile(File("type_bool.pt"))), (Doubles{0, 1, 1, 1, 1, 1}));
  // Powers of two only; 0 becomes the smallest.
  EXPECT_EQ(Values(*OpenTensorFile(File("type_float8_e8m0fnu.pt"))),
            (Doubles{0x1p-127, 1, 2, 4, 4, 4}));
  for (const char* name : {"complex32", "complex64", "complex128"}) {
    const auto tensor = OpenTensorFile(File(base::Concat("type_", name, ".pt")));
    ASSERT_TRUE(tensor.ok()) << name << ": " << tensor.status().ToString();
    EXPECT_EQ(Values(*tensor), (Doubles{0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0})) << name;
  }
}

TEST(TensorFileTest, EveryLayoutAndContainer) {
  for (const char* name :
       {"transposed.pt", "parameter.pt", "protocol_2.pt", "protocol_3.pt", "protocol_4.pt",
        "protocol_5.pt", "legacy.pt", "plain.npy", "fortran.npy", "int64.npy", "version2.npy",
        "mindspore_bfloat16.npy", "ml_dtypes_bfloat16.npy", "big_endian.npy"}) {
    const auto tensor = OpenTensorFile(File(name));
    ASSERT_TRUE(tensor.ok()) << name << ": " << tensor.status().ToString();
    EXPECT_EQ(tensor->shape(), (Shape{2, 3})) << name;
    EXPECT_EQ(Values(*tensor), (Doubles{0, 1, 2, 3, 4, 5})) << name;
  }
  EXPECT_EQ(Values(*OpenTensorFile(File("big_endian_complex.npy"))),
            (Doubles{0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0}));
  EXPECT_EQ(Values(*OpenTensorFile(File("view.pt"))), (Doubles{0, 1, 2, 12, 13, 14}));
  EXPECT_EQ(Values(*OpenTensorFile(File("expanded.pt"))), (Doubles{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(Values(*OpenTensorFile(File("offset.pt"))), (Doubles{4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(Values(*OpenTensorFile(File("legacy_view.pt"))), (Doubles{1, 2, 4, 5}));
  EXPECT_EQ(Values(*OpenTensorFile(File("scalar.pt"))), (Doubles{7}));
  EXPECT_EQ(OpenTensorFile(File("empty.pt"))->shape(), (Shape{0, 3}));
}

TEST(TensorFileTest, ReadingMayBeginAnywhere) {
  const auto tensor = OpenTensorFile(File("transposed.pt"));
  ASSERT_TRUE(tensor.ok());
  double two[2] = {};
  tensor->ReadDoubles(2, 2, two);
  EXPECT_EQ(two[0], 2);
  EXPECT_EQ(two[1], 3);
}

TEST(TensorFileTest, WhatIsNotATensorIsRefusedByName) {
  struct Case {
    const char* file;
    const char* reason;
  };
  for (const Case& c :
       {Case{"bad_dict.pt", "does not hold one tensor"}, Case{"bad_call.pt", "calls '"},
        Case{"bad_plain_pickle.pt", "no zip directory"}, Case{"bad_compressed.pt", "compressed"},
        Case{"bad_object.npy", "element type '|O'"}, Case{"absent.pt", "No such file"}}) {
    const auto tensor = OpenTensorFile(File(c.file));
    ASSERT_FALSE(tensor.ok()) << c.file;
    EXPECT_NE(tensor.status().message().find(c.file), std::string_view::npos);
    EXPECT_NE(tensor.status().message().find(c.reason), std::string_view::npos)
        << tensor.status().message();
  }
}

TEST(TensorFileTest, TruncatedAnywhereIsAnError) {
  for (const char* name :
       {"protocol_2.pt", "legacy.pt", "plain.npy", "mindspore_bfloat16.npy", "big_endian.npy"}) {
    const auto whole = base::ReadFile(File(name));
    ASSERT_TRUE(whole.ok());
    for (size_t size = 0; size < whole->size(); ++size) {
      const std::string cut = whole->substr(0, size);
      const auto bytes = std::as_bytes(std::span(cut));
      const bool npy = std::string_view(name).ends_with(".npy");
      EXPECT_FALSE((npy ? ParseNpyFile(bytes) : ParseTorchFile(bytes)).ok()) << name << " " << size;
    }
  }
}

TEST(TensorTest, ElementsOutsideTheStorageAreRefused) {
  const std::vector<float> storage(6);
  const auto bytes = std::as_bytes(std::span(storage));
  EXPECT_TRUE(Tensor::Make(Dtype::kFloat32, {2, 3}, {3, 1}, 0, bytes).ok());
  EXPECT_FALSE(Tensor::Make(Dtype::kFloat32, {2, 3}, {3, 1}, 1, bytes).ok());
  EXPECT_FALSE(Tensor::Make(Dtype::kFloat32, {2, 3}, {4, 1}, 0, bytes).ok());
  EXPECT_FALSE(Tensor::Make(Dtype::kFloat32, {2, 3}, {-3, 1}, 3, bytes).ok());
  EXPECT_FALSE(Tensor::Make(Dtype::kFloat32, {2, 3}, {3, 1}, -1, bytes).ok());
  EXPECT_FALSE(Tensor::Make(Dtype::kFloat32, {INT64_MAX, 3}, {0, 0}, 0, bytes).ok());
  EXPECT_FALSE(Tensor::Make(Dtype::kFloat32, {2, 2}, {INT64_MAX, 1}, 0, bytes).ok());
  EXPECT_TRUE(Tensor::Make(Dtype::kFloat32, {0, 3}, {3, 1}, 100, bytes).ok());
  // One element repeated: more often than anybody could read.
  EXPECT_TRUE(Tensor::Make(Dtype::kFloat32, {int64_t{1} << 40U}, {0}, 0, bytes).ok());
  EXPECT_FALSE(Tensor::Make(Dtype::kFloat32, {int64_t{1} << 41U}, {0}, 0, bytes).ok());
  EXPECT_EQ(Tensor::PackedStrides({2, INT64_MAX, INT64_MAX}).front(), INT64_MAX);
}

TEST(PickleTest, CirclesAreReadAndUnexpectedOpcodesRefused) {
  const std::string_view circle("\x80\x02]q\x00h\x00\x61.", 9);
  PicklePool pool;
  size_t consumed = 0;
  EXPECT_TRUE(ReadPickle(circle, &pool, &consumed).ok());
  EXPECT_EQ(consumed, circle.size());
  for (const char* text : {".", "0.", "R.", "Q.", "h\x05.", "t.", "(.", "\x80\x09.", "i.", "o."}) {
    EXPECT_FALSE(ReadPickle(text, &pool, &consumed).ok()) << text;
  }
}

TEST(PickleTest, SlotsInAnyOrder) {
  PicklePool pool;
  size_t consumed = 0;
  // (1, 2) with 1 in slot 7, which is filled twice, and 2 in slot 0.
  const std::string_view text(
      "\x80\x02K\x05q\x07"
      "0K\x01q\x07"
      "0K\x02q\x00"
      "0h\x07h\x00\x86.",
      23);
  const auto value = ReadPickle(text, &pool, &consumed);
  ASSERT_TRUE(value.ok()) << value.status().ToString();
  ASSERT_EQ((*value)->items.size(), 2U);
  EXPECT_EQ((*value)->items[0]->number, 1);
  EXPECT_EQ((*value)->items[1]->number, 2);
}

// One copy of many members, asked for again and again, in a file of some hundred kilobytes.
TEST(PickleTest, RepeatedCopiesEnd) {
  std::string text =
      "\x80\x02"
      "c__main__\nModel\nq" +
      std::string(1, '\0') + "0(";
  text.append(30'000, 'N');
  text +=
      "tq\x01"
      "0";
  for (int i = 0; i < 30'000; ++i) text += std::string("h\0h\x01R0", 6);
  text += "N.";
  PicklePool pool;
  size_t consumed = 0;
  const auto value = ReadPickle(text, &pool, &consumed, PickleRules::kAnyData);
  ASSERT_FALSE(value.ok());
  EXPECT_NE(value.status().message().find("repeats too much"), std::string_view::npos);
}

// Memory of this process that lies in mapped files, in bytes.
int64_t MappedFileMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssFile:", 0) == 0) return std::stoll(line.substr(8)) * 1024;
  }
  return -1;
}

// A vector of zeros, written as a hole: 64 MiB that take no room on the disk.
std::string WriteZeros(const std::string& path) {
  constexpr int64_t kCount = int64_t{1} << 24U;
  std::string head = base::Concat("{'descr': '<f4', 'fortran_order': False, 'shape': (",
                                  std::to_string(kCount), ",), }");
  head.resize(117, ' ');
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << head << '\n';
  file.seekp(128 + kCount * 4 - 1);
  file << '\0';
  return path;
}

TEST(TensorFileTest, ComparedPartsDoNotStayInMemory) {
  const base::TestFolder folder;
  const std::string path = WriteZeros(folder.File("zeros.npy"));
  const auto target = OpenTensorFile(path);
  const auto golden = OpenTensorFile(path);
  ASSERT_TRUE(target.ok() && golden.ok()) << target.status().ToString();
  const int64_t before = MappedFileMemory();
  for (int round = 0; round < 2; ++round) {
    const auto cells = CompareTensors(*target, *golden);
    std::string cosine;
    cells[0].AppendTo(&cosine);
    EXPECT_EQ(cosine, "1.0");
    EXPECT_LT(MappedFileMemory() - before, 32 << 20) << "of 128 MiB";
  }
}

}  // namespace
}  // namespace sonde::precision
