#include "store/duckdb_lazy.h"

#include <duckdb.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace sonde::store {
namespace {

TEST(DuckDbLazy, IsFound) { EXPECT_TRUE(LoadDuckDb().ok()) << LoadDuckDb().ToString(); }

// Integer, pointer, double and large struct arguments and results reach the library unharmed, at
// the first call and after it, also when several threads make the first call.
TEST(DuckDbLazy, ArgumentsAndResultsPassThrough) {
  const auto work = [] {
    for (int round = 0; round < 2; ++round) {
      duckdb_value value = duckdb_create_double(1234.5);
      EXPECT_EQ(duckdb_get_double(value), 1234.5);
      duckdb_destroy_value(&value);
      const duckdb_hugeint huge{0x1234567890abcdef, -7};
      value = duckdb_create_hugeint(huge);
      const duckdb_hugeint back = duckdb_get_hugeint(value);
      EXPECT_EQ(back.lower, huge.lower);
      EXPECT_EQ(back.upper, huge.upper);
      duckdb_destroy_value(&value);
      value = duckdb_create_varchar_length("sonde and more", 5);
      char* text = duckdb_get_varchar(value);
      EXPECT_EQ(std::string(text), "sonde");
      duckdb_free(text);
      duckdb_destroy_value(&value);
      EXPECT_EQ(value, nullptr);
      EXPECT_GT(duckdb_vector_size(), 0U);
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
}

TEST(DuckDbLazy, AddressesOfFunctionsWork) {
  const auto version = &duckdb_library_version;
  EXPECT_EQ(version()[0], 'v');
}

}  // namespace
}  // namespace sonde::store
