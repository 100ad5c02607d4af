#include "adapt/probe/construct.h"

#include <algorithm>

#include "adapt/probe/nesting.h"
#include "base/strings.h"
#include "probe/json_text.h"

namespace sonde::adapt {
namespace {

// Module.<qualified name>.<Class>.<forward|backward>.<n>: the first two, and the direction.
struct ModuleName {
  std::string_view path;
  std::string_view direction;
};

ModuleName Split(std::string_view name) {
  const auto cut = [&name] {
    const size_t dot = name.rfind('.');
    const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
    name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
    return last;
  };
  cut();
  const std::string_view direction = cut();
  cut();
  return {.path = name, .direction = direction};
}

}  // namespace

Status Construct::Open(const std::string& path, bool with_apis) {
  Close();
  with_apis_ = with_apis;
  SONDE_ASSIGN_OR_RETURN(
      file_,
      probe::ObjectFile::Create(path, {.head = "{", .depth = 1, .tail = "\n}", .empty_tail = "}"}));
  return Status::Ok();
}

void Construct::Close() {
  file_.reset();
  status_.clear();
  seen_status_.clear();
  waiting_.clear();
  started_.clear();
}

void Construct::MovedTo(const std::string& path) {
  if (file_) file_->MovedTo(path);
}

void Construct::BeginModule(const std::string& name) {
  if (!file_) return;
  std::vector<std::string>& open = ThisNesting().modules;
  waiting_.push_back({name, open.empty() ? LastStartedAround(name) : open.back()});
  started_.push_back(name);
  open.push_back(name);
}

void Construct::EndModule(const std::string& name) {
  if (!file_) return;
  const auto found = std::find(started_.rbegin(), started_.rend(), name);
  if (found != started_.rend()) started_.erase(std::next(found).base());
  std::vector<std::string>& open = ThisNesting().modules;
  if (!open.empty()) open.pop_back();
}

// In a thread that has no open module: the last one that began and contains this one.
std::string Construct::LastStartedAround(std::string_view name) const {
  const ModuleName inner = Split(name);
  for (auto other = started_.rbegin(); other != started_.rend(); ++other) {
    const ModuleName outer = Split(*other);
    if (outer.direction == inner.direction && inner.path.starts_with(outer.path) &&
        inner.path.substr(outer.path.size()).starts_with('.')) {
      return *other;
    }
  }
  return {};
}

void Construct::Write(const std::string& name, std::string_view parent) {
  std::string text;
  if (parent.empty()) {
    text = "null";
  } else {
    probe::AppendQuoted(text, parent);
  }
  file_->SetValue(name, std::move(text));
  file_->Finish(name);
}

void Construct::Place(const std::string& name) {
  if (!file_) return;
  const bool is_module = name.starts_with("Module.");
  if (!status_.empty() && !is_module) {
    if (std::find(seen_status_.begin(), seen_status_.end(), status_) == seen_status_.end()) {
      seen_status_.push_back(status_);
      Write(status_, {});
    }
    Write(name, status_);
  } else if (with_apis_ && !is_module) {
    const std::vector<std::string>& open = ThisNesting().modules;
    Write(name, open.empty() ? std::string_view() : std::string_view(open.back()));
  }
  for (const Node& node : std::exchange(waiting_, {})) Write(node.name, node.parent);
}

}  // namespace sonde::adapt
