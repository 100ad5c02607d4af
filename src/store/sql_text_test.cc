#include "store/sql_text.h"

#include <gtest/gtest.h>

#include <string>

namespace sonde::store {
namespace {

std::string First(std::string_view sql) { return std::string(sql.substr(0, EndOfStatement(sql))); }

TEST(SqlText, EndsWhereTheDatabaseEndsIt) {
  EXPECT_EQ(First("SELECT 1; SELECT 2"), "SELECT 1");
  EXPECT_EQ(First("SELECT 1"), "SELECT 1");
  EXPECT_EQ(First(""), "");
  EXPECT_EQ(First("SELECT ';' AS \"a;\"\"b\" -- ;\n, 1 /* ; /* ; */ ; */;x"),
            "SELECT ';' AS \"a;\"\"b\" -- ;\n, 1 /* ; /* ; */ ; */");
  EXPECT_EQ(First("SELECT 'it''s;';x"), "SELECT 'it''s;'");
  EXPECT_EQ(First(R"(SELECT E'\';', e'a''\';';x)"), R"(SELECT E'\';', e'a''\';')");
  EXPECT_EQ(First(R"(SELECT name'\';x)"), R"(SELECT name'\')");  // the `e` ends a word
  EXPECT_EQ(First("SELECT $$;$$, $a$;$$;$a$, a$1$, $1;x"), "SELECT $$;$$, $a$;$$;$a$, a$1$, $1");
  EXPECT_EQ(First("SELECT 'open;"), "SELECT 'open;");
  EXPECT_EQ(First("SELECT /* open;"), "SELECT /* open;");
}

TEST(SqlText, IsEndedByTheLastSemicolon) {
  for (const char* sql : {"SELECT 1;", "SELECT 1;\r\n", "SELECT 1; -- c", "SELECT 1;\t/* ; */ ;",
                          "SELECT 1; SELECT 2;", ";"}) {
    EXPECT_TRUE(IsEnded(sql)) << sql;
  }
  for (const char* sql : {"", "SELECT 1", "SELECT ';", "SELECT 1 -- ;", "SELECT 1; SELECT 2"}) {
    EXPECT_FALSE(IsEnded(sql)) << sql;
  }
}

}  // namespace
}  // namespace sonde::store
