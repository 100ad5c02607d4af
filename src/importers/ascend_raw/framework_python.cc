// Python calls: begins and ends from the tracer, joined thread by thread.
#include <algorithm>

#include "base/strings.h"
#include "importers/ascend_raw/framework.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

constexpr std::string_view kModuleMark = "######";  // <class>######<number of the instance>
constexpr int16_t kScopeModule = 4;

}  // namespace

void FrameworkLayer::AddPythonCalls() {
  for (auto& [tid, calls] : calls_) {
    ReplayThread(tid, calls);
    calls = base::SpillVector<Call>(Allocator<Call>());
  }
}

// A return ends the last call; calls without a return end with the thread's records.
void FrameworkLayer::ReplayThread(int64_t tid, base::SpillVector<Call>& calls) {
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return a.ts != b.ts ? a.ts < b.ts : a.order < b.order;
  });
  std::vector<size_t> open;
  base::SpillVector<int64_t> ends(calls.size(), calls.empty() ? 0 : calls.back().ts,
                                  Allocator<int64_t>());
  int64_t without_call = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].kind == PythonCall::kCall || calls[i].kind == PythonCall::kCCall) {
      open.push_back(i);
    } else if (calls[i].kind > PythonCall::kCReturn) {
      rows_.issues.Add(kBadRecord, file_);
    } else if (open.empty()) {
      ++without_call;
    } else {
      ends[open.back()] = calls[i].ts;
      open.pop_back();
    }
  }
  if (without_call > 0) rows_.issues.Add(kReturnWithoutCall, file_, -1, without_call);
  Modules modules;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].kind != PythonCall::kCall && calls[i].kind != PythonCall::kCCall) continue;
    AddPython(tid, calls[i], ends[i], modules);
  }
}

void FrameworkLayer::AddPython(int64_t tid, const Call& call, int64_t end, Modules& modules) {
  const auto known = python_names_.find(call.key);
  const std::string text = known != python_names_.end() ? known->second : std::to_string(call.key);
  if (known == python_names_.end()) rows_.issues.Add(kUnknownHash, file_);
  const int32_t thread = Thread(static_cast<uint64_t>(pid_), static_cast<uint64_t>(tid));
  const bool is_module =
      call.kind == PythonCall::kCall && text.find(kModuleMark) != std::string::npos;
  if (!is_module) {
    rows_.AddSlice(rows_.ThreadTrack(capture::TrackKind::kPython, thread), call.ts,
                   SpanNs(call.ts, end), rows_.names.Intern(text),
                   rows_.names.Intern("python_function"));
    return;
  }
  const Module& module = ModuleOf(text, modules);
  const int32_t slice = rows_.AddSlice(
      rows_.ThreadTrack(capture::TrackKind::kModule, thread), call.ts, SpanNs(call.ts, end),
      rows_.names.Intern(module.shown), rows_.names.Intern("module"));
  rows_.slices[static_cast<size_t>(slice)].args_id = module.args;
  rows_.ops.push_back({.slice_id = slice, .scope = kScopeModule});
}

// Instances of a class are numbered in the order of their first call.
const FrameworkLayer::Module& FrameworkLayer::ModuleOf(std::string_view text, Modules& modules) {
  const auto found = modules.by_text.find(text);
  if (found != modules.by_text.end()) return found->second;
  const std::string_view type = text.substr(0, text.find(kModuleMark));
  int64_t& count = modules.counts[std::string(type)];
  Module module;
  module.shown = Concat("nn.Module: ", type, "_", std::to_string(count++));
  module.args = rows_.next_args_id++;
  rows_.args_text.push_back({.args_id = module.args,
                             .key = rows_.names.Intern("class"),
                             .form = 0,
                             .value = rows_.names.Intern(type)});
  return modules.by_text.emplace(std::string(text), std::move(module)).first->second;
}

}  // namespace sonde::importers::raw
