#include "probe/stack_file.h"

#include <algorithm>

#include "base/clock.h"
#include "base/files.h"
#include "probe/json_text.h"

namespace sonde::probe {
namespace {

constexpr int64_t kShortestPauseNs = 1'000'000'000;
constexpr int64_t kPausePerCost = 50;

void AppendElement(std::string& list, std::string_view element) {
  if (!list.empty()) list.push_back(',');
  AppendLine(list, 3);
  list.append(element);
}

void AppendList(std::string& out, const std::string& elements) {
  out.push_back('[');
  out.append(elements);
  if (!elements.empty()) AppendLine(out, 2);
  out.push_back(']');
}

}  // namespace

Result<StackFile> StackFile::Create(std::string path) {
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(path, "{}"));
  return StackFile(std::move(path));
}

std::string StackFile::Elements(const std::vector<std::string_view>& frames) {
  std::string text;
  for (const std::string_view frame : frames) AppendElement(text, frame);
  return text;
}

size_t StackFile::Add(std::string_view name, const std::string& elements) {
  const auto [entry, is_new] = index_.try_emplace(elements, groups_.size());
  if (is_new) groups_.push_back({.names = {}, .frames = entry->first});
  AddTo(entry->second, name);
  return entry->second;
}

void StackFile::AddTo(size_t group, std::string_view name) {
  std::string& names = groups_[group].names;
  if (!names.empty()) names.push_back(',');
  AppendLine(names, 3);
  AppendQuoted(names, name);
  is_changed_ = true;
}

std::string StackFile::Text() const {
  if (groups_.empty()) return "{}";
  std::string out;
  for (size_t i = 0; i < groups_.size(); i++) {
    out.push_back(i == 0 ? '{' : ',');
    AppendLine(out, 1);
    AppendQuoted(out, std::to_string(i));
    out.append(": [");
    AppendLine(out, 2);
    AppendList(out, groups_[i].names);
    out.push_back(',');
    AppendLine(out, 2);
    AppendList(out, groups_[i].frames);
    AppendLine(out, 1);
    out.push_back(']');
  }
  return out.append("\n}");
}

void StackFile::WriteIfDue() {
  if (!is_changed_) return;
  const int64_t begin_ns = base::MonotonicRawNs();
  if (due_ns_ == 0) due_ns_ = begin_ns + kShortestPauseNs;
  if (begin_ns < due_ns_) return;
  // Settle() tries again and reports.
  base::WriteFileAtomically(path_, Text()).IgnoreError();
  const int64_t end_ns = base::MonotonicRawNs();
  due_ns_ = end_ns + std::max(kShortestPauseNs, kPausePerCost * (end_ns - begin_ns));
}

Status StackFile::Settle() {
  if (!is_changed_) return Status::Ok();
  is_changed_ = false;
  return base::WriteFileAtomically(path_, Text());
}

}  // namespace sonde::probe
