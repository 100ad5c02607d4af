#include "report/csv_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_folder.h"
#include "report/csv_files.h"

namespace sonde::report {
namespace {

TEST(CsvWriter, QuotesAsPythonDoes) {
  CsvWriter csv(nullptr);
  csv.Row({"Name", "Start Time(us)", "with space"});
  csv.Text("\"32,3,224\"");
  csv.MicrosecondsTab(1736412474858579088);
  csv.Text("a\r\nb");
  csv.EndRow();
  csv.Double(3);
  csv.Int(-4);
  csv.Microseconds(1500);
  csv.Empty();
  csv.EndRow();
  csv.Row({""});
  EXPECT_EQ(csv.Take(),
            "Name,Start Time(us),with space\r\n"
            "\"\"\"32,3,224\"\"\",1736412474858579.088\t,\"a\r\nb\"\r\n"
            "3.0,-4,1.500,\r\n"
            "\"\"\r\n");
}

TEST(CsvWriter, DefusesTextsThatASpreadsheetWouldRun) {
  const std::string wide_equals = "\xef\xbc\x9d";
  const std::string wide_plus = "\xef\xbc\x8b";
  const std::vector<std::string> wide = {wide_equals + "1+1", wide_plus + "cmd"};
  for (const std::string& text : wide) EXPECT_TRUE(RunsInSpreadsheet(text)) << text;
  for (const char* text : {"=1+1", "=cmd|' /C calc'!A0", "@SUM(A1)", "+cmd|'x'!A", "-2+cmd|'x'!A",
                           "\t=1", "\r=1", "-1;=x()", "-HYPERLINK(\"http://x\")", " =1+1",
                           "\xc2\xa0=1+1", "\xe3\x80\x80=1+1", "\xe2\x80\x8b=1+1"}) {
    EXPECT_TRUE(RunsInSpreadsheet(text)) << text;
  }
  for (const char* text : {"", "-", "=", "-1", "+1.5e-7", "-3.2%", "-inf", "-nan", "a=b",
                           "aten::add", "1-2", "-1, -2", "-0.5;inf;-nan", "'=1"}) {
    EXPECT_FALSE(RunsInSpreadsheet(text)) << text;
  }
  CsvWriter csv(nullptr);
  csv.Text("=HYPERLINK(\"http://x\",\"y\")");
  csv.Text("-1.5");
  csv.Text("=1+1");
  csv.Text("a;=1;-2");
  csv.RawText("=1+1");
  csv.EndRow();
  EXPECT_EQ(csv.Take(), "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\",-1.5,'=1+1,a;'=1;-2,=1+1\r\n");
}

// The short way for plain cells leaves none as it is that has to be changed.
TEST(CsvWriter, AppendsCellsAsTheyAreWritten) {
  constexpr std::string_view kLetters = "=+-@ ,;\"1.ea\t\n\x1b\xc2";
  constexpr size_t kLongest = 4;
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string appended;
    AppendCsvCell(texts[i], &appended);
    ASSERT_EQ(appended, CsvCell(texts[i])) << texts[i];
    if (texts[i].size() == kLongest) continue;
    for (const char letter : kLetters) texts.push_back(texts[i] + letter);
  }
  EXPECT_GT(texts.size(), 60'000u);
}

TEST(CsvWriter, CommandsToATerminalAreShown) {
  CsvWriter csv(nullptr);
  csv.Text("\x1b[2J");
  csv.Text("b\xc2\x9b");
  csv.Text("\xe4\xb8\xad\n");
  csv.Text(std::string_view("\0=1", 3));
  csv.EndRow();
  EXPECT_EQ(csv.Take(), "?[2J,b?,\"\xe4\xb8\xad\n\",?=1\r\n");
}

TEST(CsvWriter, TablesOfOurOwnEndRowsByLineFeeds) {
  CsvWriter csv(nullptr, CsvWriter::LineEnd::kLf);
  csv.Row({"a", "b"});
  csv.Row({""});
  EXPECT_EQ(csv.Take(), "a,b\n\"\"\n");
}

TEST(CsvWriter, WritesFiles) {
  const base::TestFolder folder;
  auto file = base::AtomicFile::Create(folder.File("a.csv"));
  ASSERT_TRUE(file.ok());
  CsvWriter csv(&*file);
  for (int i = 0; i < 200000; ++i) csv.Row({"some text", "more"});
  ASSERT_TRUE(csv.Finish().ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(*base::FileSize(folder.File("a.csv")), 200000U * 16);
}

}  // namespace
}  // namespace sonde::report
