// GET /api/schema: the public tables, results and tables of cluster modes with their columns, for
// completion.
#include "store/schema.h"

#include "cluster/statements/mode_tables.h"
#include "recipes/registry.h"
#include "serve/handlers.h"

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

Result<HttpAnswer> HandleSchema(Session& /*session*/, const HttpRequest& /*request*/) {
  std::vector<SchemaTableMessage> tables;
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
