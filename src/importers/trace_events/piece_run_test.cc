// A file gives the same in any pieces as in one; a packed one is never cut.
#include "importers/trace_events/piece_run.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <functional>

#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/import_trace.h"
#include "importers/testing/query_text.h"

namespace sonde::importers::trace_events {
namespace {

// Slices with their arguments, and issues, as text.
std::string Imported(const std::string& text, bool packed, int threads) {
  const base::TestFolder folder;
  const std::string path = folder.File(packed ? "a.json.gz" : "a.json");
  if (packed) {
    gzFile file = gzopen(path.c_str(), "wb1");
    EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
    gzclose(file);
  } else {
    std::ofstream(path, std::ios::binary) << text;
  }
  const auto sources = FindTraces(folder.path());
  EXPECT_TRUE(sources.ok() && sources->size() == 1);
  auto imported = ImportTrace((*sources)[0], folder.File("s.duckdb"), {.threads = threads});
  EXPECT_TRUE(imported.ok()) << imported.status().message();
  return testing::QueryText(
             *imported->store,
             "SELECT s.ts, s.dur, s.name, s.depth, length(a.value), hash(a.value)::VARCHAR "
             "FROM slice s LEFT JOIN args a ON a.args_id = s.args_id AND key = 'id' "
             "ORDER BY slice_id") +
         testing::QueryText(*imported->store,
                            "SELECT code, count FROM import_issue ORDER BY code, count");
}

// Events until there are `bytes` of text; `id` gives the JSON of an argument.
std::string Trace(size_t bytes, const std::function<std::string(int i)>& id) {
  std::string text = R"({"traceEvents": [)";
  for (int i = 0; text.size() < bytes; ++i) {
    text += base::Concat(i > 0 ? ",\n" : "", R"({"ph":"X","name":"op)", std::to_string(i % 50),
                         R"(","ts":)", std::to_string(i), R"(.001,"dur":1,"pid":1,"tid":)",
                         std::to_string(i % 3), R"(,"args":{"id":)", id(i), "}}");
  }
  return text + R"(], "behind": {"a": "}, {\"ph\": 1"}})";
}

void ExpectTheSame(const std::string& text) {
  const std::string whole = Imported(text, true, 1);
  EXPECT_GT(whole.size(), 100U);
  for (const int threads : {1, 2}) {
    const std::string cut = Imported(text, false, threads);
    EXPECT_EQ(cut.size(), whole.size()) << threads;
    EXPECT_TRUE(cut == whole) << threads;
  }
}

constexpr size_t kThreePieces = size_t{9} << 20U;

TEST(PieceRunTest, PlainEvents) {
  ExpectTheSame(Trace(kThreePieces, [](int i) { return std::to_string(i); }));
}

// A text that looks like the place between two events is inside one.
TEST(PieceRunTest, EventsWithinArguments) {
  std::string list = "[";
  for (int i = 0; i < 3000; ++i) list += R"({"name":"x"},)";
  list += R"({"name":"y"}])";
  ExpectTheSame(Trace(kThreePieces, [&](int) { return list; }));
}

// Events that reach beyond the copied text behind a piece, and beyond a whole piece.
TEST(PieceRunTest, LongEvents) {
  for (const size_t size : {size_t{100'000}, size_t{5'000'000}}) {
    const std::string value = "\"" + std::string(size, 'x') + "\"";
    ExpectTheSame(Trace(kThreePieces, [&](int i) { return i % 2 == 0 ? value : "1"; }));
  }
}

TEST(PieceRunTest, DamageAtTheCuts) {
  const std::string text = Trace(kThreePieces, [](int i) { return std::to_string(i); });
  for (const size_t length : {1U, 200U}) {
    for (const ptrdiff_t before : {-150, -20, 0}) {
      std::string damaged = text;
      for (size_t cut = size_t{4} << 20U; cut < text.size(); cut += size_t{4} << 20U) {
        damaged.replace(cut + static_cast<size_t>(before), length, length, '?');
      }
      ExpectTheSame(damaged);
    }
  }
}

TEST(PieceRunTest, TextThatEnds) {
  const std::string text = Trace(kThreePieces, [](int i) { return std::to_string(i); });
#if defined(__SANITIZE_ADDRESS__)
  constexpr size_t kStride = 78;  // each text takes ten times as long
#else
  constexpr size_t kStride = 26;
#endif
  for (const size_t size : {size_t{4} << 20U, size_t{8} << 20U}) {
    for (size_t more = 0; more < 130; more += kStride) ExpectTheSame(text.substr(0, size + more));
  }
}

}  // namespace
}  // namespace sonde::importers::trace_events
