// Databases and tables that were cut off or garbled: nothing may crash, and undamaged parts must
// still be read.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <map>
#include <random>

#include "base/files.h"
#include "base/test_folder.h"
#include "importers/ascend_db/ascend_db.h"
#include "importers/ascend_text/csv_reader.h"
#include "importers/ascend_text/text_trace.h"

namespace sonde::importers {
namespace {

constexpr const char* kSmallDatabase =
    "PRAGMA page_size = 512;"
    "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT);"
    "INSERT INTO STRING_IDS VALUES (0,'aten::add'),(1,'KERNEL_AIVEC'),(2,'Add'),(3,'launch'),"
    "(4,'hcom_allReduce__1_0_1'),(5,'group');"
    "CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER,"
    "name INTEGER, type INTEGER);"
    "INSERT INTO PYTORCH_API VALUES ('100','200',4294967297,0,0,50001),"
    "('110','150',4294967297,1,0,50001);"
    "CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);"
    "INSERT INTO CONNECTION_IDS VALUES (1,7);"
    "CREATE TABLE CANN_API (startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,"
    "connectionId INTEGER PRIMARY KEY,name INTEGER);"
    "INSERT INTO CANN_API VALUES (120,130,10000,4294967298,7,3);"
    "CREATE TABLE TASK (startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,"
    "globalTaskId INTEGER,globalPid INTEGER,taskType INTEGER,streamId INTEGER,taskId INTEGER);"
    "INSERT INTO TASK VALUES (140,190,0,7,1,1,1,2,9),(200,210,0,8,2,1,1,2,10);"
    "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER,globalTaskId INTEGER PRIMARY KEY,"
    "opType INTEGER,taskType INTEGER);"
    "INSERT INTO COMPUTE_TASK_INFO VALUES (2,1,2,1);"
    "CREATE TABLE COMMUNICATION_OP (opName INTEGER,startNs INTEGER,endNs INTEGER,"
    "connectionId INTEGER,groupName INTEGER,opId INTEGER PRIMARY KEY);"
    "INSERT INTO COMMUNICATION_OP VALUES (4,300,400,9,5,1);"
    "CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);"
    "INSERT INTO STEP_TIME VALUES (3,90,500);";

// From one damaged byte, or round, to the next: under a sanitizer each of thousands of reads takes
// ten times as long. No divisor of a page.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kStride = 7;
#else
constexpr int kStride = 1;
#endif

class AscendDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = folder_.File("msprof_1.db");
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, kSmallDatabase, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
    bytes_ = base::ReadFile(file_).value();
  }
  // How many slices come out; -1 where the file is refused.
  int64_t Slices(std::string_view bytes) {
    EXPECT_TRUE(base::WriteFileAtomically(file_, bytes).ok());
    TraceRows rows;
    if (!ReadAscendDb(file_, rows).ok()) return -1;
    rows.Arrange();
    return static_cast<int64_t>(rows.slices.size());
  }

  base::TestFolder folder_;
  std::string file_;
  std::string bytes_;
};

TEST_F(AscendDamage, WholeDatabase) {
  TraceRows rows;
  ASSERT_TRUE(ReadAscendDb(file_, rows).ok());
  rows.Arrange();
  EXPECT_EQ(rows.slices.size(), 6u);
  ASSERT_EQ(rows.tasks.size(), 2u);
  EXPECT_EQ(rows.tasks[0].step_id, 3);
  const store::SliceRow& launch = rows.slices[static_cast<size_t>(rows.tasks[0].launch_slice_id)];
  EXPECT_EQ(launch.ts, 110);
  EXPECT_EQ(launch.depth, 1);
  EXPECT_EQ(rows.flows.size(), 1u);
  EXPECT_EQ(rows.kinds[static_cast<size_t>(rows.tasks[1].kind_id)].core, store::kNone);
}

// The content of the last pages is lost, the rest is read; of much less nothing can be read.
TEST_F(AscendDamage, CutOffAtEveryByte) {
  std::map<int64_t, int> cuts;  // by how many slices are left
  for (size_t size = 0; size < bytes_.size(); size += kStride) {
    const int64_t slices = Slices(std::string_view(bytes_).substr(0, size));
    ++cuts[slices];
    EXPECT_LE(slices, 6) << size;
    if (size + 2 * 512 >= bytes_.size()) {
      EXPECT_GE(slices, 5) << size;
    }
  }
  EXPECT_GT(cuts[-1], 1000 / kStride) << "refused";
  EXPECT_GT(cuts[5], 500 / kStride);
  EXPECT_GT(cuts[6], 500 / kStride) << "the last page holds nothing that makes a slice";
}

// One to five bytes: most hit unread parts, or a name.
TEST_F(AscendDamage, GarbledBytes) {
  constexpr int kRounds = 1500 / kStride;
  std::mt19937 random(7);
  std::map<int64_t, int> rounds;  // by how many slices are left
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = bytes_;
    for (int i = 0; i < 1 + round % 5; ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const int64_t slices = Slices(bytes);
    ++rounds[slices];
    EXPECT_LE(slices, 6) << round;
  }
  EXPECT_GT(rounds[6], kRounds / 2);
  EXPECT_GT(rounds[-1], 0) << "refused";
  EXPECT_LT(rounds[6] + rounds[-1], kRounds) << "in part";
}

constexpr std::string_view kKernels =
    "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,"
    "Start Time(us),Duration(us),Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,"
    "Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID,"
    "aicore_time(us)\r\n"
    "5,0,4294967295,1,2,\"a,b\",Add,dynamic,AI_CORE,1736408883694756.090\t,1.5,0,8,0,NO,"
    "\"\"\"32,3\"\"\",FLOAT,ND,\"\"\"32,3\"\"\",FLOAT,ND,N/A,0.5\r\n"
    "5,0,4294967295,N/A,N/A,hcom_send__1_0_1,hcom_send_,N/A,COMMUNICATION,"
    "1736408883694800.000\t,2.25,0,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A\r\n";

TEST(AscendTables, CutOffAtEveryByte) {
  for (size_t size = 0; size <= kKernels.size(); ++size) {
    TraceRows rows;
    text_import::TextTrace trace{.rows = rows};
    trace.process_id = rows.Process(0);
    const SpanFile file{"kernel_details.csv", "kernel_details.csv"};
    text_import::RowsOfCsv(file, kKernels.substr(0, size), trace);
    rows.Arrange();
    EXPECT_LE(rows.tasks.size(), 1u);
    if (size < kKernels.size()) continue;
    ASSERT_EQ(rows.tasks.size(), 1u);
    EXPECT_EQ(rows.tasks[0].ts, 1736408883694756090);
    EXPECT_EQ(rows.tasks[0].dur, 1500);
    const store::TaskKindRow& kind = rows.kinds[static_cast<size_t>(rows.tasks[0].kind_id)];
    EXPECT_EQ(rows.names.Text(kind.name), "a,b");
    EXPECT_EQ(rows.names.Text(kind.input_shapes), "32,3");
    ASSERT_EQ(rows.communications.size(), 1u);
    EXPECT_EQ(rows.communications[0].is_p2p, 1);
    ASSERT_EQ(rows.pmu.size(), 1u);
    EXPECT_EQ(rows.pmu[0].value, 0.5);
  }
}

TEST(CsvReader, CellsAndForm) {
  std::vector<std::vector<std::string>> rows;
  const auto take = [&](const CsvRow& row, int64_t) { rows.emplace_back(row.begin(), row.end()); };
  const CsvFacts facts = ReadCsv(
      "\xEF\xBB\xBF"
      "a,b\r\n\"x\r\ny\",\"q\"\"q\"\r\n\r\n1\t,,3\r\n\"plain\",2",
      take);
  EXPECT_EQ(facts.header, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"x\r\ny", "q\"q"}));
  EXPECT_EQ(rows[1], (std::vector<std::string>{"1\t", "", "3"}));
  EXPECT_EQ(rows[2], (std::vector<std::string>{"plain", "2"}));
  EXPECT_TRUE(facts.has_byte_order_mark);
  EXPECT_EQ(facts.line_end, "\r\n");
  EXPECT_EQ(facts.empty_lines, 1);
  EXPECT_EQ(facts.mixed_line_ends, 0);
  EXPECT_FALSE(facts.ends_with_line_end);
  EXPECT_EQ(facts.ragged_rows, 1);
  EXPECT_EQ(facts.unusual_quotes, 1);
  EXPECT_FALSE(facts.is_cut_off);
  EXPECT_TRUE(ReadCsv("a\n\"open", take).is_cut_off);
}

TEST(CsvReader, TheHeaderIsTheFirstLineThatIsNotEmpty) {
  EXPECT_EQ(ReadCsvHeader("\n\r\n\"a\nb\",c\r1,2\r"), (std::vector<std::string>{"a\nb", "c"}));
  int rows = 0;
  const CsvFacts facts = ReadCsv("\n\r\na,b\r1,2\r\r3,4\r", [&](const CsvRow& row, int64_t) {
    EXPECT_EQ(row.size(), 2u);
    ++rows;
  });
  EXPECT_EQ(rows, 2);
  EXPECT_EQ(facts.line_end, "\r");
  EXPECT_EQ(facts.mixed_line_ends, 2);
  EXPECT_EQ(facts.empty_lines, 3);
  EXPECT_TRUE(ReadCsvHeader("\n\n").empty());
}

}  // namespace
}  // namespace sonde::importers
