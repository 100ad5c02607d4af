// Compares argument sets of traces with the written ones, in many shapes and repetitions.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <random>

#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/import_trace.h"
#include "importers/testing/query_text.h"

namespace sonde::importers {
namespace {

using base::Concat;
using Arguments = std::map<std::string, std::string>;  // key: form and value, as the store has them

// Makes traces whose argument sets are partly alike, and the expected content of the store.
class RandomTrace {
 public:
  explicit RandomTrace(uint32_t seed) : random_(seed) {}

  std::string Text(int events) {
    std::string text = "[";
    for (int i = 0; i < events; ++i) {
      const std::string name = Concat("e", std::to_string(i));
      Arguments& expected = expected_[name];
      const std::string head = Concat(R"({"pid":1,"tid":)", std::to_string(i % 3), R"(,"name":")",
                                      name, R"(","ts":)", std::to_string(10 * i));
      text += i > 0 ? ",\n" : "\n";
      if (Below(10) > 0) {
        text += Concat(head, R"(,"ph":"X","dur":5)", Set(expected), "}");
        continue;
      }
      text += Concat(head, R"(,"ph":"B")", Set(expected), "},\n");
      Arguments end;
      text += Concat(head, R"(.5,"ph":"E")", Set(end), "}");
      for (const auto& [key, value] : end) expected[key] = value;
    }
    return text + "]";
  }
  const std::map<std::string, Arguments>& expected() const { return expected_; }

 private:
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

  std::string Set(Arguments& expected) {
    const int shape = Below(5);
    kind_ = Below(60);
    std::string set;
    for (int key = 0; key < 3 + shape; ++key) {
      if (Below(50) == 0) continue;
      const std::string name = Concat("k", std::to_string(shape), "_", std::to_string(key));
      const auto [json, kept] = Value(key);
      set += Concat(set.empty() ? "" : ", ", "\"", name, "\": ", json);
      expected[name] = kept;
    }
    return Concat(R"(,"args":{)", set, "}");
  }

  // The text in the file, and the form in the store. Values of some keys are those of the set's
  // kind, others repeat now and then, others never.
  std::pair<std::string, std::string> Value(int key) {
    const std::array<int, 4> numbers = {++unique_, kind_ % 3, kind_, Below(200)};
    const int number = numbers[static_cast<size_t>(key % 4)];
    const std::string text = std::to_string(number);
    switch (key % 7) {
      case 0:
      case 1:
        return {text, text};
      case 2:
        return {Concat(text, ".25"), Concat(text, ".25")};
      case 3:
        return {Concat("[", text, ", 1, \"]\"]"), Concat("[", text, ", 1, \"]\"]")};
      case 4:
        return {Concat("\"float;", text, "\""), Concat("float;", text)};
      case 5:
        return {Concat("\"a\\\"", text, "\\u00e9\""), Concat("a\"", text, "\u00e9")};
      default:
        return {Concat("1", text, "00000000000000000000"),
                Concat("1", text, "00000000000000000000")};
    }
  }

  std::mt19937 random_;
  int unique_ = 100000;
  int kind_ = 0;
  std::map<std::string, Arguments> expected_;
};

class ArgumentsTest : public ::testing::TestWithParam<int> {};

TEST_P(ArgumentsTest, EachSetHasItsOwn) {
  RandomTrace trace(static_cast<uint32_t>(GetParam()));
  constexpr int kEvents =
      60000;  // more than a piece of a reader, and more than the sets that are searched
  const base::TestFolder folder;
  const std::string path = folder.File("a.json");
  std::ofstream(path, std::ios::binary) << trace.Text(kEvents);
  const auto sources = FindTraces(folder.path());
  ASSERT_TRUE(sources.ok());
  ASSERT_EQ(sources->size(), 1U);
  auto imported = ImportTrace((*sources)[0], folder.File("s.duckdb"), {.threads = GetParam()});
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  store::Store& store = *imported->store;
  const auto rows = store.Query(
      "SELECT s.name, a.key, a.value FROM slice s JOIN args a "
      "USING (args_id)");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  std::map<std::string, Arguments> read;
  for (size_t row = 0; row < rows->rows(); ++row) {
    const bool is_new = read[std::string(rows->Text(0, row))]
                            .emplace(rows->Text(1, row), rows->Text(2, row))
                            .second;
    EXPECT_TRUE(is_new) << rows->Text(0, row) << " has " << rows->Text(1, row) << " twice";
  }
  for (const auto& [name, arguments] : trace.expected()) ASSERT_EQ(read[name], arguments) << name;
  // Parts are no sets; most repeated arguments are in them.
  EXPECT_EQ(testing::QueryText(store, "SELECT min(args_id) >= 0 FROM args"), "1\n");
  EXPECT_EQ(testing::QueryText(store,
                               "SELECT count(*) > 30000, max(shared_id) < -1, "
                               "count(DISTINCT shared_id) < count(*) / 2 FROM args_shared"),
            "1 1 1\n");
}

INSTANTIATE_TEST_SUITE_P(Readers, ArgumentsTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace sonde::importers
