#include "precision/output/result_table.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/strings.h"
#include "precision/output/row_colours.h"

namespace sonde::precision {
namespace {

using base::Concat;
using report::RowText;

constexpr std::string_view kNotAvailable = "N/A";

std::vector<std::string> MetricColumns(Mode mode) {
  switch (mode) {
    case Mode::kStatistics:
      return {"Max diff",       "Min diff",       "Mean diff",       "L2norm diff",
              "MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr"};
    case Mode::kTensor:
      return {"Cosine",
              "EucDist",
              "MaxAbsErr",
              "MaxRelativeErr",
              "One Thousandth Err Ratio",
              "Five Thousandths Err Ratio"};
    case Mode::kMd5:
      return {"NPU MD5", "BENCH MD5"};
  }
  return {};
}

size_t MetricCount(Mode mode) { return mode == Mode::kStatistics ? kMaxCells : kTensorMetricCount; }

void Extend(std::vector<std::string>* columns, std::initializer_list<const char*> names) {
  columns->insert(columns->end(), names.begin(), names.end());
}

void FillStatistics(const DumpRow* row, RowText* out) {
  for (size_t i = 0; i < kStatisticCount; ++i) {
    if (row == nullptr) {
      out->Add(kNotAvailable);
    } else {
      AppendStatistic(row->stats[i], out->text());
      out->EndCell();
    }
  }
}

// `['a.pt', 'b.pt']`
void AppendDataNames(const ComparedRow& row, std::string* out) {
  const auto name = [](const DumpRow* side) -> std::string_view {
    if (side == nullptr) return kNotAvailable;
    return side->data_name.empty() ? std::string_view("-1") : side->data_name;
  };
  out->push_back('[');
  AppendPythonRepr(name(row.target), out);
  out->append(", ");
  AppendPythonRepr(name(row.golden), out);
  out->push_back(']');
}

std::string_view FieldOf(const DumpRow* row, std::string_view DumpRow::* field) {
  return row == nullptr ? kNotAvailable : OrNotAvailable(row->*field);
}

}  // namespace

bool IsFormulaLike(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kWide = {"\uFF0B", "\uFF0D", "\uFF1D", "\uFF05",
                                                            "\uFF20"};
  const auto begins_formula = [](std::string_view rest) {
    if (rest.empty()) return false;
    if (std::string_view("+-=%@").find(rest[0]) != std::string_view::npos) return true;
    return std::any_of(kWide.begin(), kWide.end(),
                       [rest](std::string_view wide) { return rest.starts_with(wide); });
  };
  while (true) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view part = text.substr(0, end);
    // A plain sign before a number is harmless; the parser wants none in front.
    if (begins_formula(part) && !base::ParseDouble(part.starts_with('+') ? part.substr(1) : part)) {
      return true;
    }
    if (end == text.size()) return false;
    text.remove_prefix(end + 1);
  }
}

void AppendGuarded(std::string_view text, std::string* out) {
  if (IsFormulaLike(text)) out->push_back('\'');
  out->append(text);
}

void AppendStatistic(const Value& value, std::string* out) {
  if (value.kind() == Value::Kind::kText) {
    AppendGuarded(value.text(), out);
  } else if (value.IsNan()) {
    out->append("Nan");
  } else if (value.IsInfinite()) {
    // The blank keeps spreadsheets from reading a name.
    out->append(value.AsDouble() > 0 ? " inf" : " -inf");
  } else {
    value.AppendPython(out);
  }
}

ResultTable::ResultTable(const Comparison& comparison, const StackFile* stack)
    : comparison_(comparison),
      stack_(stack != nullptr && stack->present() ? stack : nullptr),
      columns_({"NPU Name", "Bench Name", "NPU Dtype", "Bench Dtype", "NPU Tensor Shape",
                "Bench Tensor Shape", "NPU Requires_grad", "Bench Requires_grad"}) {
  for (std::string& name : MetricColumns(comparison.mode)) columns_.push_back(std::move(name));
  for (const ExtraColumn& extra : comparison.extra_columns) columns_.push_back(extra.name);
  if (comparison.mode != Mode::kMd5) {
    Extend(&columns_, {"NPU max", "NPU min", "NPU mean", "NPU l2norm", "Bench max", "Bench min",
                       "Bench mean", "Bench l2norm"});
  }
  Extend(&columns_, {"Requires_grad Consistent", "Result", "Err_message"});
  if (stack_ != nullptr) {
    columns_.emplace_back("NPU_Stack_Info");
    api_of_first_row_.resize(comparison.rows.size());
    for (const ComparedGroup& group : comparison.groups) {
      api_of_first_row_[group.first_row] = group.api;
    }
  }
  if (comparison.mode == Mode::kTensor) columns_.emplace_back("Data_name");
}

void ResultTable::FillMetrics(const ComparedRow& row, size_t index, RowText* out) const {
  if (comparison_.mode == Mode::kMd5) {
    out->Add(row.target == nullptr ? std::string(kNotAvailable) : ChecksumText(*row.target));
    out->Add(row.golden == nullptr ? std::string(kNotAvailable) : ChecksumText(*row.golden));
  } else {
    for (size_t i = 0; i < MetricCount(comparison_.mode); ++i) {
      row.cells[i].AppendTo(out->text());
      out->EndCell();
    }
  }
  for (const ExtraColumn& extra : comparison_.extra_columns) out->Add(extra.cells[index]);
}

void ResultTable::FillTail(const ComparedRow& row, size_t index, RowText* out) const {
  const bool consistent =
      FieldOf(row.target, &DumpRow::requires_grad) == FieldOf(row.golden, &DumpRow::requires_grad);
  out->Add(consistent ? "True" : "False");
  out->Add(VerdictText(row.verdict));
  if (row.messages == 0) {
    out->Add("[]");
  } else {
    out->Add(MessageList(row));
  }
  if (stack_ != nullptr) {
    const std::string_view api = api_of_first_row_[index];
    const int32_t stack = api.empty() ? StackFile::kNoStack : stack_->Find(api);
    out->Add(stack == StackFile::kNoStack ? kNotAvailable : stack_->PythonText(stack));
  }
  if (comparison_.mode == Mode::kTensor) {
    AppendDataNames(row, out->text());
    out->EndCell();
  }
}

std::vector<report::RowColour> ResultTable::Colours() const { return ColourRows(comparison_); }

void ResultTable::Fill(size_t index, RowText* out) const {
  const ComparedRow& row = comparison_.rows[index];
  out->Clear();
  for (const DumpRow* side : {row.target, row.golden}) {
    if (side == nullptr) {
      out->Add(kNotAvailable);
    } else {
      AppendGuarded(side->name, out->text());
      out->EndCell();
    }
  }
  for (const auto field : {&DumpRow::dtype, &DumpRow::shape, &DumpRow::requires_grad}) {
    out->Add(FieldOf(row.target, field));
    out->Add(FieldOf(row.golden, field));
  }
  FillMetrics(row, index, out);
  if (comparison_.mode != Mode::kMd5) {
    FillStatistics(row.target, out);
    FillStatistics(row.golden, out);
  }
  FillTail(row, index, out);
}

std::vector<std::string> TensorLog(const Comparison& comparison) {
  const ResultTable table(comparison, nullptr);
  std::vector<std::string> lines;
  report::RowText cells;
  const size_t metrics = kTensorMetricCount + comparison.extra_columns.size();
  for (size_t i = 0; i < comparison.target_row_count(); ++i) {
    const ComparedRow& row = comparison.rows[i];
    if (row.target->data_name.empty()) continue;
    table.Fill(i, &cells);
    std::string line = Concat("[", row.target->name, "] Compare result: ");
    for (size_t c = 8; c < 8 + metrics; ++c) {
      line += Concat(table.columns()[c], " ", cells.cell(c), ", ");
    }
    lines.push_back(line + MessageList(row));
  }
  return lines;
}

}  // namespace sonde::precision
