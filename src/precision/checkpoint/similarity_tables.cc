#include "precision/checkpoint/similarity_tables.h"

#include <cmath>

#include "base/files.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "report/csv_files.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr std::string_view kSimilarityHead =
    "Name,l2,cos,numel,shape,Verdict,How,Different Elements,MaxAbsErr,Relative Distance,"
    "Target Dtype,Golden Dtype,Target Max,Target Min,Target Mean,Target Norm,"
    "Golden Max,Golden Min,Golden Mean,Golden Norm\n";

// Lists and members on lines of their own, as Python's json.dump(..., indent=4) lays them out.
std::string Indented(size_t depth) { return "\n" + std::string(4 * depth, ' '); }

std::string NumberOrNull(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? base::PythonDoubleText(*value) : "null";
}

std::string ListText(const std::vector<std::string>& items, size_t depth) {
  if (items.empty()) return "[]";
  return Concat("[", Indented(depth + 1), base::Join(items, "," + Indented(depth + 1)),
                Indented(depth), "]");
}

std::string LengthsText(const Tensor& tensor, size_t depth) {
  std::vector<std::string> lengths;
  for (const int64_t length : tensor.shape()) lengths.push_back(std::to_string(length));
  return ListText(lengths, depth);
}

std::string EntryText(const WeightRow& row) {
  const std::string ours = std::to_string(row.target->element_count());
  const std::string theirs = std::to_string(row.golden->element_count());
  const std::string shape =
      row.target->shape() == row.golden->shape()
          ? LengthsText(*row.target, 2)
          : ListText({LengthsText(*row.target, 3), LengthsText(*row.golden, 3)}, 2);
  return Concat(Indented(1), base::JsonQuote(row.name), ": {", Indented(2),
                "\"l2\": ", NumberOrNull(row.judged.l2), ",", Indented(2),
                "\"cos\": ", NumberOrNull(row.judged.cosine), ",", Indented(2),
                "\"numel\": ", ours == theirs ? ours : ListText({ours, theirs}, 2), ",",
                Indented(2), "\"shape\": ", shape, Indented(1), "}");
}

std::string CellOf(const std::optional<double>& value) {
  return value ? base::PythonDoubleText(*value) : "N/A";
}

void AppendNumbers(const Tensor* tensor, const WeightNumbers& numbers,
                   std::vector<std::string>* cells) {
  if (tensor == nullptr) {
    cells->insert(cells->end(), 4, "N/A");
    return;
  }
  const auto elements = static_cast<double>(tensor->element_count());
  const bool finite = numbers.nan == 0 && numbers.infinite == 0;
  cells->push_back(base::PythonDoubleText(numbers.max));
  cells->push_back(base::PythonDoubleText(numbers.min));
  cells->push_back(finite && elements > 0 ? base::PythonDoubleText(numbers.sum / elements) : "N/A");
  cells->push_back(finite ? base::PythonDoubleText(std::sqrt(numbers.squares)) : "N/A");
}

std::vector<std::string> CellsOf(const WeightRow& row) {
  const bool both = row.target != nullptr && row.golden != nullptr;
  const Tensor& one = row.target != nullptr ? *row.target : *row.golden;
  const bool compared = both && row.judged.verdict != WeightVerdict::kShape;
  const bool same_shape = !both || row.target->shape() == row.golden->shape();
  std::vector<std::string> cells = {
      row.name,
      CellOf(row.judged.l2),
      CellOf(row.judged.cosine),
      std::to_string(one.element_count()),
      same_shape ? ShapeText(one)
                 : Concat("[", ShapeText(*row.target), ", ", ShapeText(*row.golden), "]"),
      both ? std::string(VerdictText(row.judged.verdict))
           : Concat("only in the ", row.target != nullptr ? "target" : "golden checkpoint"),
      row.judged.how,
      compared ? std::to_string(row.difference.different) : "N/A",
      compared ? base::PythonDoubleText(row.difference.max_difference) : "N/A",
      compared ? base::PythonDoubleText(row.judged.relative) : "N/A",
      row.target != nullptr ? std::string(DtypeName(row.target->dtype())) : "N/A",
      row.golden != nullptr ? std::string(DtypeName(row.golden->dtype())) : "N/A"};
  AppendNumbers(row.target, row.difference.target, &cells);
  AppendNumbers(row.golden, row.difference.golden, &cells);
  return cells;
}

}  // namespace

Status WriteSimilarityJson(const std::vector<WeightRow>& rows, const std::string& path) {
  std::vector<std::string> entries;
  for (const WeightRow& row : rows) {
    if (row.target != nullptr && row.golden != nullptr) entries.push_back(EntryText(row));
  }
  return base::WriteFileAtomically(path, Concat("{", base::Join(entries, ","), "\n}"));
}

Status WriteWeightTable(const std::vector<WeightRow>& rows, const std::string& path) {
  std::string text(kSimilarityHead);
  for (const WeightRow& row : rows) {
    bool first = true;
    for (const std::string& cell : CellsOf(row)) {
      if (!first) text.push_back(',');
      first = false;
      report::AppendCsvCell(cell, &text);
    }
    text.push_back('\n');
  }
  return base::WriteFileAtomically(path, text);
}

}  // namespace sonde::precision
