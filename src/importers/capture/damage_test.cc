// Damaged captures: cut off at every byte, bytes changed, files missing. Nothing may crash, and
// undamaged parts must still be read.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "base/files.h"
#include "importers/capture/import.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/capture/trace.h"
#include "importers/import_trace.h"

namespace sonde::importers {
namespace {

using capture::RecordKind;
using testing::ArgsBuilder;
using testing::CaptureBuilder;
using Range = CaptureBuilder::Range;

constexpr size_t kRangesPerChunk = 3;
constexpr size_t kChunks = 6;

// Three ranges a chunk on two threads, with everything else that a capture may hold.
CaptureBuilder SmallCapture() {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "main");
  c.Thread(2, 12, 2, "other");
  c.Metadata("rank", "1");
  const uint32_t args =
      c.Args(ArgsBuilder().Tensors(c.Name(capture::kKeyInputs), {{2, 3}}).Int(c.Name("n"), 5));
  const uint32_t stack = c.Stack({c.Frame("f", "a.py", 1)});
  for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
    const auto thread = static_cast<uint32_t>(1 + chunk % 2);
    const uint64_t at = 1000 * (chunk + 1);
    c.AddMemory(thread, at + 1, 0x1000 * (chunk + 1), 64, 64);
    c.Add(thread, Range{.begin = at + 10, .end = at + 20, .name = c.Name("inner"), .args = args});
    c.Add(thread, Range{.begin = at + 30, .end = at + 40, .name = c.Name("inner"), .link = stack});
    c.Add(thread,
          Range{.kind = RecordKind::kRange, .begin = at, .end = at + 50, .name = c.Name("outer")});
    c.Flush(thread);
  }
  c.End(capture::StopReason::kStopped, 0);
  return c;
}

class DamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/sonde_damage_test_" + std::to_string(::getpid());
    ASSERT_TRUE(SmallCapture().Write(folder_).ok());
    dictionary_ = base::ReadFile(Dictionary()).value();
    segment_ = base::ReadFile(Segment()).value();
  }
  void TearDown() override { ASSERT_TRUE(base::RemoveTree(folder_).ok()); }

  std::string Dictionary() const { return folder_ + "/SONDE/dictionary_000001.sonde"; }
  std::string Segment() const { return folder_ + "/SONDE/events_000001.sonde"; }
  void Write(const std::string& dictionary, const std::string& segment) {
    ASSERT_TRUE(base::WriteFileAtomically(Dictionary(), dictionary).ok());
    ASSERT_TRUE(base::WriteFileAtomically(Segment(), segment).ok());
  }
  Result<std::unique_ptr<capture_import::LoadedCapture>> Load() {
    return capture_import::LoadCapture(folder_);
  }

  std::string folder_;
  std::string dictionary_;
  std::string segment_;
};

TEST_F(DamageTest, SegmentCutOffAtEveryByte) {
  constexpr size_t kHeader = sizeof(capture::FileHeader);
  constexpr size_t kChunk =
      sizeof(capture::ChunkHeader) + (kRangesPerChunk + 2) * sizeof(capture::Record);
  ASSERT_EQ(segment_.size(), kHeader + kChunks * kChunk);
  for (size_t size = 0; size <= segment_.size(); ++size) {
    Write(dictionary_, segment_.substr(0, size));
    const auto loaded = Load();
    ASSERT_TRUE(loaded.ok()) << size;
    const size_t whole = size < kHeader ? 0 : (size - kHeader) / kChunk;
    ASSERT_EQ((*loaded)->trace.slices, static_cast<int64_t>(whole * kRangesPerChunk)) << size;
    const bool complete = size >= kHeader && (size - kHeader) % kChunk == 0;
    ASSERT_EQ((*loaded)->trace.issues.Count("capture_truncated"), complete ? 0 : 1) << size;
  }
}

TEST_F(DamageTest, DictionaryCutOffAtEveryByte) {
  size_t readable = 0;
  // The last entry marks the end of the session; its padding may be missing.
  constexpr size_t kEndEntry = sizeof(capture::EntryHead) + 8 + 17;
  const size_t end_at = dictionary_.size() - (8 - kEndEntry % 8);
  for (size_t size = 0; size <= dictionary_.size(); ++size) {
    Write(dictionary_.substr(0, size), segment_);
    const auto loaded = Load();
    ASSERT_EQ(loaded.ok(), size >= sizeof(capture::FileHeader)) << size;
    if (!loaded.ok()) continue;
    ++readable;
    // Records never depend on the dictionary: only their names may be unknown.
    ASSERT_EQ((*loaded)->trace.slices, static_cast<int64_t>(kChunks * kRangesPerChunk)) << size;
    ASSERT_EQ((*loaded)->trace.issues.Count("capture_no_end"), size < end_at ? 1 : 0) << size;
  }
  EXPECT_GT(readable, 100U);
}

TEST_F(DamageTest, EveryChangedByteOfTheSegmentIsFound) {
  for (size_t i = 0; i < segment_.size(); ++i) {
    std::string garbled = segment_;
    garbled[i] = static_cast<char>(garbled[i] ^ 0x40);
    Write(dictionary_, garbled);
    const auto loaded = Load();
    ASSERT_TRUE(loaded.ok()) << i;
    const capture_import::CaptureTrace& trace = (*loaded)->trace;
    const bool in_header = i < sizeof(capture::FileHeader);
    ASSERT_EQ(trace.slices, static_cast<int64_t>(in_header ? 0 : (kChunks - 1) * kRangesPerChunk))
        << i;
    // A broken last chunk looks like a file that was cut off.
    ASSERT_EQ(trace.issues.Count("capture_garbled_chunk") +
                  trace.issues.Count("capture_garbled_file") +
                  trace.issues.Count("capture_truncated"),
              1)
        << i;
  }
}

TEST_F(DamageTest, EveryChangedByteOfTheDictionaryIsSurvived) {
  for (size_t i = sizeof(capture::FileHeader); i < dictionary_.size(); ++i) {
    std::string garbled = dictionary_;
    garbled[i] = static_cast<char>(garbled[i] ^ 0x11);
    Write(garbled, segment_);
    const auto loaded = Load();
    ASSERT_TRUE(loaded.ok()) << i;
    ASSERT_EQ((*loaded)->trace.slices, static_cast<int64_t>(kChunks * kRangesPerChunk)) << i;
  }
}

TEST_F(DamageTest, GarbledCapturesReachTheStore) {
  std::mt19937 random(7);
  for (int round = 0; round < 8; ++round) {
    std::string dictionary = dictionary_;
    std::string segment = segment_;
    for (int i = 0; i < 4; ++i) {
      dictionary[sizeof(capture::FileHeader) +
                 random() % (dictionary.size() - sizeof(capture::FileHeader))] ^= 0x21;
      segment[sizeof(capture::FileHeader) +
              random() % (segment.size() - sizeof(capture::FileHeader))] ^= 0x21;
    }
    Write(dictionary, segment);
    const auto sources = FindTraces(folder_);
    ASSERT_TRUE(sources.ok());
    const auto imported = ImportTrace((*sources)[0], folder_ + "/trace.duckdb", {});
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    const auto issues = imported->store->Query("SELECT sum(count)::BIGINT FROM import_issue");
    ASSERT_TRUE(issues.ok());
    EXPECT_GT(issues->Int(0, 0), 0);
  }
}

TEST_F(DamageTest, AFileThatCannotBeOpenedCostsOnlyItself) {
  Write(dictionary_, segment_);
  const std::string folder = folder_ + "/SONDE/";
  ASSERT_TRUE(base::MakeDirectories(folder + "events_7.sonde").ok());
  ASSERT_EQ(::symlink("not there", (folder + "events_8.sonde").c_str()), 0);
  ASSERT_EQ(::symlink("not there", (folder + "ring_9.sonde").c_str()), 0);
  ASSERT_EQ(::symlink("dictionary_9.sonde", (folder + "dictionary_9.sonde").c_str()), 0);
  ASSERT_TRUE(CaptureStamp(folder_).ok());
  ASSERT_TRUE(CaptureRank(folder_).ok());
  const auto loaded = Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)->trace.slices, static_cast<int64_t>(kChunks * kRangesPerChunk));
  EXPECT_EQ((*loaded)->trace.issues.Count("file_unreadable"), 4);
}

// No checksum covers a ring: its ids may be anything. Each is used as an index somewhere.
TEST_F(DamageTest, IdsThatTheDictionaryDoesNotHoldAreNone) {
  constexpr int64_t kMostKilobytes = 256 << 10U;
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  for (const uint32_t id : {0xffffffffU, 0x80000000U, 0x7fffffffU, 1000U}) {
    CaptureBuilder c = SmallCapture();
    uint64_t at = 9000;
    for (uint8_t kind = 1; kind <= static_cast<uint8_t>(RecordKind::kSpanEnd); ++kind) {
      capture::Record record{};
      record.ticks = at += 10;
      record.dur_kind = capture::PackDurKind(5, static_cast<RecordKind>(kind), 255);
      record.name = record.args = record.link = id;
      record.sequence = static_cast<int32_t>(id);
      c.Add(1, record);
    }
    const std::vector<Range> open = {
        {.begin = at + 20, .name = id, .args = id, .link = id, .sequence = -5}};
    const std::string ring = c.Ring(1, 11, 64, 0, open);
    ASSERT_TRUE(base::WriteFileAtomically(folder_ + "/SONDE/ring_1.sonde", ring).ok());
    const auto sources = FindTraces(folder_);
    ASSERT_TRUE(sources.ok());
    const auto imported = ImportTrace((*sources)[0], folder_ + "/trace.duckdb", {});
    ASSERT_TRUE(imported.ok()) << id << imported.status().message();
    const auto issues = imported->store->Query(
        "SELECT sum(count)::BIGINT FROM import_issue WHERE code = 'record_unknown_id'");
    ASSERT_TRUE(issues.ok());
    EXPECT_GT(issues->Int(0, 0), 10) << id;
  }
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, kMostKilobytes);
}

TEST_F(DamageTest, InconsistentRings) {
  CaptureBuilder c = SmallCapture();
  c.Add(1, Range{.begin = 9000, .end = 9001, .name = c.Name("in ring")});
  const std::string ring = c.Ring(1, 11, 16, 15, {});
  const std::string path = folder_ + "/SONDE/ring_1.sonde";
  for (size_t i = 0; i < 1024; ++i) {
    std::string garbled = ring;
    garbled[i] = static_cast<char>(garbled[i] ^ 0xff);
    ASSERT_TRUE(base::WriteFileAtomically(path, garbled).ok());
    ASSERT_TRUE(Load().ok()) << i;
  }
  for (size_t size = 0; size < ring.size(); size += size < 300 ? 1 : 97) {
    ASSERT_TRUE(base::WriteFileAtomically(path, ring.substr(0, size)).ok());
    const auto loaded = Load();
    ASSERT_TRUE(loaded.ok()) << size;
    ASSERT_EQ((*loaded)->trace.issues.Count("capture_truncated") +
                  (*loaded)->trace.issues.Count("capture_garbled_ring"),
              1)
        << size;
  }
}

}  // namespace
}  // namespace sonde::importers
