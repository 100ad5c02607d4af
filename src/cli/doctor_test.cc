#include "cli/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/strings.h"
#include "base/test_folder.h"

namespace sonde::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kHealthy = R"({
  "schema": 1,
  "python": {"version": "3.11.2", "executable": "/usr/bin/python3", "implementation": "CPython"},
  "start_up_hook": {"found": true, "detail": null},
  "torch": {"version": "2.15.0", "path": "/t", "cuda": null, "supported": true, "error": null},
  "packages": {"numpy": "2.1", "torch_npu": null},
  "accelerators": [],
  "recorder": {"path": "/h/lib/libsonde_record.so", "version": "0.1.0", "error": null},
  "adapter": {"path": "/h/lib/libsonde_torch.so",
              "checks": [{"name": "operators", "ok": true, "detail": "12 seen"}]},
  "profilers": []})";

std::vector<Finding> Explain(std::string_view json) {
  const base::JsonDocument document = *base::JsonDocument::Parse(json, "test");
  return ExplainPython(document.root());
}

std::vector<Finding> ExplainWith(std::string_view from, std::string_view to) {
  const std::string json = base::ReplaceAll(kHealthy, from, to);
  EXPECT_NE(json, kHealthy) << from;
  return Explain(json);
}

Grade Worst(const std::vector<Finding>& findings) {
  Grade worst = Grade::kOk;
  for (const Finding& finding : findings) worst = std::max(worst, finding.grade);
  return worst;
}

TEST(Doctor, HealthyPythonHasNoComplaint) {
  const std::vector<Finding> findings = Explain(kHealthy);
  EXPECT_EQ(Worst(findings), Grade::kOk);
  const std::string screen = RenderDoctor("title", findings);
  EXPECT_THAT(screen, HasSubstr("ok   PyTorch         2.15.0, /t\n"));
  EXPECT_THAT(screen, HasSubstr("Self-test       1 of 1 passed"));
  EXPECT_THAT(screen, HasSubstr("Not recorded:  nothing that Sonde knows of"));
  EXPECT_THAT(screen, Not(HasSubstr("remedy")));
}

TEST(Doctor, ATorchNpuWithoutCannIsNamed) {
  const auto findings = ExplainWith(
      R"("packages")", R"("torch_npu_error": "ImportError: libhccl.so: no such file", "packages")");
  const std::string screen = RenderDoctor("title", findings);
  EXPECT_THAT(screen, HasSubstr("libhccl.so"));
  EXPECT_THAT(screen, HasSubstr("sonde run --provide"));
  EXPECT_LT(Worst(findings), Grade::kFailure);
}

constexpr std::string_view kMindspore = R"("mindspore": {"version": "2.10.0", "path": "/m",
  "supported": true, "error": null}, "mindspore_adapter": {"path": "/h/lib/libsonde_mindspore.so",
  "checks": [{"name": "memory", "ok": true, "detail": "8 entries"}]}, "profilers")";

TEST(Doctor, MindsporeAloneIsEnough) {
  std::string json = base::ReplaceAll(kHealthy, R"("profilers")", kMindspore);
  const size_t torch = json.find(R"({"version": "2.15.0")");
  json.replace(torch, json.find('}', torch) + 1 - torch, "null");
  const std::string screen = RenderDoctor("title", Explain(json));
  EXPECT_LE(Worst(Explain(json)), Grade::kNote) << screen;
  EXPECT_THAT(screen, HasSubstr("ok   MindSpore       2.10.0, /m\n"));
  EXPECT_THAT(screen, HasSubstr("Self-test       1 of 1 passed"));
  const std::string newer = base::ReplaceAll(json, R"("supported": true)", R"("supported": false)");
  EXPECT_EQ(Worst(Explain(newer)), Grade::kNote);
  const std::string broken = base::ReplaceAll(json, R"("error": null}, "mindspore_adapter")",
                                              R"("error": "no libgomp"}, "mindspore_adapter")");
  EXPECT_EQ(Worst(Explain(broken)), Grade::kFailure);
}

TEST(Doctor, NamesOfHostsThatAreNotThere) {
  const auto with = [](std::string_view missing) {
    return ExplainWith(
        R"("profilers")",
        base::Concat(R"("hosts": [{"package": "vllm", "version": "0.40.0", "seams": 17,)",
                     R"( "missing": {)", missing, R"(}}], "profilers")"));
  };
  EXPECT_EQ(Worst(with("")), Grade::kOk);
  EXPECT_THAT(RenderDoctor("title", with("")),
              HasSubstr("ok   Inside vllm     0.40.0: all 17 names that Sonde changes exist"));
  const std::vector<Finding> lacks =
      with(R"("engine steps": ["v1.Scheduler.schedule"], "requests over HTTP": null)");
  EXPECT_EQ(Worst(lacks), Grade::kGap);
  const std::string screen = RenderDoctor("title", lacks);
  for (const char* text : {"there is no v1.Scheduler.schedule", "a module is missing",
                           "engine steps", "requests over HTTP"}) {
    EXPECT_THAT(screen, HasSubstr(text));
  }
}

TEST(Doctor, WhatPreventsRecordingIsAFailureWithARemedy) {
  for (
      const auto& [from, to] : std::map<std::string, std::string>{
          {R"("torch": {"version": "2.15.0", "path": "/t", "cuda": null, "supported": true, "error": null})",
           R"("torch": null)"},
          {R"("supported": true)", R"("supported": false)"},
          {R"("supported": true, "error": null)", R"("supported": true, "error": "no libgomp")"},
          {R"("path": "/h/lib/libsonde_record.so")", R"("path": null)"},
          {R"("path": "/h/lib/libsonde_torch.so")", R"("path": null)"}}) {
    const std::vector<Finding> findings = ExplainWith(from, to);
    EXPECT_EQ(Worst(findings), Grade::kFailure) << to;
    for (const Finding& finding : findings) {
      EXPECT_TRUE(finding.grade != Grade::kFailure || !finding.remedy.empty()) << to;
    }
    EXPECT_THAT(RenderDoctor("", findings), HasSubstr("Nothing will be recorded until"));
  }
}

TEST(Doctor, GapsNameWhatIsLost) {
  const std::vector<Finding> check = ExplainWith(
      R"("ok": true, "detail": "12 seen")",
      R"("ok": false, "detail": "none seen", "loses": "input shapes", "remedy": "update Sonde")");
  EXPECT_EQ(Worst(check), Grade::kGap);
  const std::string screen = RenderDoctor("", check);
  EXPECT_THAT(screen, HasSubstr("GAP  Self-test       operators: none seen"));
  EXPECT_THAT(screen, HasSubstr("remedy: update Sonde"));
  EXPECT_THAT(screen, HasSubstr("Not recorded:  input shapes\n"));
  const std::vector<Finding> device = ExplainWith(
      R"("accelerators": [])", R"("accelerators": [{"kind": "cuda", "index": 1, "name": "Card"}])");
  EXPECT_THAT(RenderDoctor("", device), HasSubstr("cuda:1 Card"));
  EXPECT_EQ(Worst(ExplainWith(R"("found": true)", R"("found": false)")), Grade::kGap);
}

TEST(Doctor, AcceleratorsSayWhetherTheirTasksAreRecorded) {
  const auto with = [](std::string_view cuda, std::string_view kind) {
    const std::string json = base::ReplaceAll(kHealthy, R"("cuda": null)", cuda);
    return Explain(base::ReplaceAll(json, R"("accelerators": [])",
                                    base::Concat(R"("accelerators": [{"kind": ")", kind,
                                                 R"(", "index": 0, "name": "Card"}])")));
  };
  const std::vector<Finding> nvidia = with(R"("cuda": "13.0")", "cuda");
  EXPECT_EQ(Worst(nvidia), Grade::kOk);
  EXPECT_THAT(RenderDoctor("", nvidia), HasSubstr("cuda:0 Card: its tasks are recorded by CUPTI"));
  EXPECT_EQ(Worst(with(R"("cuda": null)", "cuda")), Grade::kGap);  // AMD's, under CUDA's name
  EXPECT_EQ(Worst(with(R"("cuda": null)", "npu")), Grade::kOk);
  EXPECT_EQ(Worst(with(R"("cuda": null)", "xpu")), Grade::kGap);
}

TEST(Doctor, AnyJsonIsExplainedWithoutACrash) {
  for (const auto* json :
       {"{}", "[]", "null", "3", R"({"torch": [], "python": 3, "packages": "x"})",
        R"({"adapter": {"checks": [1, null, "x", {}]}, "torch": {}})",
        R"({"accelerators": [null], "profilers": [1]})"}) {
    EXPECT_FALSE(RenderDoctor("", Explain(json)).empty());
  }
}

TEST(Doctor, LinesFitTheScreen) {
  std::vector<Finding> findings = Explain(kHealthy);
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word ";
  findings.push_back(
      {.grade = Grade::kGap, .subject = "Long", .text = words, .remedy = words, .loses = words});
  const std::string screen = RenderDoctor("title", findings);
  for (const std::string_view line : base::Split(screen, '\n'))
    EXPECT_LE(line.size(), 101U) << line;
}

TEST(Doctor, OtherProfilersAreFoundByTheirVariables) {
  const auto none = CheckOtherProfilers([](const char*) { return nullptr; });
  EXPECT_EQ(Worst(none), Grade::kOk);
  const auto off = CheckOtherProfilers([](const char*) { return "0"; });
  EXPECT_EQ(Worst(off), Grade::kOk);
  const auto one = CheckOtherProfilers([](const char* name) {
    return std::strcmp(name, "MSMONITOR_USE_DAEMON") == 0 ? "1" : nullptr;
  });
  ASSERT_EQ(one.size(), 1U);
  EXPECT_THAT(one[0].text, HasSubstr("MSMONITOR_USE_DAEMON=1"));
}

TEST(Doctor, SavePathIsTried) {
  const base::TestFolder folder;
  EXPECT_LE(CheckSavePath(folder.File("new")).grade, Grade::kNote);
  const Finding bad = CheckSavePath("/proc/none");
  EXPECT_EQ(bad.grade, Grade::kFailure);
  EXPECT_NE(bad.remedy, "");
}

TEST(Doctor, DevicesAreCountedByTheirFiles) {
  const base::TestFolder folder;
  for (const auto* name : {"nvidia0", "nvidia1", "nvidiactl", "davinci3", "null"}) {
    ASSERT_TRUE(base::WriteFileAtomically(folder.File(name), "").ok());
  }
  const auto findings = CheckDevices(folder.path());
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[0].text, HasSubstr("2 NVIDIA"));
  EXPECT_THAT(findings[1].text, HasSubstr("1 Ascend"));
  EXPECT_TRUE(CheckDevices(folder.File("none")).empty());
}

TEST(Doctor, TasksOfAnNpuNeedItsLibrary) {
  const base::TestFolder folder;
  const auto of = [&](const char* home) {
    return CheckDeviceTasks(folder.path(), [home](const char* name) {
      return std::string_view(name) == "ASCEND_HOME_PATH" ? home : nullptr;
    });
  };
  EXPECT_TRUE(of("/none").empty());
  ASSERT_TRUE(base::WriteFileAtomically(folder.File("davinci0"), "").ok());
  ASSERT_EQ(of("/none").size(), 1U);
  EXPECT_EQ(of("/none")[0].grade, Grade::kGap);
  EXPECT_THAT(of("/none")[0].remedy, HasSubstr("set_env.sh"));
  ASSERT_TRUE(base::MakeDirectories(folder.File("cann/lib64")).ok());
  ASSERT_TRUE(base::WriteFileAtomically(folder.File("cann/lib64/libmspti.so"), "").ok());
  EXPECT_EQ(of(folder.File("cann").c_str())[0].grade, Grade::kOk);
}

TEST(Doctor, ClockIsMeasured) {
  EXPECT_THAT(CheckClock().text, HasSubstr("ns a reading"));
  EXPECT_THAT(DescribeMachine(), HasSubstr("core"));
}

}  // namespace
}  // namespace sonde::cli
