#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/host/sqlite_reader.h"
#include "base/test_folder.h"
#include "report/cell_text.h"
#include "report/chart.h"
#include "report/csv_files.h"
#include "report/csv_writer.h"
#include "report/html.h"
#include "report/sqlite_file.h"

namespace sonde::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CellTextTest, EndsBehindALetter) {
  EXPECT_EQ(CellText("short"), "short");
  std::string letters = "a";  // so that the limit lies within one
  while (letters.size() < 2 * kMaxCellBytes) letters += "\xe4\xb8\xad";
  const std::string cut = CellText(letters);
  EXPECT_EQ(cut.size(), 1 + (kMaxCellBytes - 1) / 3 * 3);
  EXPECT_TRUE(letters.starts_with(cut));
}

TEST(CsvCell, IsOneWhereverItIsWritten) {
  for (const char* text : {"plain", "", "-1.5", "a\"b,c\n", "=cmd()", "+1+x", "@x", "a;\r\nb"}) {
    std::string in_place;
    AppendCsvCell(text, &in_place);
    EXPECT_EQ(in_place, CsvCell(text));
    CsvWriter csv(nullptr);
    csv.Text("first");
    csv.Text(text);
    csv.EndRow();
    EXPECT_EQ(csv.Take(), "first," + CsvCell(text) + "\r\n");
  }
  EXPECT_EQ(CsvCell("a\"b,c\n"), "\"a\"\"b,c\n\"");
  EXPECT_EQ(CsvCell("=1+1"), "'=1+1");
}

TEST(SqliteFileTest, TablesOfWritersAtTheSameTimeAllStay) {
  const base::TestFolder folder;
  const std::string path = folder.File("all.db");
  constexpr int kWriters = 8;
  std::vector<std::thread> threads;
  std::vector<Status> done(kWriters);
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      done[static_cast<size_t>(i)] =
          WriteSqliteFile(path, Before::kKeep, [&](SqliteFile& file) -> Status {
            SONDE_ASSIGN_OR_RETURN(
                auto table, SqliteTable::Create(file, "t" + std::to_string(i), "value INTEGER"));
            table.Int(i).End();
            return table.Close();
          });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : done) EXPECT_TRUE(status.ok()) << status.message();
  const auto reader = base::SqliteReader::Open(path);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->objects().size(), static_cast<size_t>(kWriters));
}

TEST(SqliteFileTest, AFailureLeavesWhatWasThere) {
  const base::TestFolder folder;
  const std::string path = folder.File("all.db");
  const auto fill = [](SqliteFile& file) { return file.Execute("CREATE TABLE t (x)"); };
  ASSERT_TRUE(WriteSqliteFile(path, Before::kReplace, fill).ok());
  EXPECT_FALSE(WriteSqliteFile(path, Before::kReplace, [](SqliteFile& file) {
                 return file.Execute("no statement");
               }).ok());
  const auto reader = base::SqliteReader::Open(path);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->HasTable("t"));
}

TEST(Html, RunsNothingOfATrace) {
  const std::string name = "<script>alert(\"x\")</script>";
  const std::string chart = BarChart({{name, {1000}}, {"other", {500}}}, "total", "ns");
  const std::string page = PageHtml({.language = "en", .title = "t", .style = ""}, chart);
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
}

}  // namespace
}  // namespace sonde::report
