#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace sonde::base {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgumentError("odd: " + std::to_string(value));
  return value / 2;
}

Result<int> Quarter(int value) {
  SONDE_ASSIGN_OR_RETURN(const int half, Half(value));
  SONDE_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

Status CheckQuarter(int value) {
  SONDE_RETURN_IF_ERROR(Quarter(value).status().ok() ? Status::Ok() : Quarter(value).status());
  return Status::Ok();
}

TEST(Status, OkIsOnePointerWithoutMessage) {
  static_assert(sizeof(Status) == sizeof(void*));
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.ToString(), "Ok");
}

TEST(Status, CopiesAreIndependent) {
  Status a = NotFoundError("x");
  const Status b = a;
  a.Annotate("while reading y");
  EXPECT_EQ(a.ToString(), "NotFound: while reading y: x");
  EXPECT_EQ(b.message(), "x");
  a = Status::Ok();
  EXPECT_TRUE(a.ok());
}

TEST(Status, AnnotateLeavesOkAlone) { EXPECT_TRUE(Status::Ok().Annotate("context").ok()); }

TEST(Result, ForwardsValuesAndFailures) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).status().message(), "odd: 3");
  EXPECT_EQ(Quarter(6).value_or(-1), -1);
  EXPECT_TRUE(CheckQuarter(8).ok());
  EXPECT_EQ(CheckQuarter(7).code(), StatusCode::kInvalidArgument);
}

TEST(Result, HoldsMoveOnlyAndConvertedValues) {
  struct Base {
    virtual ~Base() = default;
  };
  struct Derived : Base {};
  const auto make = []() -> Result<std::unique_ptr<Base>> { return std::make_unique<Derived>(); };
  std::unique_ptr<Base> value = std::move(make()).value();
  EXPECT_NE(value, nullptr);
}

TEST(ResultDeathTest, ValueOfFailureAborts) {
  EXPECT_DEATH((void)*Half(1), "CHECK failed.*odd: 1");
}

TEST(CheckDeathTest, PrintsFileConditionAndText) {
  EXPECT_DEATH(CHECK(1 == 2, "sums"), "status_test.cc:.*1 == 2: sums");
}

}  // namespace
}  // namespace sonde::base
