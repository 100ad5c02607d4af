// Sessions that keep only the last seconds: segments and dictionary entries that go.
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/files.h"
#include "capture/args.h"
#include "record/testing/session_fixture.h"

namespace sonde::record {
namespace {

using capture::RecordKind;

// Does something until a condition holds; false when it does not within a minute.
template <class Condition, class Work>
bool WorkUntil(Condition condition, Work work) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    work();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST_F(SessionTest, KeepsOnlyTheLastSeconds) {
  sonde_session_config config = ConfigIn(folder_.path());
  config.keep_last_seconds = 1;
  Start(config);
  const std::string folder = std::string(sonde_session_path()) + "/SONDE";
  std::vector<std::chrono::steady_clock::time_point> before;  // each counter
  const auto record = [&] {
    before.push_back(std::chrono::steady_clock::now());
    sonde_counter(Name("n"), 0, static_cast<double>(before.size()));
  };
  ASSERT_TRUE(
      WorkUntil([&] { return !base::PathExists(folder + "/events_000001.sonde"); }, record));
  record();
  const auto end = std::chrono::steady_clock::now();
  const CheckedCapture capture = Stop();
  ASSERT_EQ(capture.TotalDropped(), 0u);
  const size_t kept = capture.Count(RecordKind::kCounter, "n");
  ASSERT_LT(kept, before.size()) << "the first ones are gone";
  ASSERT_GT(kept, 0u);
  EXPECT_EQ(capture.records.back().slot + 1, before.size()) << "the last one is there";
  EXPECT_EQ(capture.records.back().slot - capture.records.front().slot + 1, kept) << "none between";
  for (size_t i = 0; i < before.size() - kept; ++i) {
    ASSERT_GT(end - before[i], std::chrono::seconds(1)) << "gone too early: " << i;
  }
}

std::string DictionaryPath(const std::string& folder, int number) {
  char name[48];
  std::snprintf(name, sizeof(name), "/SONDE/dictionary_%06d.sonde", number);
  return folder + name;
}

uint64_t DictionaryBytes(const std::string& folder) {
  uint64_t bytes = 0;
  for (int number = 1; number < 100; ++number) {
    struct stat about;
    if (stat(DictionaryPath(folder, number).c_str(), &about) == 0) {
      bytes += static_cast<uint64_t>(about.st_size);
    }
  }
  return bytes;
}

// Ranges with a name, an argument set and a stack of their own each, as a service makes them
// without end.
class NewRanges {
 public:
  explicit NewRanges(sonde_domain domain) : domain_(domain) {}

  void Record() {
    static int number = 0;  // new names when the test is repeated, too
    const std::string text = filler_ + std::to_string(number++);
    sonde_args_builder builder;
    sonde_args_init(&builder);
    sonde_args_text(&builder, Name("text"), text.data(), text.size());
    const sonde_frame frame = sonde_frame_intern(Name("f" + text), Name("file.py"), 7);
    const sonde_stack stack = sonde_stack_intern(&frame, 1);
    sonde_range_push_stack(Name(text), domain_, sonde_args_intern(&builder), stack);
    sonde_range_pop();
    written_ += 3 * text.size();
  }

  uint64_t written() const { return written_; }

  // How many of them the capture holds, each whole.
  uint64_t CheckIn(const CheckedCapture& capture) const {
    uint64_t ranges = 0;
    for (const CheckedRecord& checked : capture.records) {
      EXPECT_NE(capture.threads.count(checked.thread_index), 0u);
      if (checked.name.size() <= filler_.size()) continue;
      ++ranges;
      const auto& stack = capture.stacks.at(checked.record.link);
      const std::vector<uint32_t>& frame = capture.frames.at(stack.at(0));
      EXPECT_EQ(capture.names.at(frame.at(0)), "f" + checked.name);
      EXPECT_EQ(capture.names.at(frame.at(1)), "file.py");
      EXPECT_NE(capture.args.at(checked.record.args).find(checked.name), std::string::npos);
    }
    return ranges;
  }

 private:
  const std::string filler_ = std::string(200, 'x');
  sonde_domain domain_;
  uint64_t written_ = 0;  // bytes of text
};

// Names and a frame to which a set and a stack refer that are made later.
class PartsOfEntries {
 public:
  void Record(sonde_domain domain) const {
    sonde_args_builder builder;
    sonde_args_init(&builder);
    sonde_args_field(&builder, key_, static_cast<uint16_t>(capture::ArgType::kName), &value_,
                     sizeof(value_));
    sonde_range_push_stack(Name("late"), domain, sonde_args_intern(&builder),
                           sonde_stack_intern(&frame_, 1));
    sonde_range_pop();
  }

  void CheckIn(const CheckedCapture& capture) const {
    EXPECT_EQ(capture.Count(RecordKind::kRange, "late"), 1u);
    EXPECT_EQ(capture.names.count(key_), 1u);
    EXPECT_EQ(capture.names.count(value_), 1u);
    EXPECT_EQ(capture.frames.count(frame_), 1u);
  }

 private:
  const sonde_name key_ = Name("key of the first second");
  const sonde_name value_ = Name("value of the first second");
  const sonde_frame frame_ = sonde_frame_intern(Name("function"), Name("first.py"), 1);
};

TEST_F(SessionTest, DictionaryOfTheLastSecondsDoesNotGrow) {
  sonde_session_config config = ConfigIn(folder_.path());
  config.keep_last_seconds = 1;
  Start(config);
  const std::string folder = sonde_session_path();
  const sonde_name rare = Name("a name of the first second");
  const sonde_domain domain = sonde_domain_create("kept domain");
  sonde_range_push(Name("open all the time"), domain);
  sonde_mark(rare, domain, 0);
  std::thread([] { sonde_mark(Name("mark of a thread that ends"), 0, 0); }).join();
  EXPECT_EQ(sonde_metadata("before", "1"), 0);
  const PartsOfEntries parts;

  NewRanges ranges(domain);
  CheckedCapture killed;  // as a kill at this moment would leave it
  const auto record = [&] {
    for (int i = 0; i < 400; ++i) {
      ranges.Record();
      if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    killed = CheckCapture(folder);
  };
  // Complete, but without names of the first second: a segment may be deleted while it is searched.
  ASSERT_TRUE(WorkUntil(
      [&] {
        return !killed.names.empty() && killed.problems.empty() && killed.names.count(rare) == 0 &&
               DictionaryBytes(folder) < ranges.written();
      },
      record))
      << DictionaryBytes(folder) << " bytes for " << ranges.written() << killed.ProblemText();
  EXPECT_FALSE(base::PathExists(DictionaryPath(folder, 1)));
  EXPECT_EQ(killed.Count(RecordKind::kRange, "open all the time", true), 1u);

  sonde_mark(rare, domain, 0);  // its entry has gone and must come back
  parts.Record(domain);         // and so must what new entries refer to
  for (int i = 0; i < 1000; ++i) ranges.Record();
  sonde_range_pop();
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kMark, "a name of the first second"), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kRange, "open all the time"), 1u);
  parts.CheckIn(capture);
  EXPECT_EQ(capture.metadata.at("before"), "1");
  EXPECT_EQ(capture.domains.at(domain), "kept domain");
  EXPECT_GE(capture.clock_samples.size(), 2u);
  EXPECT_GE(ranges.CheckIn(capture), 1000u);

  // The next session has its own dictionary again.
  Start();
  sonde_mark(rare, domain, 0);
  EXPECT_EQ(Stop().Count(RecordKind::kMark, "a name of the first second"), 1u);
}

}  // namespace
}  // namespace sonde::record
