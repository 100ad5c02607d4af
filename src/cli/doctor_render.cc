// `sonde doctor`: the screen.
#include <algorithm>
#include <string_view>

#include "base/strings.h"
#include "cli/doctor.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr size_t kSubjectWidth = 16;
constexpr size_t kScreenWidth = 100;
constexpr size_t kTextColumn = 7 + kSubjectWidth;

std::string_view Mark(Grade grade) {
  switch (grade) {
    case Grade::kOk:
      return "  ok   ";
    case Grade::kNote:
      return "  note ";
    case Grade::kGap:
      return "  GAP  ";
    case Grade::kFailure:
      return "  FAIL ";
  }
  return "";
}

// Breaks `text` at blanks into lines that start at `column`; the first line is not indented.
std::string Wrap(std::string_view text, size_t column) {
  std::string out;
  size_t used = column;
  for (const std::string_view word : base::Split(text, ' ')) {
    if (used > column && used + 1 + word.size() > kScreenWidth) {
      out += Concat("\n", std::string(column, ' '));
      used = column;
    } else if (used > column) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out;
}

void RenderFinding(const Finding& finding, std::string& out) {
  std::string subject = finding.subject;
  subject.resize(std::max(kSubjectWidth, subject.size() + 1), ' ');
  out += Concat(Mark(finding.grade), subject, Wrap(finding.text, kTextColumn), "\n");
  if (finding.remedy.empty()) return;
  out += Concat(std::string(kTextColumn, ' '), "remedy: ", Wrap(finding.remedy, kTextColumn + 8),
                "\n");
}

void RenderVerdict(const std::vector<Finding>& findings, std::string& out) {
  const bool failed = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.grade == Grade::kFailure;
  });
  if (failed) {
    out += "\nNothing will be recorded until every FAIL above is fixed.\n";
    return;
  }
  constexpr std::string_view kAlways =
      "forward and backward operators, module ranges, steps, optimizer and data loader, "
      "collectives, ranges and marks of the program";
  constexpr std::string_view kOptional =
      "input shapes (--profile-record-shapes), allocator events (--profile-with-memory), Python "
      "call stacks (--profile-with-stack)";
  out += Concat("\nRecorded:      ", Wrap(kAlways, 15), "\nWith options:  ", Wrap(kOptional, 15),
                "\n");
  std::vector<std::string> lost;
  for (const Finding& finding : findings) {
    if (finding.grade == Grade::kGap && !finding.loses.empty()) lost.push_back(finding.loses);
  }
  out +=
      Concat("Not recorded:  ",
             Wrap(lost.empty() ? "nothing that Sonde knows of" : base::Join(lost, "; "), 15), "\n");
}

}  // namespace

std::string RenderDoctor(const std::string& title, const std::vector<Finding>& findings) {
  std::string out = Concat(title, "\n\n");
  for (const Finding& finding : findings) RenderFinding(finding, out);
  RenderVerdict(findings, out);
  return out;
}

}  // namespace sonde::cli
