// A plain number equals the result of the general parser for the same text.
#include "importers/trace_events/plain_number.h"

#include <gtest/gtest.h>

#include <charconv>
#include <random>
#include <string>

#include "base/strings.h"

namespace sonde::importers::trace_events {
namespace {

// As in a file: something follows.
PlainNumber Read(const std::string& text) {
  const std::string in_file = text + ",";
  PlainNumber number = ReadPlainNumber(in_file.data(), in_file.data() + in_file.size());
  if (number.behind != nullptr) {
    EXPECT_EQ(number.behind - in_file.data(), static_cast<ptrdiff_t>(text.size())) << text;
  }
  return number;
}

TEST(PlainNumber, TakesIntegersThatFit) {
  for (const int64_t value : {int64_t{0}, int64_t{7}, int64_t{-1}, int64_t{999'999'999'999'999'999},
                              int64_t{-999'999'999'999'999'999}}) {
    const PlainNumber number = Read(std::to_string(value));
    ASSERT_NE(number.behind, nullptr) << value;
    EXPECT_TRUE(number.is_integer);
    EXPECT_EQ(number.integer, value);
  }
}

TEST(PlainNumber, LeavesOtherFormsAlone) {
  for (const char* text :
       {"", "-", "-0", "007", "1000000000000000000", "1e5", "1.5e3", ".5", "5.", "0.50",
        "1.2345678901234567", "0.00001", "0.0000", "1.x", "nan", "12a", "true", "\"5\""}) {
    EXPECT_EQ(Read(text).behind, nullptr) << text;
  }
}

TEST(PlainNumber, DoesNotReadBehindTheEnd) {
  const std::string text = "123.25";
  for (size_t size = 0; size <= text.size(); ++size) {
    EXPECT_EQ(ReadPlainNumber(text.data(), text.data() + size).behind, nullptr) << size;
  }
}

TEST(PlainNumber, FractionsAreTheDoublesWithThatText) {
  std::mt19937_64 random(7);
  int taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    const auto decimals = 1 + random() % 14;
    std::string digits = std::to_string(random() % 1'000'000'000'000'000 >> (random() % 50));
    if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
    digits.insert(digits.size() - decimals, ".");
    if (random() % 2 == 0) digits.insert(0, "-");
    const PlainNumber number = Read(digits);
    if (number.behind == nullptr) continue;
    ++taken;
    double expected = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), expected);
    base::NumberBuffer buffer;
    ASSERT_EQ(number.fraction, expected) << digits;
    ASSERT_EQ(base::FormatPythonDouble(number.fraction, buffer), digits);
  }
  EXPECT_GT(taken, 50'000);
}

}  // namespace
}  // namespace sonde::importers::trace_events
