#include "record/dynamic_config.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/files.h"
#include "record/control_options.h"
#include "record/error.h"
#include "record/recorder.h"

namespace sonde::record {
namespace {

using Type = JsonValue::Type;

constexpr size_t kMaxFileBytes = 256 * 1024;

// The options of dynamic profiling, with the same defaults.
constexpr char kDefaultFile[] = R"({
    "activities": ["CPU", "NPU"],
    "prof_dir": "./",
    "analyse": false,
    "async_mode": false,
    "record_shapes": false,
    "profile_memory": false,
    "with_stack": false,
    "with_flops": false,
    "with_modules": false,
    "active": 1,
    "warmup": 0,
    "start_step": 0,
    "is_rank": false,
    "rank_list": [],
    "experimental_config": {
        "profiler_level": "Level0",
        "aic_metrics": "AiCoreNone",
        "l2_cache": false,
        "op_attr": false,
        "gc_detect_threshold": null,
        "data_simplification": true,
        "record_op_args": false,
        "export_type": ["text"],
        "mstx": false,
        "mstx_domain_include": [],
        "mstx_domain_exclude": [],
        "host_sys": [],
        "sys_io": false,
        "sys_interconnection": false
    }
}
)";

// Identity of one state of the file; all zero: no such file. Size and inode help where two changes
// fall into one tick of the file system's clock.
FileVersion VersionOf(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return {};
  return {int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec, info.st_size,
          info.st_ino};
}

Status ReadInteger(const JsonValue& file, const char* key, int64_t* value) {
  const JsonValue* found = file.Find(key);
  if (found == nullptr) return {};
  const bool whole = found->Is(Type::kNumber) && found->number > -1e9 && found->number < 1e9 &&
                     found->number == static_cast<double>(static_cast<int64_t>(found->number));
  if (!whole) return base::InvalidArgumentError(std::string(key) + " must be a whole number");
  *value = static_cast<int64_t>(found->number);
  return {};
}

}  // namespace

int DynamicConfig::Watch(const std::string& folder, const SessionConfig& defaults) {
  const std::lock_guard lock(mutex_);
  if (!path_.empty()) return Fail(EALREADY, "dynamic profiling watches %s already", path_.c_str());
  const std::string path = base::JoinPath(base::AbsolutePath(folder), "profiler_config.json");
  if (VersionOf(path) == FileVersion{}) {
    if (const Status made = base::MakeDirectories(folder); !made.ok()) return FailWith(made);
    if (const Status written = base::WriteFileAtomically(path, kDefaultFile); !written.ok()) {
      return FailWith(written);
    }
  }
  path_ = path;
  defaults_ = defaults;
  seen_ = VersionOf(path);
  return 0;
}

void DynamicConfig::Unwatch() {
  const std::lock_guard lock(mutex_);
  path_.clear();
  if (phase_ == Phase::kWaiting) phase_ = Phase::kIdle;
}

bool DynamicConfig::watching() {
  const std::lock_guard lock(mutex_);
  return !path_.empty();
}

void DynamicConfig::DropInChild() {
  path_.clear();
  phase_ = Phase::kIdle;
}

void DynamicConfig::Poll() {
  const std::lock_guard lock(mutex_);
  if (path_.empty()) return;
  const FileVersion version = VersionOf(path_);
  if (version == FileVersion{} || version == seen_) return;
  seen_ = version;
  const Result<std::string> text = base::ReadFile(path_, kMaxFileBytes);
  if (text.ok()) {
    TakeFile(*text);
  } else {
    PrintMessage("%s", std::string(text.status().message()).c_str());
  }
}

void DynamicConfig::TakeFile(const std::string& text) {
  Request request;
  bool listed = true;
  if (Status status = ReadRequest(text, &request, &listed); !status.ok()) {
    status.Annotate(path_);
    PrintMessage("%s", std::string(status.message()).c_str());
    return;
  }
  if (!listed) return;
  if (phase_ == Phase::kWarmup || phase_ == Phase::kActive) {
    PrintMessage("%s is not used: a profile is being taken", path_.c_str());
    return;
  }
  request_ = std::move(request);
  phase_ = Phase::kWaiting;
}

Status DynamicConfig::ReadRequest(const std::string& text, Request* request, bool* listed) const {
  SONDE_ASSIGN_OR_RETURN(const JsonValue file, ParseJson(text));
  request->config = defaults_;
  SONDE_RETURN_IF_ERROR(ApplyOptions(file, &request->config));
  request->config.options = WithDefaults(text, file, defaults_.options);
  if (const JsonValue* folder = file.Find("prof_dir"); folder != nullptr) {
    if (!folder->Is(Type::kString)) return base::InvalidArgumentError("prof_dir must be a text");
    request->config.directory = folder->text;
  }
  SONDE_RETURN_IF_ERROR(ReadInteger(file, "start_step", &request->start_step));
  SONDE_RETURN_IF_ERROR(ReadInteger(file, "warmup", &request->warmup));
  SONDE_RETURN_IF_ERROR(ReadInteger(file, "active", &request->active));
  if (request->start_step < -1) request->start_step = 0;
  if (request->warmup < 0) request->warmup = 0;
  if (request->active < 1) request->active = 1;
  const JsonValue* is_rank = file.Find("is_rank");
  if (is_rank != nullptr && is_rank->boolean) {
    SONDE_ASSIGN_OR_RETURN(*listed, RankIsListed(file.Find("rank_list")));
  }
  return {};
}

DynamicConfig::Act DynamicConfig::Decide(int64_t step, Request* request) {
  step_ = step;
  bool ended = false;
  if (phase_ == Phase::kActive || phase_ == Phase::kWarmup) {
    if (--steps_left_ > 0) return Act::kNothing;
    if (phase_ == Phase::kWarmup) {
      phase_ = Phase::kActive;
      steps_left_ = request_.active;
      *request = request_;
      return Act::kStart;
    }
    phase_ = Phase::kIdle;
    ended = true;
  }
  if (phase_ != Phase::kWaiting) return ended ? Act::kStop : Act::kNothing;
  *request = request_;
  if (request_.start_step != -1 && request_.start_step > step) return Act::kNothing;
  if (request_.start_step != -1 && request_.start_step < step) {
    phase_ = Phase::kIdle;
    return Act::kLate;
  }
  phase_ = request_.warmup > 0 ? Phase::kWarmup : Phase::kActive;
  steps_left_ = request_.warmup > 0 ? request_.warmup : request_.active;
  return request_.warmup > 0 ? Act::kPrepare : Act::kStart;
}

void DynamicConfig::OnStep(int64_t number) {
  Request request;
  Act act;
  int64_t step;
  {
    const std::lock_guard lock(mutex_);
    step = number < 0 ? step_ + 1 : number;
    act = Decide(step, &request);
  }
  Do(act, step, request);
  recorder_->Step(step);
}

void DynamicConfig::Do(Act act, int64_t step, const Request& request) {
  const auto number = static_cast<long long>(step);
  int result = 0;
  std::string path;
  switch (act) {
    case Act::kNothing:
      return;
    case Act::kLate:
      PrintMessage(
          "Dynamic Profiler config is not effective. The start_step=%lld, current_step=%lld",
          static_cast<long long>(request.start_step), number);
      return;
    case Act::kPrepare:
      result = recorder_->Prepare(&request.config);
      break;
    case Act::kStart:
      result = recorder_->Start(&request.config);
      if (result == 0) PrintMessage("Start Dynamic Profiler at %lld step.", number);
      break;
    case Act::kStop:
      recorder_->Step(-1);
      result = recorder_->Stop(&path);
      PrintMessage("Stop Dynamic Profiler at %lld step. %s", number, path.c_str());
      break;
  }
  if (result == 0) return;
  PrintMessage("dynamic profiling: %s", LastError());
  const std::lock_guard lock(mutex_);
  phase_ = Phase::kIdle;
}

}  // namespace sonde::record
