#include "precision/merge/table_file.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/test_folder.h"
#include "precision/archive/zip_file.h"
#include "report/text_sheets.h"

namespace sonde::precision {
namespace {

TEST(TableFile, Csv) {
  const TableRows expected = {{"a", "b"}, {"1,5", "say \"x\""}, {"line\nbreak", ""}};
  EXPECT_EQ(ParseCsvTable("a,b\n\"1,5\",\"say \"\"x\"\"\"\n\"line\nbreak\",\n"), expected);
  EXPECT_EQ(ParseCsvTable("\xEF\xBB\xBF"
                          "a\r\n1\r\n"),
            (TableRows{{"a"}, {"1"}}));
  EXPECT_TRUE(ParseCsvTable("").empty());
}

TEST(TableFile, WorkbooksOfOurs) {
  const base::TestFolder folder;
  const std::string path = folder.File("t.xlsx");
  const TableRows rows = {{"name", "x", "y"}, {"a < b & c", "1.5", "N/A"}, {"d", "", "-3"}};
  ASSERT_TRUE(report::WriteXlsxSheets({{"first", rows}, {"second", {{"no"}}}}, path).ok());
  const auto read = ReadTableFile(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ((*read)[1], rows[1]);
  EXPECT_EQ((*read)[2][0], "d");
  EXPECT_EQ((*read)[2].back(), "-3");
}

// Other programs write texts into the cell and leave out cells without content.
TEST(TableFile, InlineTextsAndMissingCells) {
  const std::string sheet =
      R"(<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>name</t></is></c>)"
      R"(<c r="C1" t="str"><f>1+1</f><v>2</v></c></row></sheetData></worksheet>)";
  const auto rows = ParseXlsx(MakeZip({{"xl/worksheets/sheet1.xml", sheet}}));
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ(*rows, (TableRows{{"name", "", "2"}}));
}

TEST(TableFile, WhatIsNone) {
  EXPECT_FALSE(ParseXlsx("no zip").ok());
  EXPECT_FALSE(ParseXlsx(MakeZip({{"other", "x"}})).ok());
  EXPECT_FALSE(ReadTableFile("/nowhere/t.csv").ok());
}

}  // namespace
}  // namespace sonde::precision
