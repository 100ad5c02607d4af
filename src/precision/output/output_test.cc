#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_folder.h"
#include "precision/compare/compare.h"
#include "precision/output/result_table.h"
#include "precision/output/row_colours.h"
#include "precision/output/summary.h"
#include "precision/test_support.h"
#include "report/csv_files.h"
#include "report/text_sheets.h"

namespace sonde::precision {
namespace {

std::string OutputTensorJson(double max, double norm = 1) {
  return R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": )" +
         std::to_string(max) + R"(, "Min": 0.0, "Mean": 0.5, "Norm": )" + std::to_string(norm) +
         R"(, "requires_grad": false})";
}

std::string Call(const std::string& name, const std::string& input, const std::string& output) {
  return "\"" + name + R"(": {"input_args": [)" + input + R"(], "output": [)" + output + "]}";
}

struct Compared {
  std::unique_ptr<DumpFile> target;
  std::unique_ptr<DumpFile> golden;
  Comparison comparison;

  Compared(const std::string& t, const std::string& g)
      : target(DumpOf("{" + t + "}")),
        golden(DumpOf("{" + g + "}")),
        comparison(PairAndCompare(*target, *golden, Mode::kStatistics, {})) {}
};

TEST(RowColoursTest, RedAndYellow) {
  const Compared same(Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1)),
                      Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1)));
  EXPECT_EQ(ColourRows(same.comparison),
            (std::vector<report::RowColour>(2, report::RowColour::kNone)));
  const Compared relative(Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1.6)),
                          Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1)));
  EXPECT_EQ(ColourRows(relative.comparison)[1], report::RowColour::kRed);
  const Compared drift(Call("Torch.a.0.forward", OutputTensorJson(1.001), OutputTensorJson(1.2)),
                       Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1)));
  EXPECT_EQ(ColourRows(drift.comparison)[0], report::RowColour::kNone);
  EXPECT_EQ(ColourRows(drift.comparison)[1], report::RowColour::kYellow);
  const Compared huge(Call("Torch.a.0.forward", OutputTensorJson(2e10), OutputTensorJson(1)),
                      Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1)));
  EXPECT_EQ(ColourRows(huge.comparison)[0], report::RowColour::kRed);
}

TEST(CsvTest, SplitsAndQuotes) {
  const Compared compared(
      Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1)) + "," +
          Call("Torch.b.0.forward", OutputTensorJson(1), OutputTensorJson(1)),
      Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1)) + "," +
          Call("Torch.c.0.forward", OutputTensorJson(1), OutputTensorJson(1)));
  const base::TestFolder folder;
  const ResultTable table(compared.comparison, nullptr);
  const auto files = report::WriteCsv(table, folder.File("r"), 4);
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[1], folder.File("r_part_2.csv"));
  const auto first = ReadCsv((*files)[0]);
  const auto second = ReadCsv((*files)[1]);
  ASSERT_EQ(first.size(), 5U);
  ASSERT_EQ(second.size(), 3U);
  EXPECT_EQ(second[1][0], "N/A");
  EXPECT_EQ(second[1][1], "Torch.c.0.forward.input.0");
}

TEST(CsvTest, FormulasAreMadeHarmless) {
  const char* const full_width_equals = "\xEF\xBC\x9D-";
  for (const char* text : {"=cmd()", "+1+1", "@x", "%x", "a;=b", full_width_equals}) {
    EXPECT_TRUE(IsFormulaLike(text)) << text;
  }
  for (const char* text : {"-1.5", "+3", "a=b", "", "a;b", "-1;2;-3e-05", "Torch.mm"}) {
    EXPECT_FALSE(IsFormulaLike(text)) << text;
  }
  const Compared compared(
      Call("Torch.a.0.forward", R"({"type": "str", "value": "=1+1"})", OutputTensorJson(1)), "");
  report::RowText cells;
  ResultTable(compared.comparison, nullptr).Fill(0, &cells);
  EXPECT_EQ(cells.cell(16), "'=1+1");
}

TEST(XlsxTest, WritesAWorkbookOrNothing) {
  const Compared compared(Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1.6)),
                          Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1)));
  const ResultTable table(compared.comparison, nullptr);
  const base::TestFolder folder;
  ASSERT_TRUE(report::WriteXlsx(table, folder.File("r.xlsx")).ok());
  const auto text = base::ReadFile(folder.File("r.xlsx"));
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(text->starts_with("PK"));
  EXPECT_NE(text->find("xl/worksheets/sheet1.xml"), std::string::npos);
  EXPECT_EQ(base::ListDirectory(folder.path())->size(), 1U);
  ASSERT_TRUE(report::WriteXlsx(table, folder.File("split.xlsx"), 1).ok());
  EXPECT_NE(base::ReadFile(folder.File("split.xlsx"))->find("xl/worksheets/sheet2.xml"),
            std::string::npos);
  EXPECT_FALSE(report::WriteXlsx(table, "/proc/nope/r.xlsx").ok());
}

TEST(SummaryTest, ShowsTheNumberAndTheFirst) {
  const Compared compared(
      Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1)) + "," +
          Call("Torch.mm.0.forward", OutputTensorJson(1), OutputTensorJson(1, 3)),
      Call("Torch.a.0.forward", OutputTensorJson(1), OutputTensorJson(1)) + "," +
          Call("Torch.mm.0.forward", OutputTensorJson(1), OutputTensorJson(1)));
  const auto construct =
      ConstructFile::Parse(R"({"Torch.mm.0.forward": "Module.x.Linear.forward.0"})", "c");
  const Summary summary = Summarize(compared.comparison, construct->get());
  EXPECT_EQ(summary.target_rows, 4U);
  EXPECT_EQ(summary.error, 1U);
  EXPECT_EQ(summary.module, "Module.x.Linear.forward.0");
  const std::string text = SummaryText(compared.comparison, summary);
  EXPECT_NE(text.find("first bad  Torch.mm.0.forward.output.0"), std::string::npos) << text;
  const Advice advice = Advise(compared.comparison, summary);
  EXPECT_EQ(advice.line, 5U);
  EXPECT_NE(AdviceText(advice).find("Suspect Nodes: Torch.mm.0.forward.output.0"),
            std::string::npos);
}

}  // namespace
}  // namespace sonde::precision
