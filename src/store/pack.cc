#include "store/pack.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <type_traits>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "base/temporaries.h"
#include "store/duckdb_handles.h"
#include "store/open_database.h"
#include "store/schema.h"
#include "store/sql_text.h"
#include "store/table_writer.h"

namespace sonde::store {
namespace {

using base::Concat;
using internal::ChunkAppender;

// Written rows need not stay in memory.
constexpr int64_t kFillingBytes = int64_t{52} << 20U;

// Kept for export without changes, which needs a store.
template <class Row>
constexpr bool kIsLeftOut =
    std::is_same_v<Row, SourceTableRow> || std::is_same_v<Row, SourceTextRow>;

Status MakeTables(internal::Connection& connection) {
  for (const std::string& statement : CreateStatements(Of::kSeveral)) {
    SONDE_RETURN_IF_ERROR(connection.Execute(statement));
  }
  return connection.Execute(
      "CREATE TABLE pack_failure_ (place INTEGER, code INTEGER, message VARCHAR)");
}

Status MakeInfo(internal::Connection& connection, int64_t source_stamp) {
  return connection.Execute(Concat("CREATE TABLE pack_info_ AS SELECT ",
                                   std::to_string(kSchemaVersion), " AS schema_version, ",
                                   std::to_string(source_stamp), "::BIGINT AS source_stamp"));
}

}  // namespace

PackWriter::~PackWriter() {
  appenders_.clear();
  connection_.reset();
  database_.reset();
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}

Result<std::unique_ptr<PackWriter>> PackWriter::Attach(const std::string& path) {
  base::RemoveLeftovers(std::string(base::DirName(path)));
  std::unique_ptr<PackWriter> pack(new PackWriter());
  pack->path_ = path;
  pack->temporary_path_ = base::TemporaryNextTo(path);
  const StoreOptions options{.threads = 1, .filling_memory_bytes = kFillingBytes};
  SONDE_ASSIGN_OR_RETURN(pack->database_,
                         internal::OpenDatabase(":memory:", internal::Use::kFilling, options));
  SONDE_ASSIGN_OR_RETURN(pack->connection_, internal::Connect(*pack->database_));
  SONDE_ASSIGN_OR_RETURN(pack->database_->written,
                         internal::DatabasePath::For(pack->temporary_path_));
  SONDE_RETURN_IF_ERROR(pack->connection_->Execute(
      Concat("ATTACH ", SqlText(pack->database_->written.name()), " AS store (BLOCK_SIZE 16384, ",
             "STORAGE_VERSION 'v1.2.0', RECOVERY_MODE no_wal_writes); USE store; BEGIN")));
  return pack;
}

Result<std::unique_ptr<PackWriter>> PackWriter::Create(const std::string& path,
                                                       int64_t source_stamp) {
  SONDE_ASSIGN_OR_RETURN(auto pack, Attach(path));
  SONDE_RETURN_IF_ERROR(MakeTables(*pack->connection_).Annotate("while making a pack"));
  SONDE_RETURN_IF_ERROR(MakeInfo(*pack->connection_, source_stamp));
  return pack;
}

Result<std::unique_ptr<PackWriter>> PackWriter::CreateForResults(const std::string& path,
                                                                 int64_t source_stamp) {
  SONDE_ASSIGN_OR_RETURN(auto pack, Attach(path));
  SONDE_RETURN_IF_ERROR(MakeInfo(*pack->connection_, source_stamp));
  return pack;
}

Result<std::unique_ptr<ResultAppender>> PackWriter::BeginResult(
    const ResultInfo& result, const std::string& table, std::span<const ResultColumnInfo> leading) {
  SONDE_RETURN_IF_ERROR(connection_->Execute(CreateResultSql(result, table, leading)));
  std::vector<ResultColumnInfo> columns(leading.begin(), leading.end());
  columns.insert(columns.end(), result.columns.begin(), result.columns.end());
  return ResultAppender::Open(*connection_, table, std::move(columns));
}

Result<ChunkAppender*> PackWriter::AppenderOf(const char* table, size_t columns, bool packed) {
  std::unique_ptr<ChunkAppender>& appender = appenders_[table];
  if (appender == nullptr) {
    SONDE_ASSIGN_OR_RETURN(appender, ChunkAppender::Open(*connection_, table, columns, packed));
  }
  return appender.get();
}

template <class Row>
Status PackWriter::AddTable(int32_t place, const RowTables& tables) {
  using Traits = RowTraits<Row>;
  static_assert(Traits::kColumns < ChunkAppender::kMaxColumns);
  const auto rows = tables.Rows<Row>();
  if (kIsLeftOut<Row> || rows.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(ChunkAppender* const appender,
                         AppenderOf(Traits::kStored, Traits::kColumns + 1, Traits::kPacked));
  for (const Row& row : rows) {
    appender->Put(0, place);
    size_t column = 0;
    Traits::Visit(row, [&](auto value) {
      if constexpr (std::is_same_v<decltype(value), int32_t>) {
        const bool is_name = Traits::kTypes[column] == ColumnType::kName;
        if (is_name && value >= 0) value = name_ids_[static_cast<size_t>(value)];
      }
      appender->Put(++column, value);
    });
    appender->EndRow();
  }
  return {};
}

Status PackWriter::Add(int32_t place, const RowTables& tables) {
  const auto names = tables.Rows<NameRow>();
  name_ids_.assign(names.size(), kNone);
  for (const NameRow& row : names) {
    name_ids_[static_cast<size_t>(row.name_id)] = names_.Intern(row.name);
  }
#define SONDE_STORE_PACK(Row, table, columns, meaning)   \
  if constexpr (!std::is_same_v<Row, NameRow>) {         \
    SONDE_RETURN_IF_ERROR(AddTable<Row>(place, tables)); \
  }
  SONDE_TABLES(SONDE_STORE_PACK)
#undef SONDE_STORE_PACK
  return {};
}

Status PackWriter::AddFailure(int32_t place, const Status& why) {
  return connection_->Execute(Concat("INSERT INTO pack_failure_ VALUES (", std::to_string(place),
                                     ", ", std::to_string(static_cast<int>(why.code())), ", ",
                                     SqlText(why.message()), ")"));
}

Status PackWriter::SetStamp(int64_t source_stamp) {
  return connection_->Execute(
      Concat("UPDATE pack_info_ SET source_stamp = ", std::to_string(source_stamp)));
}

Status PackWriter::WriteNames() {
  if (names_.size() == 0) return {};
  using Names = RowTraits<NameRow>;
  SONDE_ASSIGN_OR_RETURN(ChunkAppender* const names,
                         AppenderOf(Names::kStored, Names::kColumns, Names::kPacked));
  for (size_t id = 0; id < names_.size(); ++id) {
    names->Put(0, static_cast<int32_t>(id));
    names->Put(1, names_.Text(static_cast<int32_t>(id)));
    names->EndRow();
  }
  return {};
}

Status PackWriter::Publish() {
  CHECK(!temporary_path_.empty(), "Publish once");
  SONDE_RETURN_IF_ERROR(WriteNames());
  for (auto& [table, appender] : appenders_) SONDE_RETURN_IF_ERROR(appender->Close());
  appenders_.clear();
  SONDE_RETURN_IF_ERROR(connection_->Execute("COMMIT; CHECKPOINT store; USE memory; DETACH store")
                            .Annotate("while writing a pack"));
  SONDE_RETURN_IF_ERROR(database_->written.BringToPlace());
  if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return base::ErrnoStatus(errno, "make the trace store", path_);
  }
  temporary_path_.clear();
  return {};
}

}  // namespace sonde::store
