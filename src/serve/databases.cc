#include "serve/databases.h"

#include <cctype>
#include <set>
#include <string_view>
#include <vector>

#include "base/host/parallel.h"
#include "base/strings.h"
#include "cluster/statements/mode_tables.h"
#include "job/results.h"
#include "store/schema.h"

namespace sonde::serve {
namespace {

using base::Concat;

// The tables of a pack whose rows name their trace (store/pack.h).
const std::set<std::string, std::less<>>& PackedTables() {
  static const auto tables = [] {
    std::set<std::string, std::less<>> names = {"args"};
    for (const store::TableInfo& table : store::Tables()) {
      for (const std::string_view name : {table.name, table.base_table, table.stored}) {
        if (name != "name_") names.emplace(name);
      }
    }
    return names;
  }();
  return tables;
}

bool IsOfName(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// In the order of their first place, each once.
std::vector<std::string_view> TablesIn(std::string_view sql) {
  std::vector<std::string_view> named;
  for (size_t at = 0; at < sql.size();) {
    if (!IsOfName(sql[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < sql.size() && IsOfName(sql[end])) ++end;
    const std::string_view word = sql.substr(at, end - at);
    const bool is_new = std::find(named.begin(), named.end(), word) == named.end();
    if (is_new && PackedTables().contains(word)) named.push_back(word);
    at = end;
  }
  return named;
}

}  // namespace

int StatementThreads() { return std::max(1, base::AvailableThreads() - 1); }

void Databases::Keep(std::shared_ptr<const store::Store> store) {
  const std::string path = store->path();
  stores_.Forget(path);  // another one lay there
  stores_.Keep(path, std::move(store));
}

Result<std::shared_ptr<const store::Store>> Databases::OpenStore(const std::string& path) {
  if (auto open = stores_.Find(path)) return open;
  SONDE_ASSIGN_OR_RETURN(std::shared_ptr<const store::Store> opened,
                         store::Store::OpenReadOnly(path));
  return stores_.Keep(path, std::move(opened));
}

Result<std::shared_ptr<const store::JointStore>> Databases::OpenPack(const std::string& path) {
  if (auto open = packs_.Find(path)) return open;
  SONDE_ASSIGN_OR_RETURN(std::shared_ptr<const store::JointStore> opened,
                         store::JointStore::OpenPack(path));
  return packs_.Keep(path, std::move(opened));
}

Result<std::shared_ptr<const store::UserStatements>> Databases::Statements(
    const store::StoreFile& file) {
  const std::string name = Concat(file.path, "#", std::to_string(file.traces.front().trace));
  if (auto open = statements_.Find(name)) return open;
  SONDE_ASSIGN_OR_RETURN(auto opened,
                         store::UserStatements::Open({file}, StatementThreads(), limits_));
  const job::NoticeSink silent = [](std::string_view) {};
  SONDE_RETURN_IF_ERROR(opened->Offer(std::make_shared<store::JoinedTables>(std::vector{
      job::MakeResults({file}, store::JointStore::Columns::kOwn, StatementThreads(), silent),
      cluster::MakeModeTables(cluster::RunOverStore(file, StatementThreads()), silent)})));
  return statements_.Keep(name, std::move(opened));
}

void Databases::Forget(const store::StoreFile& file) {
  statements_.Forget(Concat(file.path, "#", std::to_string(file.traces.front().trace)));
  if (!file.is_pack) stores_.Forget(file.path);
}

std::string OfPlace(const std::string& sql, int32_t place) {
  std::string tables;
  for (const std::string_view table : TablesIn(sql)) {
    tables += Concat(tables.empty() ? "WITH \"" : ", \"", table,
                     "\" AS NOT MATERIALIZED (SELECT * EXCLUDE (trace) FROM main.\"", table,
                     "\" WHERE trace = ", std::to_string(place), ")");
  }
  if (tables.empty()) return sql;
  constexpr std::string_view kWith = "WITH ";
  const bool has_more = sql.starts_with(kWith);
  return Concat(tables, has_more ? ", " : " ", has_more ? sql.substr(kWith.size()) : sql);
}

TraceTables::~TraceTables() { databases_->Forget(file_); }

Result<store::ResultTable> TraceTables::Query(const std::string& sql) const {
  if (file_.is_pack) {
    SONDE_ASSIGN_OR_RETURN(const auto pack, databases_->OpenPack(file_.path));
    return pack->Query(OfPlace(sql, file_.traces.front().place));
  }
  SONDE_ASSIGN_OR_RETURN(const auto store, databases_->OpenStore(file_.path));
  return store->Query(sql);
}

Status TraceTables::Scan(const std::string& sql,
                         const std::function<Status(const store::Chunk&)>& consume) const {
  if (file_.is_pack) {
    SONDE_ASSIGN_OR_RETURN(const auto pack, databases_->OpenPack(file_.path));
    return pack->Scan(OfPlace(sql, file_.traces.front().place), consume);
  }
  SONDE_ASSIGN_OR_RETURN(const auto store, databases_->OpenStore(file_.path));
  return store->Scan(sql, consume);
}

}  // namespace sonde::serve
