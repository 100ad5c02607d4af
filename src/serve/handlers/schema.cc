// GET /api/schema: the public tables and results with their columns, for completion.
#include "store/schema.h"

#include "recipes/registry.h"
#include "serve/handlers.h"

namespace sonde::serve {

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
  for (const store::ResultInfo* result : recipes::Results()) {
    SchemaTableMessage& table = tables.emplace_back();
    table.name = result->name;
    table.meaning = result->meaning;
    for (const store::ResultColumnInfo& column : result->columns) {
      table.columns.push_back(
          {std::string(column.name), std::string(store::ResultSqlType(column.type))});
    }
  }
  return HttpAnswer{.body = ToJson(tables)};
}

}  // namespace sonde::serve
