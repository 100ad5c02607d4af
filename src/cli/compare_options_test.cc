#include "cli/compare_options.h"

#include <gtest/gtest.h>

namespace sonde::cli {
namespace {

using Names = std::map<std::string, std::string>;

TEST(CompareOptionsTest, NameMapsOfPythonAndJson) {
  EXPECT_EQ(*ParseNameMap("{}"), Names());
  EXPECT_EQ(*ParseNameMap("{'aten::conv2d':'aten::convolution'}"),
            (Names{{"aten::conv2d", "aten::convolution"}}));
  EXPECT_EQ(*ParseNameMap(R"( {"a": "b", 'c' : 'd', } )"), (Names{{"a", "b"}, {"c", "d"}}));
}

TEST(CompareOptionsTest, RefusesOtherTexts) {
  for (const char* text :
       {"", "a", "{'a'}", "{'a':b}", "{'a':'b'", "{'a':'b'} c", "{'a':'b' 'c'}", "{'a:'b'}"}) {
    EXPECT_FALSE(ParseNameMap(text).ok()) << text;
  }
  const std::string longest(201, 'a');
  EXPECT_FALSE(ParseNameMap("{'" + longest + "':'b'}").ok());
}

TEST(CompareOptionsTest, OptionsThatContradictEachOther) {
  CompareOptions options;
  EXPECT_TRUE(RequestOf(options).ok());
  options.base_step = "3";
  EXPECT_FALSE(RequestOf(options).ok());
  options.comparison_step = "x";
  EXPECT_FALSE(RequestOf(options).ok());
  options.comparison_step = "4";
  EXPECT_EQ(RequestOf(options)->comparison_step, 4);
  options.compare.max_kernel_num = 3;
  EXPECT_FALSE(RequestOf(options).ok());
  options.compare.max_kernel_num = 4;
  EXPECT_TRUE(RequestOf(options).ok());
}

}  // namespace
}  // namespace sonde::cli
