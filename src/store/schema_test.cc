#include "store/schema.h"

#include <gtest/gtest.h>

#include <set>

#include "base/golden_file.h"
#include "store/joint.h"

namespace sonde::store {
namespace {

TEST(SchemaTest, NamesAreUniqueAndDocumented) {
  std::set<std::string> names;
  for (const TableInfo& table : Tables()) {
    EXPECT_TRUE(names.emplace(table.name).second) << table.name;
    EXPECT_FALSE(table.meaning.empty());
    std::set<std::string> columns;
    for (const ColumnInfo& column : PublicColumns(table)) {
      EXPECT_TRUE(columns.emplace(column.name).second) << table.name << "." << column.name;
      EXPECT_FALSE(column.meaning.empty()) << table.name << "." << column.name;
      EXPECT_FALSE(column.source.empty()) << table.name << "." << column.name;
    }
  }
}

// The promise of the design: these names stay.
TEST(SchemaTest, PromisedNamesExist) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> promised = {
      {"process", {"process_id", "pid", "name", "rank", "host"}},
      {"thread", {"thread_id", "tid", "process_id", "name"}},
      {"track", {"track_id", "kind", "name", "process_id", "thread_id", "device_id", "stream_id"}},
      {"slice",
       {"slice_id", "ts", "dur", "track_id", "name", "category", "depth", "parent_id", "args_id"}},
      {"flow", {"flow_id", "kind", "slice_out", "slice_in"}},
      {"counter", {"ts", "track_id", "value"}},
      {"device_task", {"task_id", "name", "ts", "dur", "wait_ns", "device_id", "stream_id"}},
      {"communication_op", {"communication_id", "ts", "dur", "group_name"}},
      {"memory_event", {"ts", "size_bytes"}},
      {"step", {"step_id", "rank", "ts", "dur"}},
      {"mark", {"mark_id", "ts", "domain", "message"}},
      {"import_issue", {"severity", "code", "count", "source", "position", "advice"}},
      {"metadata", {"key", "value"}},
  };
  for (const auto& [name, columns] : promised) {
    const TableInfo* table = FindTable(name);
    ASSERT_NE(table, nullptr) << name;
    std::set<std::string_view> have;
    for (const ColumnInfo& column : PublicColumns(*table)) have.insert(column.name);
    for (const std::string& column : columns) EXPECT_TRUE(have.contains(column)) << name << column;
  }
}

// docs/reference/store.md comes from the declaration.
TEST(SchemaTest, ReferencePageIsCurrent) {
  base::ExpectCurrent(SONDE_SOURCE_DIR "/docs/reference/store.md",
                      SchemaMarkdown() + JointSchemaMarkdown());
}

}  // namespace
}  // namespace sonde::store
