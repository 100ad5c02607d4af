// Files that are found under any name, and messages for those that are not.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <zlib.h>

#include <fstream>

#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/import_rows.h"
#include "importers/import_trace.h"

namespace sonde::importers {
namespace {

constexpr std::string_view kEvent = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2})";

class FoundTracesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, std::string_view text) {
    std::ofstream(folder_.File(name), std::ios::binary) << text;
    return folder_.File(name);
  }
  // Importer of the only trace of `path`; "" where there is none. unread_ gets the unread files.
  std::string ImporterOf(const std::string& path) {
    const auto found = FindTraces(path, 3, &unread_);
    EXPECT_TRUE(found.ok());
    return found.ok() && found->size() == 1 ? (*found)[0].importer->name : "";
  }

  base::TestFolder folder_;
  std::vector<std::string> unread_;
};

TEST_F(FoundTracesTest, AFileOfAnotherNameIsNotReportedAsUnread) {
  EXPECT_EQ(ImporterOf(Write("run.ctrace", base::Concat("[", kEvent, "]"))), "chrome_trace");
  EXPECT_TRUE(unread_.empty());
  EXPECT_EQ(ImporterOf(Write("notes.txt", "no trace")), "");
  EXPECT_EQ(unread_.size(), 1U);
}

TEST_F(FoundTracesTest, ARaisedVersionStalesTheStoresOfItsImporterOnly) {
  const std::string path = Write("a.json", base::Concat("[", kEvent, "]"));
  const Importer* const importer = FindImporter(path);
  ASSERT_NE(importer, nullptr);
  Importer later = *importer;
  ++later.version;
  EXPECT_EQ(*StampOf({path, importer}), *StampOf({path, FindImporter(path)}));
  EXPECT_NE(*StampOf({path, importer}), *StampOf({path, &later}));
}

TEST_F(FoundTracesTest, EventsMayBeFarBehindTheBegin) {
  const std::string map(size_t{300} << 10U, 'x');
  const std::string list = base::Concat(R"(, "traceEvents" : [)", kEvent, "]}");
  EXPECT_EQ(ImporterOf(Write("a.json",
                             base::Concat(R"({"metadata": {"maps": ["\"{)", map, R"("]})", list))),
            "chrome_trace");
  const std::string kineto =
      base::Concat(R"(, "traceEvents": [{"cat": "cpu_op", )", kEvent.substr(1), "]}");
  EXPECT_EQ(ImporterOf(Write("a.json", base::Concat(R"({"notes": ")", map, R"(")", kineto))),
            "kineto");
  // Of these no member of the outermost object is the list.
  for (const std::string_view behind :
       {R"("traceEvents"})", R"({"traceEvents": []}})", R"("x\"traceEvents": []})",
        R"(1, "traceEvents2": []})", R"(1}{"traceEvents": []})"}) {
    EXPECT_EQ(
        ImporterOf(Write("a.json", base::Concat(R"({"maps": ")", map, R"(", "b": )", behind))), "")
        << behind;
  }
}

TEST_F(FoundTracesTest, DatabasesOfProfilersMayHaveAnyName) {
  const auto make = [this](const char* name, const char* sql) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(folder_.File(name).c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
    return folder_.File(name);
  };
  const std::string path = make("run.dat",
                                "CREATE TABLE STRING_IDS (id INTEGER, value TEXT);"
                                "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER);");
  EXPECT_EQ(ImporterOf(path), "ascend_db");
  const auto found = FindTraces(path);
  EXPECT_EQ(*(*found)[0].importer->rank(path), -1);
  EXPECT_EQ(ImporterOf(make("other.dat", "CREATE TABLE STRING_IDS (id INTEGER);")), "");
}

TEST_F(FoundTracesTest, PackedFilesAreFoundOrTheMessageNamesTheFormat) {
  const std::string path = folder_.File("w.trace.gz");
  gzFile packed = gzopen(path.c_str(), "wb");
  gzprintf(packed, "[%s]", kEvent.data());
  gzclose(packed);
  EXPECT_EQ(ImporterOf(folder_.path()), "chrome_trace");
  const auto message_for = [this](std::string_view begin) {
    return std::string(NothingToRead(Write("x.bin", begin)).message());
  };
  EXPECT_NE(message_for("PK\x03\x04 and more").find("is packed with zip"), std::string::npos);
  EXPECT_NE(message_for("\x28\xb5\x2f\xfd and more").find("is packed with zstd"),
            std::string::npos);
  EXPECT_EQ(message_for("plain text").find("packed"), std::string::npos);
}

}  // namespace
}  // namespace sonde::importers
