#include "precision/check/api_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "precision/cause/tolerance.h"
#include "report/csv_files.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::JsonValue;

constexpr std::string_view kCheckHead =
    "API Name,Dtype,Shape,Error,Length,Relative Error,Tolerance,Error / Tolerance,"
    "NaN or Inf on one side,Other whole numbers,Verdict\n";
// A result is rounded to its type once more than the operation's own roundings.
constexpr double kLastRounding = 2;

constexpr std::string_view kTf32 =
    "; products in TF32 explain it (torch.backends.cudnn.allow_tf32, on by default; "
    "torch.backends.cuda.matmul.allow_tf32)";

struct Line {
  std::string call;
  std::string direction;
  int64_t index = 0;
  std::string dtype;
  std::string shape;
  std::string problem;
  std::string not_run;
  bool is_random = false;
  double error = 0;
  int64_t places = 0;
  int64_t not_finite = 0;
  Operand output;
  CallNumbers numbers;
};

struct Judged {
  std::string verdict;
  double tolerance = 0;
  double times = 0;  // error / tolerance
};

Operand OperandOf(const JsonValue& columns) {
  const auto number = [&](size_t i) { return columns[i].AsDouble().value_or(0); };
  Operand out;
  out.is_tensor = out.has_numbers = out.is_finite = true;
  out.is_floating = number(0) != 0;
  out.elements = number(1);
  out.last_axis = number(2);
  out.norm = number(3);
  out.mean = number(4);
  out.max_abs = number(5);
  out.unit = number(6);
  return out;
}

std::vector<Operand> OperandsOf(const JsonValue& list) {
  std::vector<Operand> out;
  for (const JsonValue& columns : list.Elements()) out.push_back(OperandOf(columns));
  return out;
}

// "Functional.linear.3" -> "Functional.linear.forward", the key of the families.
std::string FamilyName(const std::string& call, const std::string& direction) {
  return Concat(call.substr(0, call.rfind('.')), ".", direction);
}

Line ParseLine(const JsonValue& root) {
  Line out;
  out.call = root.GetString("call", "").value_or("");
  out.not_run = root.GetString("not_run", "").value_or("");
  out.direction = root.GetString("direction", "").value_or("");
  out.index = root.GetInt("index", 0).value_or(0);
  out.dtype = root.GetString("dtype", "").value_or("");
  out.shape = root["shape"].Dump();
  out.problem = root.GetString("problem", "").value_or("");
  out.is_random = root.GetBool("random", false).value_or(false);
  out.error = root.GetDouble("error", 0).value_or(0);
  out.places = root.GetInt("places", 0).value_or(0);
  out.not_finite = root.GetInt("not_finite", 0).value_or(0);
  out.output = OperandOf(root["output"]);
  out.output.tiny = SmallestKept(out.dtype);
  CallNumbers& numbers = out.numbers;
  numbers.family = FamilyOf(FamilyName(out.call, out.direction));
  numbers.is_backward = out.direction == "backward";
  numbers.inputs = OperandsOf(root["inputs"]);
  numbers.forward = OperandsOf(root["forward"]);
  numbers.unit = out.output.unit;
  numbers.is_cuda = true;  // lines state no device; of those that people check CUDA alone has TF32
  for (const std::vector<Operand>* list : {&numbers.inputs, &numbers.forward}) {
    for (const Operand& operand : *list) numbers.unit = std::max(numbers.unit, operand.unit);
  }
  return out;
}

bool IsExplained(const Line& line, double tolerance) {
  return line.problem.empty() && line.not_finite == 0 && line.error <= tolerance;
}

double ToleranceOfLine(const Line& line) {
  return ToleranceOf(line.numbers, line.output).length +
         kLastRounding * line.output.unit * line.output.norm;
}

// `floats_agree`: of the other results of the same call and direction, of which there are some.
Judged Judge(const Line& line, bool floats_agree) {
  Judged out;
  out.tolerance = ToleranceOfLine(line);
  out.times = out.tolerance > 0 ? line.error / out.tolerance : 0;
  if (line.is_random) {
    out.verdict = "random";
  } else if (!line.problem.empty()) {
    out.verdict = line.problem;
  } else if (line.not_finite > 0) {
    out.verdict = "NaN or infinity differs";
  } else if (line.places > 0) {
    out.verdict = floats_agree ? "other places of equal values" : "differs";
  } else if (IsExplained(line, out.tolerance)) {
    out.verdict = line.error == 0 ? "equal" : "rounding";
  } else {
    out.verdict = "differs";
  }
  return out;
}

std::string Number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6e", value);
  return text;
}

std::string Short(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

std::string ResultName(const Line& line) {
  return Concat(line.call, ".", line.direction, ".output.", std::to_string(line.index));
}

void AppendRow(const Line& line, const Judged& judged, std::string* out) {
  const double length = line.output.norm;
  const std::vector<std::string> cells = {ResultName(line),
                                          line.dtype,
                                          line.shape,
                                          Number(line.error),
                                          Number(length),
                                          Number(length > 0 ? line.error / length : 0),
                                          Number(judged.tolerance),
                                          Number(judged.times),
                                          std::to_string(line.not_finite),
                                          std::to_string(line.places),
                                          judged.verdict};
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out->push_back(',');
    report::AppendCsvCell(cells[i], out);
  }
  out->push_back('\n');
}

std::string InWords(const Line& line, const Judged& judged) {
  const std::string name =
      Concat(line.call, line.numbers.is_backward ? ", gradient " : ", result ",
             std::to_string(line.index), " (", line.dtype, " ", line.shape, ")");
  if (!line.problem.empty()) return Concat(name, ": ", line.problem);
  if (line.not_finite > 0) {
    return Concat(name, ": ", base::CountOf(line.not_finite, "element is", "elements are"),
                  " NaN or infinite on one side only");
  }
  if (line.places > 0) {
    return Concat(name, ": ", std::to_string(line.places), " whole numbers are others");
  }
  const std::string relative =
      line.output.norm > 0 ? Short(line.error / line.output.norm) : std::string("infinite");
  return Concat(name, ": relative error ", relative, ", ",
                judged.tolerance > 0
                    ? Concat(Short(judged.times), " times what type and size explain",
                             ExplainedByTf32(line.numbers, line.output, line.error) ? kTf32 : "")
                    : std::string("where the operation only moves values"));
}

// Lines of one call and direction stand together.
bool FloatsAgree(const std::vector<Line>& lines, const Line& of) {
  bool some = false;
  for (const Line& line : lines) {
    if (line.call != of.call || line.direction != of.direction || !line.output.is_floating)
      continue;
    if (!IsExplained(line, ToleranceOfLine(line))) return false;
    some = true;
  }
  return some;
}

class Judgement {
 public:
  void Add(const std::vector<Line>& call) {
    bool was_run = false;
    for (const Line& line : call) {
      if (!line.not_run.empty()) {
        AddNotRun(line);
        continue;
      }
      was_run = true;
      AddResult(line, Judge(line, FloatsAgree(call, line)));
    }
    if (was_run) ++outcome_.calls;
  }

  ApiCheckOutcome Take() {
    std::stable_sort(off_.begin(), off_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [times, text] : off_) outcome_.differs.push_back(std::move(text));
    return std::move(outcome_);
  }
  void CountBroken() { ++outcome_.broken_lines; }
  const std::string& table() const { return table_; }

 private:
  void AddNotRun(const Line& line) {
    if (++outcome_.not_run == 1) outcome_.first_not_run = Concat(line.call, ": ", line.not_run);
    report::AppendCsvCell(line.call, &table_);
    table_ += ",,,,,,,,,,";
    report::AppendCsvCell(Concat("not checked: ", line.not_run), &table_);
    table_.push_back('\n');
  }

  void AddResult(const Line& line, const Judged& judged) {
    AppendRow(line, judged, &table_);
    if (line.is_random) {
      ++outcome_.random;
      return;
    }
    ++outcome_.results;
    const bool agrees = judged.verdict == "equal" || judged.verdict == "rounding" ||
                        judged.verdict == "other places of equal values";
    if (agrees) {
      ++outcome_.explained;
      return;
    }
    // Where nothing may differ, or what differs is no number, nothing is further off.
    const bool is_rounded = line.problem.empty() && line.not_finite == 0 && line.places == 0;
    const bool is_finite = is_rounded && judged.tolerance > 0;
    off_.emplace_back(is_finite ? judged.times : HUGE_VAL, InWords(line, judged));
  }

  ApiCheckOutcome outcome_;
  std::vector<std::pair<double, std::string>> off_;
  std::string table_ = std::string(kCheckHead);
};

}  // namespace

Result<ApiCheckOutcome> JudgeApiCheck(const std::string& numbers_path,
                                      const std::string& csv_path) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(numbers_path));
  Judgement judgement;
  std::vector<Line> call;
  for (const std::string_view words : base::Split(text, '\n')) {
    if (words.empty()) continue;
    const Result<base::JsonDocument> document = base::JsonDocument::Parse(words, numbers_path);
    if (!document.ok() || !document->root().IsObject()) {
      judgement.CountBroken();
      continue;
    }
    Line line = ParseLine(document->root());
    if (!call.empty() && call.front().call != line.call) {
      judgement.Add(call);
      call.clear();
    }
    call.push_back(std::move(line));
  }
  judgement.Add(call);
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(csv_path, judgement.table()));
  return judgement.Take();
}

}  // namespace sonde::precision
