#include "precision/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "precision/checkpoint/checkpoint_file.h"
#include "precision/checkpoint/name_pairs.h"
#include "precision/checkpoint/safetensors_file.h"
#include "precision/checkpoint/torch_state.h"
#include "precision/checkpoint/weight_words.h"

namespace sonde::precision {
namespace {

// Files of test/precision/make_checkpoint_files.py.
std::string CheckpointFile(const std::string& name) {
  return base::JoinPath(SONDE_PRECISION_TESTDATA, name);
}

std::vector<std::string> NamesOf(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> out;
  for (const NamedTensor& named : tensors) out.push_back(named.name);
  return out;
}

using TensorNames = std::vector<std::string>;

TEST(CheckpointTest, SafetensorsOfTheFormatsOwnPackage) {
  const auto file = LoadCheckpoint(CheckpointFile("checkpoint.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(NamesOf(file->tensors), (TensorNames{"layers.2.weight", "layers.10.weight", "steps"}));
  std::vector<double> values(6);
  file->tensors[0].tensor.ReadDoubles(0, 6, values.data());
  EXPECT_EQ(values, (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(file->tensors[0].tensor.dtype(), Dtype::kBfloat16);
  EXPECT_EQ(file->tensors[2].tensor.shape(), (std::vector<int64_t>{}));
}

TEST(CheckpointTest, WhateverAProgramSaves) {
  for (const char* name : {"checkpoint_state.pt", "checkpoint_state_legacy.pt"}) {
    const auto file = LoadCheckpoint(CheckpointFile(name));
    ASSERT_TRUE(file.ok()) << name << ": " << file.status().ToString();
    EXPECT_EQ(NamesOf(file->tensors),
              (TensorNames{"model.0.bias", "model.0.weight", "model.1.running_mean",
                           "optimizer.state.0.exp_avg"}))
        << name;
    EXPECT_GT(file->other_values, 3U) << name;  // step, options
  }
  // A model that was pickled whole: its inner dicts are no part of the names.
  const auto model = LoadCheckpoint(CheckpointFile("checkpoint_model.pt"));
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(NamesOf(model->tensors), (TensorNames{"0.bias", "0.weight"}));
}

// Cut or garbled at each byte: an answer or an error, and no read outside (the sanitizers look).
TEST(CheckpointTest, DamagedFiles) {
  for (const char* name : {"checkpoint.safetensors", "checkpoint_state.pt",
                           "checkpoint_state_legacy.pt", "checkpoint_model.pt"}) {
    const auto text = base::ReadFile(CheckpointFile(name));
    ASSERT_TRUE(text.ok()) << name;
    size_t refused = 0;
    const auto read = [&](const std::string& bytes) {
      const auto span = std::as_bytes(std::span(bytes));
      std::vector<std::string> left_out;
      if (!ReadTorchState(span).ok()) ++refused;
      if (!ParseSafetensors(span, &left_out).ok()) ++refused;
    };
    for (size_t i = 0; i < text->size(); i += 3) {
      read(text->substr(0, i));
      std::string garbled = *text;
      garbled[i] = static_cast<char>(garbled[i] ^ 0x5a);
      read(garbled);
    }
    EXPECT_GT(refused, text->size() / 3) << name;
  }
}

// The older container around one pickle, without storages.
std::string LegacyFile(const std::string& object) {
  return base::Concat(std::string_view("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."),
                      std::string_view("\x80\x02M\xe9\x03."), std::string_view("\x80\x02}."),
                      std::string_view("\x80\x02"), object, std::string_view(".\x80\x02]."));
}

TEST(CheckpointTest, KeysThatNestWithoutEndDoNoHarm) {
  const auto values_under = [](const std::string& key) {
    const std::string file = LegacyFile(base::Concat("}", key, "K\x01s"));
    const auto state = ReadTorchState(std::as_bytes(std::span(file)));
    EXPECT_TRUE(state.ok()) << state.status().ToString();
    return state.ok() ? state->other_values : 0;
  };
  EXPECT_EQ(values_under(")" + std::string(1'000'000, '\x85')), 1U) << "a tuple in a tuple, deep";
  std::string twice = ")";
  for (int i = 0; i < 60; ++i) twice += "2\x86";  // each holds the one before two times
  EXPECT_EQ(values_under(twice), 1U);
}

std::string Safetensors(const std::string& header, size_t value_bytes) {
  std::string out(8, '\0');
  base::StoreLe<uint64_t>(out.data(), header.size());
  return out + header + std::string(value_bytes, '\1');
}

TEST(CheckpointTest, SafetensorsWhoseHeaderDoesNotFit) {
  const auto left_out = [](const std::string& header, size_t value_bytes) {
    std::vector<std::string> out;
    const std::string file = Safetensors(header, value_bytes);
    const auto tensors = ParseSafetensors(std::as_bytes(std::span(file)), &out);
    EXPECT_TRUE(tensors.ok()) << tensors.status().ToString();
    return base::Join(out, "; ");
  };
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string b = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]})";
  EXPECT_EQ(left_out("{" + a + "}", 8), "");
  EXPECT_EQ(left_out("{" + a + "}", 4), "a: it reaches beyond the file, which was cut");
  EXPECT_EQ(left_out(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8),
            "a: its place 8 to 0 is none");
  EXPECT_EQ(left_out("{" + a + "," + b + "}", 16),
            "values of 8 bytes that the header names no tensor for (a name twice?)");
  EXPECT_EQ(left_out(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})", 16),
            "a: type and shape do not fit its 16 bytes");
  EXPECT_EQ(left_out(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4), "a: it has no shape");
  EXPECT_EQ(left_out(R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", 1),
            "a: element type 'F4' is not known");
  const std::string huge = std::to_string(INT64_MAX);
  EXPECT_NE(left_out(base::Concat(R"({"a":{"dtype":"F32","shape":[)", huge, ",", huge,
                                  R"(],"data_offsets":[0,4]}})"),
                     4),
            "");
}

TEST(CheckpointTest, FilesThatAreNoCheckpointAreNamed) {
  const auto error = [](const std::string& text, std::string_view name) {
    return std::string(ReadCheckpointFile(std::as_bytes(std::span(text)), name).status().message());
  };
  EXPECT_EQ(error("", "a.pt"), "the file is empty");
  EXPECT_EQ(error("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a.bin"),
            "a Git LFS pointer instead of the file (run git lfs pull)");
  EXPECT_EQ(error("some text that is long enough", "a.safetensors"), "no header of safetensors");
  EXPECT_EQ(error(Safetensors("{}", 0).replace(0, 8, "\0\0\0\0\0\0\0\1", 8), "a.safetensors"),
            "a header of 72057594037927936 bytes, more than safetensors allow");
}

TEST(CheckpointTest, NumbersInNamesAreSortedByValue) {
  EXPECT_TRUE(NaturallyBefore("layers.2.w", "layers.10.w"));
  EXPECT_FALSE(NaturallyBefore("layers.10.w", "layers.2.w"));
  EXPECT_TRUE(NaturallyBefore("a", "a.b"));
  EXPECT_TRUE(NaturallyBefore("a.1", "a.01") != NaturallyBefore("a.01", "a.1"));
  EXPECT_FALSE(NaturallyBefore("a.1", "a.1"));
}

std::vector<NamedTensor> Named(const TensorNames& names) {
  std::vector<NamedTensor> out;
  for (const std::string& name : names) out.push_back({name, Tensor::OfFloats({1}, {1})});
  return out;
}

TEST(CheckpointTest, PrefixesOfWrappersAreTakenAway) {
  const TensorNames plain = {"a.weight", "b.weight", "c.bias"};
  for (const std::string prefix : {"module.", "model.module.", "_orig_mod."}) {
    TensorNames wrapped;
    for (const std::string& name : plain) wrapped.push_back(prefix + name);
    for (const bool ours : {true, false}) {
      const NamePairs pairs =
          ours ? PairNames(Named(wrapped), Named(plain)) : PairNames(Named(plain), Named(wrapped));
      EXPECT_EQ(pairs.both.size(), 3U) << prefix;
      EXPECT_EQ(pairs.notes.size(), prefix == "_orig_mod." ? 0U : 1U) << prefix;
    }
  }
  // Equal names stay, and tensors of only one side are reported.
  const NamePairs pairs = PairNames(Named({"a.weight", "x"}), Named({"a.weight", "y"}));
  EXPECT_EQ(pairs.both.size(), 1U);
  EXPECT_EQ(pairs.target_only.size(), 1U);
  EXPECT_EQ(pairs.golden_only.size(), 1U);
  EXPECT_TRUE(pairs.notes.empty());
}

JudgedWeight Judge(const Tensor& target, const Tensor& golden) {
  return JudgeWeight(target, golden, CompareWeights(target, golden));
}

std::vector<float> Wave(size_t count) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50);
  return out;
}

TEST(CheckpointTest, HowAWeightWasChanged) {
  const std::vector<float> base = Wave(64);
  const Tensor golden = Tensor::OfFloats({8, 8}, base);
  const auto changed = [&](auto change) {
    std::vector<float> values = base;
    for (size_t i = 0; i < values.size(); ++i) values[i] = change(i, values[i]);
    return Judge(Tensor::OfFloats({8, 8}, values), golden);
  };
  EXPECT_EQ(changed([](size_t, float x) { return x; }).verdict, WeightVerdict::kEqual);
  EXPECT_EQ(changed([](size_t, float x) { return 2 * x; }).how,
            "2 times as large as in the golden checkpoint");
  EXPECT_EQ(changed([](size_t, float x) { return x + 1; }).how, "shifted by 1");
  EXPECT_EQ(changed([](size_t, float) { return 0.0F; }).how, "all zeros in the target");
  EXPECT_TRUE(changed([](size_t i, float x) {
                return i == 19 ? x + 1 : x;
              }).how.starts_with("1 of 64 elements, in row 2 of 8, by 1 at most"));
  EXPECT_TRUE(changed([](size_t i, float x) {
                return i / 8 == 3 || i / 8 == 5 ? -x + 7 : x;
              }).how.find("in rows 3 to 5 of 8") != std::string::npos);
  EXPECT_EQ(changed([](size_t i, float x) {
              return i == 4 ? std::numeric_limits<float>::quiet_NaN() : x;
            }).how,
            "1 NaN in the target");
  EXPECT_EQ(Judge(Tensor::OfFloats({4, 16}, base), golden).verdict, WeightVerdict::kShape);
}

TEST(CheckpointTest, SumsDoNotDependOnThePieces) {
  // Larger than a piece, with a difference in the last element.
  std::vector<float> values = Wave((size_t{1} << 20) + 77);
  const auto count = static_cast<int64_t>(values.size());
  const Tensor golden = Tensor::OfFloats({count}, values);
  values.back() += 3;
  const WeightDifference difference = CompareWeights(Tensor::OfFloats({count}, values), golden);
  EXPECT_EQ(difference.different, 1U);
  EXPECT_EQ(difference.first, count - 1);
  EXPECT_EQ(difference.last, count - 1);
  EXPECT_EQ(difference.squares, 9);
  EXPECT_EQ(difference.golden.hash, NumbersOf(golden).hash);
}

}  // namespace
}  // namespace sonde::precision
