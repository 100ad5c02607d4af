#include "serve/live.h"

#include <algorithm>
#include <chrono>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "serve/http_client.h"

namespace sonde::serve {
namespace {

using base::Concat;
using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(500);
constexpr auto kGrow = std::chrono::seconds(2);
constexpr int kAskSeconds = 2;
constexpr int kStopSeconds = 120;  // until the capture is complete on disk

// A program's own description of itself, or its error message.
Result<base::JsonDocument> Reply(const HttpReply& reply) {
  SONDE_ASSIGN_OR_RETURN(auto document, base::JsonDocument::Parse(reply.body, "the answer"));
  if (reply.status == 200) return document;
  return base::FailedPreconditionError(
      document.root()
          .GetString("error", Concat("status ", std::to_string(reply.status)))
          .value_or("no reason"));
}

}  // namespace

Live::Live(Session& session, std::vector<std::string> addresses, std::string run_list)
    : session_(session), run_list_(std::move(run_list)) {
  for (std::string& address : addresses) AddProgram(std::move(address));
  session_.SetLive(this);
  watcher_ = std::jthread([this] { Watch(); });
}

void Live::AddProgram(std::string address) {
  LiveMessage& program = programs_.emplace_back();
  program.address = std::move(address);
  program.state = "gone";
  program.rank = -1;
}

// Lines "control TAB process id TAB address"; one that is cut off comes again whole.
void Live::ReadRunList() {
  if (run_list_.empty()) return;
  const auto text = base::ReadFile(run_list_);
  if (!text.ok()) return;  // it is gone when the run has ended
  const std::scoped_lock lock(mutex_);
  for (const std::string_view line : base::Split(*text, '\n')) {
    const auto fields = base::Split(line, '\t');
    if (fields.size() != 3 || fields[0] != "control") continue;
    const bool is_known = std::any_of(programs_.begin(), programs_.end(), [&](const auto& known) {
      return known.address == fields[2];
    });
    if (!is_known && line.data() + line.size() < text->data() + text->size()) {
      AddProgram(std::string(fields[2]));
    }
  }
}

Live::~Live() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  wake_.notify_all();
}

std::vector<LiveMessage> Live::Describe() const {
  const std::scoped_lock lock(mutex_);
  return programs_;
}

Status Live::ToAll(const std::string& path, const std::string& body, int seconds) {
  Status failure;
  bool done = false;
  for (const LiveMessage& program : Describe()) {
    const auto reply = AskServer(program.address, "POST", path, body, seconds);
    const auto answer = reply.ok() ? Reply(*reply) : reply.status();
    if (answer.ok()) {
      done = true;
    } else if (failure.ok()) {
      failure = answer.status();
    }
  }
  for (size_t i = 0; i < Describe().size(); ++i) Look(i);
  return done ? Status() : failure;
}

Status Live::Start(const std::string& options) {
  return ToAll("/start_profile", options, kAskSeconds * 5);
}

Status Live::Stop() {
  const auto before = Describe();
  Status status = ToAll("/stop_profile", "", kStopSeconds);
  const std::scoped_lock showing(showing_);
  for (const LiveMessage& program : before) {
    if (program.state != "recording" || program.path.empty()) continue;
    // It stays as it was last seen where that fails; the page then shows that.
    Status shown = session_.ShowRecording(program.path, /*ended=*/true);
    if (status.ok() && !shown.ok()) return shown;
  }
  return status;
}

void Live::Look(size_t index) {
  LiveMessage program = Describe()[index];
  const auto reply = AskServer(program.address, "GET", "/status", "", kAskSeconds);
  const auto answer = reply.ok() ? Reply(*reply) : reply.status();
  if (answer.ok()) {
    const base::JsonValue root = answer->root();
    program.state = root.GetString("state", "").value_or("") == "recording" ? "recording" : "idle";
    program.message.clear();
    program.pid = root.GetInt("pid", 0).value_or(0);
    program.rank = static_cast<int32_t>(root.GetInt("rank", -1).value_or(-1));
    program.records = root.GetInt("records", 0).value_or(0);
    program.bytes = root.GetInt("bytes", 0).value_or(0);
    program.dropped = root.GetInt("dropped", 0).value_or(0);
    program.path = root.GetString("path", "").value_or("");
  } else {
    program.state = "gone";
    program.message = answer.status().message();
  }
  const std::scoped_lock lock(mutex_);
  programs_[index] = std::move(program);
}

void Live::Watch() {
  auto next = Clock::now();
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, kLook, [this] { return stopped_; })) return;
    }
    ReadRunList();
    std::vector<LiveMessage> before = Describe();
    for (size_t i = 0; i < before.size(); ++i) Look(i);
    const auto started = Clock::now();
    const std::scoped_lock showing(showing_);
    const std::vector<LiveMessage> now = Describe();
    for (size_t i = 0; i < before.size(); ++i) {
      const bool ended = before[i].state == "recording" && now[i].state != "recording";
      if (ended) {
        // The program ended or was stopped by somebody else: its capture is whole now.
        session_.ShowRecording(before[i].path, true).IgnoreError();
      } else if (now[i].state == "recording" && now[i].records > 0 && started >= next) {
        session_.ShowRecording(now[i].path, false).IgnoreError();
      }
    }
    if (started >= next)
      next = Clock::now() + std::max<Clock::duration>(kGrow, (Clock::now() - started) * 4);
  }
}

}  // namespace sonde::serve
