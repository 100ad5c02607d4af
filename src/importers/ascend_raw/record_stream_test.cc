// Streams of records that were cut into slices, lost some, or part of a record.
#include "importers/ascend_raw/record_stream.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/test_folder.h"
#include "importers/ascend_raw/device_records.h"
#include "importers/ascend_raw/dictionary.h"

namespace sonde::importers::raw {
namespace {

constexpr RecordForm kForm{8, 0, 0x5A5A};

// Records of eight bytes: the mark, and a number.
std::string Records(uint32_t count) {
  std::string bytes;
  for (uint32_t i = 0; i < count; ++i) {
    const uint16_t mark = 0x5A5A;
    bytes.append(reinterpret_cast<const char*>(&mark), 2);
    bytes.append(2, '\0');
    bytes.append(reinterpret_cast<const char*>(&i), 4);
  }
  return bytes;
}

class RecordStreamTest : public ::testing::Test {
 protected:
  void AddSlice(int64_t number, std::string_view bytes) {
    const std::string path = folder_.File("s" + std::to_string(number));
    ASSERT_TRUE(base::WriteFileAtomically(path, bytes).ok());
    stream_.slices.push_back({.file = {path, path}, .number = number, .is_closed = true});
  }
  std::vector<uint32_t> Read(const RecordForm& form = kForm) {
    std::vector<uint32_t> numbers;
    ReadRecords(stream_, form, issues_,
                [&](std::string_view record) { numbers.push_back(At<uint32_t>(record, 4)); });
    return numbers;
  }

  base::TestFolder folder_;
  Stream stream_;
  store::ImportIssues issues_;
};

TEST_F(RecordStreamTest, CutAnywhereIsOneStream) {
  const std::string bytes = Records(3);
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    stream_.slices.clear();
    AddSlice(0, bytes.substr(0, cut));
    AddSlice(1, bytes.substr(cut));
    EXPECT_EQ(Read(), (std::vector<uint32_t>{0, 1, 2})) << cut;
  }
  EXPECT_TRUE(issues_.empty());
}

TEST_F(RecordStreamTest, AWriterThatWasKilledLeavesAPartAtTheEnd) {
  const std::string bytes = Records(3);
  for (size_t size = 17; size < 24; ++size) {
    stream_.slices.clear();
    AddSlice(0, bytes.substr(0, size));
    EXPECT_EQ(Read(), (std::vector<uint32_t>{0, 1})) << size;
  }
  EXPECT_EQ(issues_.Count("raw_part_of_record"), 1 + 2 + 3 + 4 + 5 + 6 + 7) << "bytes";
}

TEST_F(RecordStreamTest, ADeletedHeadLeavesAPartAtTheBegin) {
  const std::string bytes = Records(3);
  for (size_t size = 1; size < 8; ++size) {
    stream_.slices.clear();
    AddSlice(0, bytes.substr(size));
    EXPECT_EQ(Read(), (std::vector<uint32_t>{1, 2})) << size;
  }
}

TEST_F(RecordStreamTest, MissingSlicesCostTheRecordsAroundThem) {
  const std::string bytes = Records(6);
  AddSlice(2, bytes.substr(0, 12));
  AddSlice(5, bytes.substr(28));
  EXPECT_EQ(Read(), (std::vector<uint32_t>{0, 4, 5}));
  EXPECT_EQ(issues_.Count("raw_slice_missing"), 2 + 2);
}

TEST_F(RecordStreamTest, RecordsWithoutTheirMarkAreCounted) {
  std::string bytes = Records(3);
  bytes[8] = 'x';
  AddSlice(0, bytes);
  stream_.slices[0].is_closed = false;
  EXPECT_EQ(Read(), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(issues_.Count("raw_bad_record"), 1);
  EXPECT_EQ(issues_.Count("raw_not_closed"), 1);
}

TEST(DictionaryTest, TextsAndTypes) {
  TraceRows rows;
  Dictionary dictionary(rows);
  dictionary.AddHashes("12:a:b\n13:c\n13:d\nno line\n", "hash");
  dictionary.AddTypes("10000_5:launch\n5000_x:y\n", "types");
  EXPECT_EQ(dictionary.View(dictionary.Text(12)), "a:b") << "split at the first colon";
  EXPECT_EQ(dictionary.View(dictionary.Text(13)), "d");
  EXPECT_EQ(dictionary.View(dictionary.Text(99)), "99");
  EXPECT_EQ(dictionary.Text(0), store::kNone);
  EXPECT_EQ(dictionary.View(dictionary.Type(10000, 5)), "launch");
  EXPECT_EQ(dictionary.View(dictionary.Type(10000, 6)), "6");
  EXPECT_EQ(rows.issues.Count("raw_hash_collision"), 1);
  EXPECT_EQ(rows.issues.Count("raw_bad_record"), 2);
}

TEST(DeviceRecordsTest, StreamsAndTasksAreDecoded) {
  const auto place = [](uint16_t stream, uint16_t task, uint32_t queue, bool expands) {
    const TaskPlace found = DecodePlace(stream, task, queue, expands);
    return std::pair<uint32_t, uint32_t>(found.stream, found.task);
  };
  using Place = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(place(7, 300, 0, false), Place(7, 300));
  EXPECT_EQ(place(2055, 1, 0, false), Place(7, 1));
  EXPECT_EQ(place(0x1007, 0x0123, 0, false), Place(7, 0x0123));
  EXPECT_EQ(place(0xF007, 0xFFFF, 0, false), Place(7, 0xFFFF)) << "bits of the task in the stream";
  EXPECT_EQ(place(0x2123, 0x4007, 0, false), Place(7, 0x4123));
  EXPECT_EQ(place(0x8123, 0x8007, 0, true), Place(7, 0x8123));
  EXPECT_EQ(place(0x8123, 0x8007, 3, true), Place(0x0123, 0x8007)) << "place holders are plain";
  EXPECT_EQ(place(0x0123, 0x8007, 0, true), Place(0x0123, 0x8007));
}

}  // namespace
}  // namespace sonde::importers::raw
