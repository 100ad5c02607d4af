// GET /api/schema: the public tables, results and tables of cluster modes with their columns, for
// completion. First come those that only the open traces have.
#include "store/schema.h"

#include <set>

#include "cluster/statements/mode_tables.h"
#include "recipes/registry.h"
#include "serve/handlers.h"
#include "store/own_tables.h"

namespace sonde::serve {
namespace {

SchemaTableMessage TableOf(const store::ResultInfo& result) {
  SchemaTableMessage table;
  table.name = result.name;
  table.meaning = result.meaning;
  for (const store::ResultColumnInfo& column : result.columns) {
    table.columns.push_back(
        {std::string(column.name), std::string(store::ResultSqlType(column.type))});
  }
  return table;
}

}  // namespace

// Those of several traces are one.
Status AddOwnTables(const Session& session, std::vector<SchemaTableMessage>& tables) {
  std::set<std::string> seen;
  const SessionMessage message = session.Describe();
  for (const auto& trace : session.Ready()) {
    if (message.traces[static_cast<size_t>(trace->id)].tables.empty()) continue;
    SONDE_ASSIGN_OR_RETURN(const auto columns, store::OwnColumns(*trace->tables));
    for (const store::OwnColumn& column : columns) {
      if (seen.contains(column.table)) continue;
      if (tables.empty() || tables.back().name != column.table) {
        tables.push_back({.name = column.table, .meaning = "rows of a comparison of values"});
      }
      tables.back().columns.push_back({column.name, column.type});
    }
    for (const SchemaTableMessage& table : tables) seen.insert(table.name);
  }
  return {};
}

Result<HttpAnswer> HandleSchema(Session& session, const HttpRequest& /*request*/) {
  std::vector<SchemaTableMessage> tables;
  SONDE_RETURN_IF_ERROR(AddOwnTables(session, tables));
  for (const store::TableInfo& info : store::Tables()) {
    SchemaTableMessage& table = tables.emplace_back();
    table.name = info.name;
    table.meaning = info.meaning;
    for (const store::ColumnInfo& column : store::PublicColumns(info)) {
      table.columns.push_back(
          {std::string(column.name), std::string(store::ViewSqlType(column.type))});
    }
  }
  for (const store::ResultInfo* result : recipes::Results()) tables.push_back(TableOf(*result));
  for (const cluster::ModeTable& table : cluster::ModeTables()) {
    tables.push_back(TableOf(table.info->result));
  }
  return HttpAnswer{.body = ToJson(tables)};
}

}  // namespace sonde::serve
