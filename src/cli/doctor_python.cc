// `sonde doctor`: asking Python, and what its answer means.
#include <cstdlib>

#include "base/files.h"
#include "base/strings.h"
#include "cli/capture_output.h"
#include "cli/doctor.h"

namespace sonde::cli {
namespace {

using base::Concat;
using base::JsonValue;

constexpr int kTimeoutSeconds = 120;

// Finds the package without disturbing the program's own search path: last, not first.
constexpr const char* kRunModule =
    "import sys, runpy; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module('sonde.doctor', run_name='__main__', alter_sys=True)";

// A text member, or empty.
std::string Text(const JsonValue& object, std::string_view key) {
  return object.GetString(key, "").value_or("");
}

bool Flag(const JsonValue& object, std::string_view key, bool fallback) {
  return object.GetBool(key, fallback).value_or(fallback);
}

std::string LastLine(std::string_view text) {
  const std::string_view trimmed = base::Trim(text);
  const size_t at = trimmed.rfind('\n');
  return std::string(at == std::string_view::npos ? trimmed : trimmed.substr(at + 1));
}

Finding ExplainHook(const JsonValue& hook) {
  if (hook.IsNull() || Flag(hook, "found", false)) {
    return {.subject = "Start-up hook", .text = "reaches this Python through PYTHONPATH"};
  }
  return {.grade = Grade::kGap,
          .subject = "Start-up hook",
          .text = Concat("does not run: ", Text(hook, "detail")),
          .remedy = "start Python without -E, -I and -S, and leave PYTHONPATH as sonde run sets it",
          .loses = "programs that do not call sonde.torch.profile themselves"};
}

Finding ExplainTorch(const JsonValue& torch, bool has_mindspore) {
  if (torch.IsNull() && has_mindspore) {
    return {.grade = Grade::kNote, .subject = "PyTorch", .text = "not installed in this Python"};
  }
  if (torch.IsNull()) {
    return {.grade = Grade::kFailure,
            .subject = "PyTorch",
            .text = "not installed in this Python",
            .remedy =
                "install torch 2.4 or newer or MindSpore, or name another Python with "
                "--python"};
  }
  if (const std::string error = Text(torch, "error"); !error.empty()) {
    return {.grade = Grade::kFailure,
            .subject = "PyTorch",
            .text = Concat("cannot be imported: ", error),
            .remedy = "repair the installation until `import torch` works"};
  }
  const std::string version = Text(torch, "version");
  if (!Flag(torch, "supported", true)) {
    return {.grade = Grade::kFailure,
            .subject = "PyTorch",
            .text = Concat(version, " is older than 2.4"),
            .remedy = "install torch 2.4 or newer"};
  }
  const std::string cuda = Text(torch, "cuda");
  return {.subject = "PyTorch",
          .text = Concat(version, cuda.empty() ? "" : Concat(", built for CUDA ", cuda), ", ",
                         Text(torch, "path"))};
}

Finding ExplainMindspore(const JsonValue& mindspore) {
  if (const std::string error = Text(mindspore, "error"); !error.empty()) {
    return {.grade = Grade::kFailure,
            .subject = "MindSpore",
            .text = Concat("cannot be imported: ", error),
            .remedy = "repair the installation until `import mindspore` works"};
  }
  const std::string version = Text(mindspore, "version");
  const std::string text = Concat(version, ", ", Text(mindspore, "path"));
  if (Flag(mindspore, "supported", true)) return {.subject = "MindSpore", .text = text};
  return {.grade = Grade::kNote,
          .subject = "MindSpore",
          .text = Concat(text, ": a release that Sonde does not know; the self-test decides")};
}

void ExplainPackages(const JsonValue& packages, std::vector<Finding>& out) {
  std::vector<std::string> found;
  for (const auto& [name, version] : packages.Members()) {
    if (version.IsString()) found.push_back(Concat(name, " ", version.AsString().value_or("")));
  }
  if (!found.empty()) out.push_back({.subject = "Other packages", .text = base::Join(found, ", ")});
}

// A torch for CUDA is linked with CUPTI; the library for an NPU is looked for on the machine.
Finding ExplainAccelerator(const std::string& kind, std::string text, bool is_for_cuda) {
  if (kind == "cuda" && is_for_cuda) {
    text += ": its tasks are recorded by CUPTI";
    return {.subject = "Accelerator", .text = std::move(text)};
  }
  if (kind == "npu") return {.subject = "Accelerator", .text = std::move(text)};
  return {.grade = Grade::kGap,
          .subject = "Accelerator",
          .text = std::move(text),
          .remedy = "this version records the host side; use the vendor's tracer in addition",
          .loses = Concat("kernels on the ", kind, " device")};
}

void ExplainAccelerators(const JsonValue& report, std::vector<Finding>& out) {
  const JsonValue accelerators = report["accelerators"];
  const bool is_for_cuda = report["torch"]["cuda"].IsString();
  for (const JsonValue& device : accelerators.Elements()) {
    const std::string kind = Text(device, "kind");
    std::string text = Concat(kind, ":", std::to_string(device.GetInt("index", 0).value_or(0)), " ",
                              Text(device, "name"));
    out.push_back(ExplainAccelerator(kind, std::move(text), is_for_cuda));
  }
  if (accelerators.IsArray() && accelerators.Size() == 0 && !report["torch"].IsNull()) {
    out.push_back({.subject = "Accelerator", .text = "none seen by torch: the CPU is the device"});
  }
}

Finding ExplainLibrary(std::string subject, const JsonValue& library) {
  const std::string path = Text(library, "path");
  const std::string error = Text(library, "error");
  if (!path.empty() && error.empty()) {
    const std::string version = Text(library, "version");
    return {.subject = std::move(subject),
            .text = Concat(version, version.empty() ? "" : ", ", path)};
  }
  return {.grade = Grade::kFailure,
          .subject = std::move(subject),
          .text = path.empty() ? "its library was not found" : Concat(path, ": ", error),
          .remedy = "install Sonde again, or set SONDE_HOME to the folder that holds its lib/"};
}

void ExplainSelfTest(const JsonValue& checks, std::vector<Finding>& out) {
  size_t passed = 0;
  for (const JsonValue& check : checks.Elements()) {
    if (Flag(check, "ok", false)) {
      ++passed;
      continue;
    }
    out.push_back({.grade = Grade::kGap,
                   .subject = "Self-test",
                   .text = Concat(Text(check, "name"), ": ", Text(check, "detail")),
                   .remedy = Text(check, "remedy"),
                   .loses = Text(check, "loses")});
  }
  out.push_back({.grade = checks.Size() == 0 ? Grade::kNote : Grade::kOk,
                 .subject = "Self-test",
                 .text = checks.Size() == 0 ? "not run"
                                            : Concat(std::to_string(passed), " of ",
                                                     std::to_string(checks.Size()), " passed")});
}

// Changes in torch and in servers while they are recorded, by the names in their sources.
void ExplainHosts(const JsonValue& hosts, std::vector<Finding>& out) {
  for (const JsonValue& host : hosts.Elements()) {
    const std::string subject = Concat("Inside ", Text(host, "package"));
    size_t lacks = 0;
    for (const auto& [title, names] : host["missing"].Members()) {
      std::vector<std::string> words;
      for (const JsonValue& name : names.Elements()) words.push_back(name.AsString().value_or(""));
      ++lacks;
      out.push_back({.grade = Grade::kGap,
                     .subject = subject,
                     .text = words.empty() ? "a module is missing"
                                           : Concat("there is no ", base::Join(words, ", ")),
                     .remedy = "use a release that docs/vllm.md names, or a newer Sonde",
                     .loses = std::string(title)});
    }
    const int64_t known = host.GetInt("seams", 0).value_or(0);
    if (lacks == 0) {
      out.push_back({.subject = subject,
                     .text = Concat(Text(host, "version"), ": all ", std::to_string(known),
                                    " names that Sonde changes exist")});
    }
  }
}

}  // namespace

Result<base::JsonDocument> AskPython(const Layout& layout, const std::string& python) {
  if (layout.python_package.empty()) {
    return base::NotFoundError(Concat("Sonde's Python package was not found near '", layout.home,
                                      "' (set SONDE_HOME to the folder that holds bin/ and lib/)"));
  }
  const char* their_path = std::getenv("PYTHONPATH");
  std::string python_path = layout.InjectFolder();
  if (their_path != nullptr && *their_path != '\0') python_path += Concat(":", their_path);
  SONDE_ASSIGN_OR_RETURN(
      const ProgramOutput output,
      CaptureOutput(
          {python, "-c", kRunModule, layout.PythonFolder(), "--json"},
          {{"PYTHONPATH", python_path}, {"SONDE_ATTACH", ""}, {"SONDE_HOME", layout.home}},
          kTimeoutSeconds));
  if (output.exit_status != 0) {
    return base::InternalError(Concat("'", python, "' ended with status ",
                                      std::to_string(output.exit_status), ": ",
                                      LastLine(output.err)));
  }
  return base::JsonDocument::Parse(output.out, "answer of sonde.doctor");
}

std::vector<Finding> ExplainPython(const JsonValue& report) {
  std::vector<Finding> findings;
  const JsonValue python = report["python"];
  findings.push_back({.subject = "Python",
                      .text = Concat(Text(python, "version"), " ", Text(python, "implementation"),
                                     ", ", Text(python, "executable"))});
  findings.push_back(ExplainHook(report["start_up_hook"]));
  const JsonValue mindspore = report["mindspore"];
  findings.push_back(ExplainTorch(report["torch"], !mindspore.IsNull()));
  if (!mindspore.IsNull()) findings.push_back(ExplainMindspore(mindspore));
  if (const std::string error = Text(report, "torch_npu_error"); !error.empty()) {
    findings.push_back({.grade = Grade::kNote,
                        .subject = "torch_npu",
                        .text = Concat("is installed and cannot be imported: ", error),
                        .remedy = "install CANN, or run the program on the CPU by `sonde run "
                                  "--provide torch_npu`"});
  }
  ExplainPackages(report["packages"], findings);
  ExplainAccelerators(report, findings);
  findings.push_back(ExplainLibrary("Recorder", report["recorder"]));
  if (!report["torch"].IsNull()) {
    findings.push_back(ExplainLibrary("Adapter", report["adapter"]));
    ExplainSelfTest(report["adapter"]["checks"], findings);
  }
  if (!mindspore.IsNull()) {
    findings.push_back(ExplainLibrary("Adapter", report["mindspore_adapter"]));
    ExplainSelfTest(report["mindspore_adapter"]["checks"], findings);
  }
  ExplainHosts(report["hosts"], findings);
  for (const JsonValue& profiler : report["profilers"].Elements()) {
    findings.push_back({.grade = Grade::kNote,
                        .subject = "Other profiler",
                        .text = profiler.AsString().value_or("")});
  }
  return findings;
}

}  // namespace sonde::cli
