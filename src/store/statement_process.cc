#include "store/statement_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "store/made_tables.h"
#include "store/statement_server.h"
#include "store/statement_watch.h"
#include "store/statement_wire.h"

extern char** environ;

namespace sonde::store::internal {
namespace {

using base::Concat;
using StatementClock = std::chrono::steady_clock;

constexpr int kLookEveryMs = 10;
// A process that holds more is ended after its statement: what allocators keep goes back.
constexpr int64_t kMostIdleBytes = int64_t{256} << 20;
// How long a process may take to end a result that nobody wants any more.
constexpr int kStopMs = 200;

// Two connected sockets; the second one is for the process.
struct SocketPair {
  std::array<int, 2> ends = {-1, -1};
  SocketPair() = default;
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  ~SocketPair() {
    for (const int end : ends) {
      if (end >= 0) ::close(end);
    }
  }
  // Descriptors above those that the process gets, which would otherwise overwrite each other.
  Status Make() {
    constexpr int kAboveOthers = 16;
    std::array<int, 2> low = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, low.data()) != 0) {
      return base::ErrnoStatus(errno, "make", "a socket for statements");
    }
    for (size_t i = 0; i < ends.size(); ++i) {
      ends[i] = ::fcntl(low[i], F_DUPFD_CLOEXEC, kAboveOthers);
      ::close(low[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0) return {};
    return base::ErrnoStatus(errno, "copy", "a socket for statements");
  }
  int TakeFirst() { return std::exchange(ends[0], -1); }
};

// Rows of a table that this process makes, on their way to the one that asks.
class SentRows final : public RowSink {
 public:
  SentRows(int socket, const Cancellation* cancellation)
      : socket_(socket), cancellation_(cancellation) {}
  void Int(int64_t value) override {
    bytes_.Put('i');
    bytes_.Put(value);
  }
  void Double(double value) override {
    bytes_.Put('d');
    bytes_.Put(value);
  }
  void Text(std::string_view value) override {
    bytes_.Put('t');
    bytes_.Text(value);
  }
  void Null() override { bytes_.Put('n'); }
  void EndRow() override {
    constexpr size_t kFull = size_t{256} << 10U;
    bytes_.Put('e');
    if (bytes_.size() >= kFull) Flush().IgnoreError();  // kept, and returned by the last one
  }
  bool wants_more() const override {
    return status_.ok() && (cancellation_ == nullptr || !cancellation_->cancelled());
  }
  Status Flush() {
    if (status_.ok() && bytes_.size() > 0) {
      status_ = SendFrame(socket_, FrameKind::kRows, bytes_.view());
    }
    bytes_.Clear();
    return status_;
  }

 private:
  int socket_;
  const Cancellation* cancellation_;
  FrameBytes bytes_;
  Status status_;
};

std::string OfferBytes(const MadeTables& made) {
  FrameBytes bytes;
  bytes.Put(static_cast<uint32_t>(made.tables().size()));
  for (const ResultInfo& table : made.tables()) {
    bytes.Text(table.name);
    bytes.Put(static_cast<uint32_t>(table.columns.size()));
    for (const ResultColumnInfo& column : table.columns) {
      bytes.Text(column.name);
      bytes.Put(column.type);
    }
  }
  return std::string(bytes.view());
}

bool IsReadable(const pollfd& entry) { return (entry.revents & (POLLIN | POLLHUP)) != 0; }

Status CrashOf(int wait_status, bool held_much) {
  if (held_much || (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL)) {
    return ExceedsMemory("");
  }
  const std::string how = WIFSIGNALED(wait_status)
                              ? Concat("signal ", std::to_string(WTERMSIG(wait_status)), ", ",
                                       ::strsignal(WTERMSIG(wait_status)))
                              : Concat("exit status ", std::to_string(WEXITSTATUS(wait_status)));
  return base::InternalError(
      Concat("the statement crashed the database (", how,
             "), which ran by itself: nothing else was harmed. Deeply nested texts and "
             "expressions do so: take a part of them"));
}

}  // namespace

struct StatementProcesses::Request {
  std::string sql;
  Asker asker = Asker::kUser;
  std::string parquet;  // path of the file to write; empty: rows
  const std::function<Status(const std::vector<QueryColumn>&)>* begin = nullptr;
  const std::function<Status(const Chunk&)>* consume = nullptr;
  Cancellation* cancellation = nullptr;

  std::string Bytes() const {
    FrameBytes bytes;
    bytes.Put(asker);
    bytes.Text(sql);
    bytes.Text(parquet);
    return std::string(bytes.view());
  }
};

// One process and what it is asked. One thread at a time.
class StatementProcesses::Worker {
 public:
  Worker(pid_t pid, int statements, int tables)
      : pid_(pid), statements_(statements), tables_(tables) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    End();
    ::close(statements_);
    ::close(tables_);
  }

  std::unique_ptr<base::PrivateFolder> spill;  // of its temporary files
  bool was_offered = false;

  // Ends it, if it has not ended; its wait status.
  int End() {
    if (pid_ <= 0) return status_;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status_;
  }
  // Of one that ended by itself.
  int Ended() {
    while (pid_ > 0 && ::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status_;
  }
  int64_t held_bytes() const { return pid_ > 0 ? HeldBytes(pid_) : 0; }

  Status OpenStores(const std::string& plan) {
    SONDE_RETURN_IF_ERROR(SendFrame(statements_, FrameKind::kOpen, plan));
    Result<Frame> answer = ReceiveFrame(statements_);
    if (answer.ok()) return ReadStatus(answer->bytes);
    return CrashOf(Ended(), false);
  }
  // False where it has ended before the statement arrived.
  bool Send(const Request& request, const MadeTables* made) {
    if (made != nullptr && !was_offered) {
      if (!SendFrame(statements_, FrameKind::kOffer, OfferBytes(*made)).ok()) return false;
      was_offered = true;
    }
    if (!SendFrame(statements_, FrameKind::kRun, request.Bytes()).ok()) return false;
    const Result<Frame> taken = ReceiveFrame(statements_);
    return taken.ok() && taken->kind == FrameKind::kTaken;
  }

  // Until its outcome is known. `is_well`: it can run another one.
  Status Follow(const Request& request, const MadeTables* made, const StatementLimits& limits,
                bool& is_well);

 private:
  // What ends a statement from outside; ok: nothing does.
  Status Excess(const Request& request, const StatementLimits& limits) const {
    if (request.cancellation != nullptr && request.cancellation->cancelled()) {
      return base::CancelledError("the statement was cancelled");
    }
    const auto time = StatementClock::now() - begun_;
    if (limits.max_seconds > 0 && time >= std::chrono::seconds(limits.max_seconds)) {
      return TookTooLong(limits);
    }
    return held_bytes() > most_bytes_ ? ExceedsMemory("") : Status();
  }
  Status Fill(const MadeTables* made, Cancellation* cancellation) const;
  // True where a frame of the statement came; the outcome where one ends it.
  Result<bool> Wait(const Request& request, const MadeTables* made, const StatementLimits& limits,
                    int timeout_ms);
  bool Stop();

  pid_t pid_;
  int status_ = 0;
  const int statements_;
  const int tables_;
  int64_t most_bytes_ = 0;
  int64_t seen_bytes_ = 0;
  StatementClock::time_point begun_;
};

Status StatementProcesses::Worker::Fill(const MadeTables* made, Cancellation* cancellation) const {
  SONDE_ASSIGN_OR_RETURN(const Frame wanted, ReceiveFrame(tables_));
  const auto index = base::ByteReader(wanted.bytes).Read<uint32_t>();
  Status filled = base::InternalError("there is no such table");
  if (made != nullptr && index < made->tables().size()) {
    SentRows rows(tables_, cancellation);
    filled = made->Fill(made->tables()[index], rows);
    if (filled.ok()) filled = rows.Flush();
  }
  FrameBytes bytes;
  PutStatus(bytes, filled);
  return SendFrame(tables_, FrameKind::kFilled, bytes.view());
}

Result<bool> StatementProcesses::Worker::Wait(const Request& request, const MadeTables* made,
                                              const StatementLimits& limits, int timeout_ms) {
  std::array<pollfd, 2> entries = {{{.fd = statements_, .events = POLLIN, .revents = 0},
                                    {.fd = tables_, .events = POLLIN, .revents = 0}}};
  const int ready = ::poll(entries.data(), entries.size(), timeout_ms);
  SONDE_RETURN_IF_ERROR(Excess(request, limits));
  seen_bytes_ = held_bytes();
  if (ready <= 0) return false;
  // A process that ended closes both: the statement's own socket says how.
  if (IsReadable(entries[1]) && !IsReadable(entries[0])) {
    Fill(made, request.cancellation).IgnoreError();  // it is gone, as the other socket will show
    return false;
  }
  return IsReadable(entries[0]);
}

// Nobody wants the rest of a result.
bool StatementProcesses::Worker::Stop() {
  if (!SendFrame(statements_, FrameKind::kStop, "").ok()) return false;
  pollfd entry = {.fd = statements_, .events = POLLIN, .revents = 0};
  if (::poll(&entry, 1, kStopMs) <= 0) return false;
  const Result<Frame> done = ReceiveFrame(statements_);
  return done.ok() && done->kind == FrameKind::kDone;
}

Status StatementProcesses::Worker::Follow(const Request& request, const MadeTables* made,
                                          const StatementLimits& limits, bool& is_well) {
  is_well = false;
  begun_ = StatementClock::now();
  most_bytes_ = MostHeld(limits, held_bytes());
  for (;;) {
    SONDE_ASSIGN_OR_RETURN(const bool has_frame, Wait(request, made, limits, kLookEveryMs));
    if (!has_frame) continue;
    const Result<Frame> frame = ReceiveFrame(statements_);
    if (!frame.ok()) return CrashOf(Ended(), seen_bytes_ > most_bytes_ / 10 * 9);
    if (frame->kind == FrameKind::kDone) {
      is_well = true;
      return ReadStatus(frame->bytes);
    }
    if (frame->kind == FrameKind::kColumns) {
      SONDE_ASSIGN_OR_RETURN(const auto columns, ReadColumns(frame->bytes));
      SONDE_RETURN_IF_ERROR((*request.begin)(columns));
      continue;
    }
    Status consumed = ReadPiece(frame->bytes, *request.consume);
    if (!consumed.ok()) {
      is_well = Stop();
      return consumed;
    }
    if (!SendFrame(statements_, FrameKind::kMore, "").ok()) return CrashOf(Ended(), false);
  }
}

StatementProcesses::StatementProcesses(StatementPlan plan) : plan_(std::move(plan)) {}
StatementProcesses::~StatementProcesses() = default;

Result<std::unique_ptr<StatementProcesses>> StatementProcesses::Open(StatementPlan plan) {
  std::unique_ptr<StatementProcesses> processes(new StatementProcesses(std::move(plan)));
  auto folder = base::PrivateFolder::Make("statements");
  if (folder.ok()) processes->folder_ = *std::move(folder);  // else without temporary files
  SONDE_ASSIGN_OR_RETURN(processes->idle_, processes->Start());
  return processes;
}

Status StatementProcesses::Offer(std::shared_ptr<const MadeTables> made) {
  made_ = std::move(made);
  return {};
}

Result<std::unique_ptr<StatementProcesses::Worker>> StatementProcesses::Start() const {
  SocketPair statements;
  SocketPair tables;
  SONDE_RETURN_IF_ERROR(statements.Make());
  SONDE_RETURN_IF_ERROR(tables.Make());
  constexpr int kStatementsSocket = 3;
  constexpr int kTablesSocket = 4;
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, statements.ends[1], kStatementsSocket);
  ::posix_spawn_file_actions_adddup2(&files, tables.ends[1], kTablesSocket);
  const std::string program = plan_.limits.program;
  std::string name = "sonde";
  std::string argument = kStatementsArgument;
  const std::array<char*, 3> arguments = {name.data(), argument.data(), nullptr};
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) return base::ErrnoStatus(error, "start", "a process for statements");
  auto worker = std::make_unique<Worker>(pid, statements.TakeFirst(), tables.TakeFirst());
  std::string spill;
  if (auto folder = base::PrivateFolder::Make("statement"); folder.ok()) {
    worker->spill = *std::move(folder);
    spill = worker->spill->path();
  }
  ::close(std::exchange(statements.ends[1], -1));  // so that its end is seen
  ::close(std::exchange(tables.ends[1], -1));
  SONDE_RETURN_IF_ERROR(worker->OpenStores(PlanBytes(plan_, spill)));
  return worker;
}

void StatementProcesses::GiveBack(std::unique_ptr<Worker> worker) const {
  if (worker->held_bytes() > kMostIdleBytes) return;
  const std::scoped_lock lock(mutex_);
  if (idle_ == nullptr) idle_ = std::move(worker);
}

Status StatementProcesses::Ask(const Request& request) const {
  std::unique_ptr<Worker> worker;
  {
    const std::scoped_lock lock(mutex_);
    worker = std::move(idle_);
  }
  if (request.cancellation != nullptr && request.cancellation->cancelled()) {
    return base::CancelledError("the statement was cancelled");
  }
  // One that waited may have ended meanwhile.
  if (worker == nullptr || !worker->Send(request, made_.get())) {
    SONDE_ASSIGN_OR_RETURN(worker, Start());
    if (!worker->Send(request, made_.get())) return CrashOf(worker->End(), false);
  }
  bool is_well = false;
  Status status = worker->Follow(request, made_.get(), plan_.limits, is_well);
  if (is_well) GiveBack(std::move(worker));
  if (status.code() != base::StatusCode::kResourceExhausted || !is_well) return status;
  return ExceedsMemory(status.message());
}

Status StatementProcesses::Run(const std::string& sql, Asker asker,
                               const std::function<Status(const std::vector<QueryColumn>&)>& begin,
                               const std::function<Status(const Chunk&)>& consume,
                               Cancellation* cancellation) const {
  Request request;
  request.sql = sql;
  request.asker = asker;
  request.begin = &begin;
  request.consume = &consume;
  request.cancellation = cancellation;
  return Ask(request);
}

Status StatementProcesses::WriteParquet(const std::string& sql, const std::string& path,
                                        Cancellation* cancellation) const {
  Request request;
  request.sql = sql;
  request.parquet = path;
  request.cancellation = cancellation;
  return Ask(request);
}

Result<std::string> StatementProcesses::TemporaryFile(const std::string& extension) const {
  static std::atomic<int> next = 0;
  if (folder_ == nullptr) return base::UnavailableError("there is no folder for temporary files");
  return Concat(folder_->path(), "/file-", std::to_string(next++), extension);
}

}  // namespace sonde::store::internal
