#include "store/statement_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "store/duckdb_handles.h"
#include "store/made_tables.h"
#include "store/statement_process.h"
#include "store/statement_watch.h"
#include "store/statement_wire.h"
#include "store/user_statements.h"

namespace sonde::store {
namespace {

using internal::Frame;
using internal::FrameBytes;
using internal::FrameKind;
using internal::StatementPlan;

constexpr int kAskedStatements = 3;
constexpr int kAskTables = 4;

// Tables whose rows the program makes.
class RemoteTables final : public MadeTables {
 public:
  static Result<std::shared_ptr<RemoteTables>> Read(std::string_view bytes) {
    auto made = std::make_shared<RemoteTables>();
    base::ByteReader reader(bytes);
    const auto count = reader.Read<uint32_t>();
    for (uint32_t i = 0; i < count && reader.ok(); ++i) made->ReadTable(reader);
    if (!reader.ok()) return base::CorruptDataError("the list of tables is cut off");
    return made;
  }
  std::span<const ResultInfo> tables() const override { return tables_; }
  Status Fill(const ResultInfo& table, RowSink& rows) const override {
    const std::scoped_lock lock(mutex_);
    FrameBytes wanted;
    wanted.Put(static_cast<uint32_t>(&table - tables_.data()));
    SONDE_RETURN_IF_ERROR(internal::SendFrame(kAskTables, FrameKind::kWanted, wanted.view()));
    for (;;) {
      SONDE_ASSIGN_OR_RETURN(const Frame frame, internal::ReceiveFrame(kAskTables));
      if (frame.kind == FrameKind::kFilled) return internal::ReadStatus(frame.bytes);
      SONDE_RETURN_IF_ERROR(PutRows(frame.bytes, rows));
    }
  }

 private:
  void ReadTable(base::ByteReader& reader) {
    const std::string_view name = texts_.emplace_back(internal::ReadFrameText(reader));
    auto& columns = columns_.emplace_back();
    const auto count = reader.Read<uint32_t>();
    for (uint32_t i = 0; i < count && reader.ok(); ++i) {
      const std::string_view column = texts_.emplace_back(internal::ReadFrameText(reader));
      const auto type = static_cast<ResultType>(reader.Read<uint8_t>());
      columns.push_back({column, type, "", kLabel, ""});
    }
    tables_.push_back({name, "", columns});
  }
  static Status PutRows(std::string_view bytes, RowSink& rows) {
    base::ByteReader reader(bytes);
    while (reader.ok() && reader.remaining() > 0) {
      switch (reader.Read<char>()) {
        case 'i':
          rows.Int(reader.Read<int64_t>());
          break;
        case 'd':
          rows.Double(reader.Read<double>());
          break;
        case 't':
          rows.Text(internal::ReadFrameText(reader));
          break;
        case 'n':
          rows.Null();
          break;
        default:
          rows.EndRow();
      }
    }
    return reader.ok() ? Status() : base::CorruptDataError("the rows of a table are cut off");
  }

  std::deque<std::string> texts_;
  std::deque<std::vector<ResultColumnInfo>> columns_;
  std::vector<ResultInfo> tables_;
  mutable std::mutex mutex_;
};

Status SendStatus(const Status& status) {
  FrameBytes bytes;
  internal::PutStatus(bytes, status);
  return internal::SendFrame(kAskedStatements, FrameKind::kDone, bytes.view());
}

// The hard end of what a statement may take, where the program's looks come too late. The database
// reports memory that it does not get.
void LimitMemory(const internal::StatementPlan& plan) {
  constexpr int64_t kForThreads = int64_t{256} << 20;
  const auto text = base::ReadFile("/proc/self/statm");
  if (!text.ok()) return;
  constexpr size_t kData = 5;  // private memory that can be written, in pages
  const auto pages = base::Split(base::Trim(*text), ' ');
  const auto held = pages.size() > kData ? base::ParseInt64(pages[kData]) : std::nullopt;
  if (!held) return;
  const auto most = static_cast<rlim_t>(*held * ::sysconf(_SC_PAGESIZE) + kForThreads +
                                        internal::MemorySlack(plan.limits));
  rlimit limit = {};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0 || most >= limit.rlim_cur) return;
  limit.rlim_cur = most;
  ::setrlimit(RLIMIT_DATA, &limit);
}

class StatementServer {
 public:
  Status Open(std::string_view bytes) {
    std::string spill;
    SONDE_ASSIGN_OR_RETURN(const StatementPlan plan, internal::ReadPlan(bytes, spill));
    auto folder = spill.empty() ? nullptr : std::make_unique<base::PrivateFolder>(spill);
    if (plan.view == StatementPlan::View::kUser) {
      SONDE_ASSIGN_OR_RETURN(
          database_, internal::OpenForUser(plan.files, plan.threads, plan.limits.memory_bytes,
                                           std::move(folder)));
    } else {
      const auto columns = plan.view == StatementPlan::View::kOwn ? JointStore::Columns::kOwn
                                                                  : JointStore::Columns::kLeading;
      const JointOptions options{
          .threads = plan.threads, .limits = plan.limits, .reads_files = plan.reads_files};
      SONDE_ASSIGN_OR_RETURN(database_,
                             internal::OpenJoint(plan.files, columns, options, std::move(folder)));
    }
    LimitMemory(plan);
    return {};
  }
  Status Offer(std::string_view bytes) {
    SONDE_ASSIGN_OR_RETURN(auto made, RemoteTables::Read(bytes));
    return internal::OfferTables(*database_, std::move(made));
  }
  Status Run(std::string_view bytes) const {
    base::ByteReader reader(bytes);
    const auto asker = static_cast<internal::Asker>(reader.Read<uint8_t>());
    const std::string sql = internal::ReadFrameText(reader);
    const std::string parquet = internal::ReadFrameText(reader);
    if (!parquet.empty()) return internal::WriteParquetTo(*database_, sql, parquet, nullptr);
    return internal::RunStatement(*database_, sql, asker, SendColumns, SendPieces, nullptr);
  }

 private:
  static Status SendColumns(const std::vector<QueryColumn>& columns) {
    FrameBytes sent;
    internal::PutColumns(sent, columns);
    return internal::SendFrame(kAskedStatements, FrameKind::kColumns, sent.view());
  }
  static Status SendPieces(const Chunk& chunk) {
    for (size_t row = 0; row < chunk.rows();) {
      FrameBytes sent;
      SONDE_ASSIGN_OR_RETURN(row, internal::PutPiece(sent, chunk, row));
      SONDE_RETURN_IF_ERROR(internal::SendFrame(kAskedStatements, FrameKind::kPiece, sent.view()));
      SONDE_ASSIGN_OR_RETURN(const Frame answer, internal::ReceiveFrame(kAskedStatements));
      if (answer.kind != FrameKind::kMore) return base::CancelledError("enough");
    }
    return {};
  }

  std::unique_ptr<internal::Database> database_;
};

// Whatever this process does, it ends with the one that asks.
void EndWithTheProgram() {
  std::thread([] {
    pollfd entry = {.fd = kAskedStatements, .events = POLLRDHUP, .revents = 0};
    while ((entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0) ::poll(&entry, 1, -1);
    ::_exit(0);
  }).detach();
}

void BecomeAWorker() {
  std::signal(SIGINT, SIG_IGN);  // of the terminal: the program decides
  std::signal(SIGPIPE, SIG_IGN);
  ::syscall(SYS_close_range, kAskTables + 1, ~0U, 0);
  const rlimit no_dump = {};
  ::setrlimit(RLIMIT_CORE, &no_dump);
  constexpr rlim_t kStack = rlim_t{8} << 20;
  rlimit stack = {};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0) {
    stack.rlim_cur = std::min(stack.rlim_max, kStack);
    ::setrlimit(RLIMIT_STACK, &stack);
  }
  // Where the machine is out of memory, the kernel takes this process and no other.
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, "800", 3);  // else as others
  ::close(file);
}

}  // namespace

int ServeStatements() {
  BecomeAWorker();
  EndWithTheProgram();
  StatementServer server;
  for (;;) {
    const Result<Frame> frame = internal::ReceiveFrame(kAskedStatements);
    if (!frame.ok()) return 0;
    Status answered;
    switch (frame->kind) {
      case FrameKind::kOpen:
        answered = SendStatus(server.Open(frame->bytes));
        break;
      case FrameKind::kOffer:
        answered = server.Offer(frame->bytes);
        break;
      case FrameKind::kRun:
        answered = internal::SendFrame(kAskedStatements, FrameKind::kTaken, "");
        if (answered.ok()) answered = SendStatus(server.Run(frame->bytes));
        break;
      default:  // an answer to a piece of a result that is no more
        break;
    }
    if (!answered.ok()) return 1;
  }
}

}  // namespace sonde::store
