#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "capture/args.h"
#include "record/fast_path.h"
#include "record/processor_use.h"
#include "record/testing/session_fixture.h"

namespace sonde::record {
namespace {

using capture::RecordKind;
using capture::StopReason;

TEST_F(SessionTest, NothingIsRecordedWithoutSession) {
  sonde_range_push(Name("idle"), 0);
  sonde_range_pop();
  EXPECT_EQ(sonde_recording(), 0);
  EXPECT_EQ(sonde_range_start(Name("idle"), 0, 0), 0u);
  EXPECT_EQ(sonde_session_stop(nullptr, 0), -EALREADY);
  EXPECT_STREQ(sonde_last_error(), "no session is active");
}

TEST_F(SessionTest, RangesNestAndCarryWhatTheyWereGiven) {
  const sonde_domain domain = sonde_domain_create("Nest");
  const sonde_frame frame = sonde_frame_intern(Name("f"), Name("file.py"), 7);
  const sonde_stack stack = sonde_stack_intern(&frame, 1);
  sonde_args_builder builder;
  sonde_args_init(&builder);
  sonde_args_int(&builder, Name("count"), 5);
  sonde_args_text(&builder, Name("dtype"), "float32", 7);
  const sonde_args args = sonde_args_intern(&builder);
  EXPECT_EQ(sonde_args_intern(&builder), args) << "equal content must share an id";

  Start();
  sonde_range_push_stack(Name("outer"), domain, args, stack);
  sonde_range_push(Name("inner"), 0);
  sonde_range_pop();
  sonde_range_pop();
  const CheckedCapture capture = Stop();

  ASSERT_EQ(capture.records.size(), 2u);
  const CheckedRecord& inner = capture.records[0];
  const CheckedRecord& outer = capture.records[1];
  EXPECT_EQ(inner.name, "inner");
  EXPECT_EQ(outer.name, "outer");
  EXPECT_EQ(capture.domains.at(capture::DomainOf(outer.record)), "Nest");
  EXPECT_EQ(outer.record.args, args);
  EXPECT_EQ(outer.record.link, stack);
  EXPECT_EQ(capture.stacks.at(stack), std::vector<uint32_t>{frame});
  EXPECT_EQ(capture.frames.at(frame), (std::vector<uint32_t>{Name("f"), Name("file.py"), 7}));
  EXPECT_LE(outer.record.ticks, inner.record.ticks);
  EXPECT_GE(outer.record.ticks + capture::DurationTicks(outer.record),
            inner.record.ticks + capture::DurationTicks(inner.record));
  EXPECT_EQ(capture.args.at(args).size(), 2 * sizeof(capture::ArgHead) + 8 + 8);
}

TEST_F(SessionTest, InstantsCountersFlowsSpans) {
  Start();
  sonde_mark(Name("mark"), 0, 0);
  sonde_counter(Name("load"), 0, 0.25);
  const uint64_t flow = sonde_flow_id();
  sonde_flow_out(Name("flow"), flow);
  const uint64_t span = sonde_range_start(Name("span"), 0, 0);
  ASSERT_NE(span, 0u);
  ASSERT_NE(span, flow);
  std::thread other([&] {
    sonde_flow_in(Name("flow"), flow);
    sonde_range_end(span);
  });
  other.join();
  const CheckedCapture capture = Stop();

  EXPECT_EQ(capture.Count(RecordKind::kMark, "mark"), 1u);
  const Record counter = OfKind(capture, RecordKind::kCounter).at(0).record;
  EXPECT_EQ(std::bit_cast<double>(counter.args | (uint64_t{counter.link} << 32)), 0.25);
  const CheckedRecord out = OfKind(capture, RecordKind::kFlowOut).at(0);
  const CheckedRecord in = OfKind(capture, RecordKind::kFlowIn).at(0);
  EXPECT_EQ(out.record.args | (uint64_t{out.record.link} << 32), flow);
  EXPECT_EQ(in.record.args | (uint64_t{in.record.link} << 32), flow);
  EXPECT_NE(out.thread_index, in.thread_index);
  const CheckedRecord begin = OfKind(capture, RecordKind::kSpanBegin).at(0);
  const CheckedRecord end = OfKind(capture, RecordKind::kSpanEnd).at(0);
  const auto id_of = [](const Record& r) {
    return r.link | (uint64_t{static_cast<uint32_t>(r.sequence)} << 32);
  };
  EXPECT_EQ(id_of(begin.record), span);
  EXPECT_EQ(id_of(end.record), span);
}

TEST_F(SessionTest, MemoryEventsKeepAllFields) {
  Start();
  const sonde_memory_event event{0x1234, -64, 1000, 2000, -1, 3, 20, 5};
  for (int i = 0; i < 10; ++i) sonde_memory(&event);
  const CheckedCapture capture = Stop();
  ASSERT_EQ(capture.records.size(), 10u);
  for (const CheckedRecord& checked : capture.records) {
    capture::MemoryHead head;
    std::memcpy(&head, &checked.record, sizeof(head));
    EXPECT_EQ(head.pointer, 0x1234u);
    EXPECT_EQ(head.size_bytes, -64);
    EXPECT_EQ(capture::DurationTicks(checked.record), (20u << 8) | 5u);
    EXPECT_EQ(checked.memory.total_allocated, 1000);
    EXPECT_EQ(checked.memory.total_reserved, 2000);
    EXPECT_EQ(checked.memory.total_active, -1);
    EXPECT_EQ(checked.memory.stream, 3u);
  }
  EXPECT_EQ(CurrentStatus().records, 10u);
}

TEST_F(SessionTest, OpenRangesAreKeptAsUnfinished) {
  Start();
  sonde_range_push(Name("open"), 0);
  std::thread thread([] { sonde_range_push(Name("open in a thread that ends"), 0); });
  thread.join();
  const CheckedCapture capture = Stop();
  sonde_range_pop();  // after the session: no effect
  EXPECT_EQ(capture.Count(RecordKind::kRange, "open", true), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kRange, "open in a thread that ends", true), 1u);
  EXPECT_EQ(capture.records.size(), 2u);
}

TEST_F(SessionTest, PopsThatDoNotMatch) {
  Start();
  const uint32_t word = SessionWord();
  sonde_range_pop();  // nothing open
  PushOpen(word, RecordKind::kOp, 0, Name("op"), 0, 0, -1);
  sonde_range_push(Name("user, never ended"), 0);
  PopClose(word);  // ends the op, not the user's range on top of it
  sonde_step(1);
  PushOpen(word, RecordKind::kOp, 0, Name("op2"), 0, 0, -1);
  sonde_step(2);  // ends step 1, below op2
  PopClose(word);
  sonde_step(-1);
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kOp, "op"), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kOp, "op2"), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kRange, "user, never ended", true), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kStep, "ProfilerStep#1"), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kStep, "ProfilerStep#2"), 1u);
  EXPECT_EQ(std::count(capture.issues.begin(), capture.issues.end(),
                       "1 range ends were ignored: they had no begin in this session"),
            1);
}

TEST_F(SessionTest, StepThatTurnsOutToBeNone) {
  Start();
  const uint32_t word = SessionWord();
  sonde_step(1);
  PushOpen(word, RecordKind::kOp, 0, Name("op"), 0, 0, -1);
  sonde_step(-2);  // below op
  PopClose(word);
  sonde_step(-2);  // nothing to forget
  sonde_step(1);
  sonde_step(-1);
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kOp, "op"), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kStep), 1u);
  EXPECT_TRUE(capture.issues.empty());
}

uint64_t ProcessorNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void Compute(uint64_t ns) {
  const uint64_t end = ProcessorNs() + ns;
  while (ProcessorNs() < end) {
  }
}

TEST_F(SessionTest, StepsKnowWhatTheyUsedOfProcessors) {
  constexpr uint64_t kWorkNs = 20'000'000;
  Start();
  sonde_step(1);
  Compute(kWorkNs);
  std::thread([] { Compute(kWorkNs); }).join();
  sonde_step(2);
  sonde_step(-1);
  const CheckedCapture capture = Stop();

  const auto threads = OfKind(capture, RecordKind::kThreadUse);
  const auto processes = OfKind(capture, RecordKind::kProcessUse);
  ASSERT_EQ(threads.size(), 3u);
  ASSERT_EQ(processes.size(), 3u);
  const auto grown = [](const std::vector<CheckedRecord>& list) {
    return capture::DurationTicks(list[1].record) - capture::DurationTicks(list[0].record);
  };
  EXPECT_GE(grown(threads), kWorkNs);
  EXPECT_LT(grown(threads), 2 * kWorkNs) << "of the other thread, too";
  EXPECT_GE(grown(processes), 2 * kWorkNs);
  const auto steps = OfKind(capture, RecordKind::kStep);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_LE(threads[1].record.ticks,
            steps[0].record.ticks + capture::DurationTicks(steps[0].record));
  const auto wait = [](const Record& record) {
    return record.args | (uint64_t{record.link} << 32);
  };
  const bool is_wait_known = ::access("/proc/thread-self/schedstat", R_OK) == 0;
  EXPECT_EQ(wait(threads[0].record) != kUnknownWait, is_wait_known);
  if (is_wait_known) {
    EXPECT_GE(wait(threads[2].record), wait(threads[0].record));
  }
}

// Programs close all files that they do not know, and open others.
TEST(ProcessorUseReader, AnotherFileInItsPlaceIsNeitherReadNorClosed) {
  const int next = ::dup(2);  // the number that the file will get
  ::close(next);
  ProcessorUseReader reader;
  const bool is_wait_known = reader.Read().wait_ns != kUnknownWait;
  const int other = ::open("/dev/zero", O_RDONLY);
  ASSERT_GE(::dup2(other, next), 0);
  EXPECT_EQ(reader.Read().wait_ns, kUnknownWait);
  reader.Close();
  EXPECT_NE(::fcntl(next, F_GETFD), -1);
  EXPECT_EQ(reader.Read().wait_ns != kUnknownWait, is_wait_known);
  ::close(next);
  ::close(other);
}

TEST_F(SessionTest, RangesDeeperThanTheStackAreDroppedAndCounted) {
  Start();
  const int depth = static_cast<int>(capture::kMaxOpenRanges) + 10;
  for (int i = 0; i < depth; ++i) sonde_range_push(Name("deep"), 0);
  for (int i = 0; i < depth; ++i) sonde_range_pop();
  sonde_range_pop();  // one too many
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kRange, "deep"), capture::kMaxOpenRanges);
  EXPECT_EQ(capture.TotalDropped(), 10u);
}

TEST_F(SessionTest, DomainFilters) {
  const sonde_domain kept = sonde_domain_create("kept");
  const sonde_domain other = sonde_domain_create("other");
  sonde_session_config config = ConfigIn(folder_.path());
  config.domain_include = "kept, later";
  Start(config);
  const sonde_domain later = sonde_domain_create("later");
  for (const sonde_domain domain : {sonde_domain{0}, kept, other, later}) {
    sonde_range_push(Name("outer"), domain);
    sonde_range_push(Name("inner"), kept);
    sonde_range_pop();
    sonde_range_pop();
    sonde_mark(Name("mark"), domain, 0);
  }
  CheckedCapture capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kRange, "outer"), 2u);
  EXPECT_EQ(capture.Count(RecordKind::kRange, "inner"), 4u);
  EXPECT_EQ(capture.Count(RecordKind::kMark), 2u);

  config = ConfigIn(folder_.path());
  config.domain_exclude = "other";
  Start(config);
  for (const sonde_domain domain : {sonde_domain{0}, kept, other}) sonde_mark(Name("m"), domain, 0);
  capture = Stop();
  EXPECT_EQ(capture.Count(RecordKind::kMark), 2u);
}

TEST_F(SessionTest, FeaturesDecideWhatUsersRecord) {
  sonde_session_config config = ConfigIn(folder_.path());
  config.features = SONDE_FEATURE_OPS;
  Start(config);
  EXPECT_EQ(sonde_features(), SONDE_FEATURE_OPS | SONDE_FEATURE_RECORDING);
  sonde_range_push(Name("r"), 0);
  sonde_range_pop();
  sonde_mark(Name("m"), 0, 0);
  const sonde_memory_event event{};
  sonde_memory(&event);
  EXPECT_TRUE(Stop().records.empty());
}

// As daemons do, and as double closes do by accident.
TEST_F(SessionTest, DescriptorsThatTheProgramClosesAndTakes) {
  ASSERT_TRUE(base::MakeDirectories(folder_.File("capture")).ok());
  const std::string directory = folder_.File("capture");
  Start(ConfigIn(directory));
  sonde_mark(Name("before"), 0, 0);
  std::vector<int> taken;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.starts_with(directory)) taken.push_back(std::stoi(entry.path().filename()));
  }
  ASSERT_GE(taken.size(), 2U) << "the dictionary and the segment";
  for (const int fd : taken) {
    close(fd);
    const int own = open(folder_.File(std::to_string(fd)).c_str(), O_RDWR | O_CREAT, 0600);
    if (own != fd) {
      ASSERT_EQ(dup2(own, fd), fd);
      close(own);
    }
    ASSERT_EQ(write(fd, "user", 4), 4);
  }
  sonde_mark(Name("a name that is new"), 0, 0);
  const CheckedCapture capture = Stop();
  ASSERT_EQ(capture.records.size(), 2U);
  EXPECT_EQ(capture.records[1].name, "a name that is new");
  for (const int fd : taken) {
    EXPECT_EQ(base::ReadFile(folder_.File(std::to_string(fd))).value(), "user");
    EXPECT_EQ(close(fd), 0) << "still the program's";
  }
}

TEST_F(SessionTest, TenSessionsInOneProcess) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> made{0};
  std::thread busy([&] {  // lives through all of them
    while (!stop.load()) {
      sonde_range_push(Name("busy"), 0);
      sonde_range_pop();
      made.fetch_add(1);
      std::this_thread::yield();
    }
  });
  for (int session = 0; session < 10; ++session) {
    const std::string name = "session " + std::to_string(session);
    Start();
    const uint64_t before = made.load();
    while (made.load() < before + 10) std::this_thread::yield();
    sonde_mark(Name(name), 0, 0);
    const CheckedCapture capture = Stop();
    EXPECT_EQ(capture.Count(RecordKind::kMark, name), 1u);
    EXPECT_EQ(capture.Count(RecordKind::kMark), 1u);
    EXPECT_GE(capture.Count(RecordKind::kRange, "busy") + capture.TotalDropped(), 9u);
    EXPECT_EQ(capture.end->reason, StopReason::kStopped);
  }
  stop.store(true);
  busy.join();
  EXPECT_EQ(FindSpans(folder_.path()).size(), 10u);
}

TEST_F(SessionTest, MetadataAndIssuesReachEverySession) {
  EXPECT_EQ(sonde_metadata("model", "\"gpt\""), 0);
  sonde_report_issue("something is odd");
  sonde_session_config config = ConfigIn(folder_.path());
  config.options = "{\"level\": \"Level1\"}";
  Start(config);
  EXPECT_EQ(sonde_metadata("model", "\"gpt2\""), 0);
  EXPECT_EQ(sonde_metadata("", "1"), -EINVAL);
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.metadata.at("model"), "\"gpt2\"");
  EXPECT_EQ(capture.metadata.at("options"), "{\"level\": \"Level1\"}");
  EXPECT_EQ(std::count(capture.issues.begin(), capture.issues.end(), "something is odd"), 1);
  ASSERT_GE(capture.clock_samples.size(), 2u);
  EXPECT_LT(capture.clock_samples.front().ticks, capture.clock_samples.back().ticks);
}

TEST_F(SessionTest, ThreadsHaveNamesAndNumbers) {
  Start();
  std::thread thread([] {
    sonde_mark(Name("m"), 0, 0);
    sonde_thread_name("worker");
    sonde_thread_number(42);
  });
  thread.join();
  const CheckedCapture capture = Stop();
  const uint32_t index = capture.records.at(0).thread_index;
  EXPECT_EQ(capture.threads.at(index).name, "worker");
  EXPECT_EQ(capture.threads.at(index).framework_number, 42u);
  EXPECT_NE(capture.threads.at(index).tid, static_cast<uint32_t>(getpid()));
}

TEST_F(SessionTest, PrepareThenStartWithOtherFeatures) {
  sonde_session_config config = ConfigIn(folder_.path());
  config.features = SONDE_FEATURE_OPS;
  ASSERT_EQ(sonde_session_prepare(&config), 0);
  EXPECT_EQ(CurrentStatus().state, 1u);
  sonde_mark(Name("early"), 0, 0);
  config.features = SONDE_FEATURE_MARKERS;
  ASSERT_EQ(sonde_session_start(&config), 0);
  EXPECT_EQ(CurrentStatus().state, 2u);
  EXPECT_EQ(sonde_session_start(&config), -EBUSY);
  sonde_mark(Name("mark"), 0, 0);
  const CheckedCapture capture = Stop();
  EXPECT_EQ(capture.records.size(), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kMark, "mark"), 1u);
}

TEST_F(SessionTest, DiscardRemovesTheFolder) {
  Start();
  sonde_mark(Name("m"), 0, 0);
  const std::string path = sonde_session_path();
  EXPECT_TRUE(base::IsDirectory(path));
  EXPECT_EQ(sonde_session_discard(), 0);
  EXPECT_FALSE(base::PathExists(path));
}

TEST_F(SessionTest, FolderNames) {
  sonde_session_config config = ConfigIn(folder_.path());
  config.worker_name = "node/7";
  Start(config);
  char path[512];
  ASSERT_EQ(sonde_session_stop(path, sizeof(path)), 0);
  const std::string name(base::BaseName(path));
  const std::string start = "node_7_" + std::to_string(getpid()) + "_";
  EXPECT_EQ(name.substr(0, start.size()), start);
  EXPECT_EQ(name.size(), start.size() + 17 + std::strlen("_ascend_pt"));

  config.span_suffix = "_ascend_ms";
  time_t now = time(nullptr);
  Start(config);
  ASSERT_EQ(sonde_session_stop(path, sizeof(path)), 0);
  const std::string theirs(base::BaseName(path));
  EXPECT_TRUE(theirs.ends_with("_ascend_ms")) << theirs;
  tm utc{};  // of the stamp: %Y%m%d%H%M%S and milliseconds
  ASSERT_NE(strptime(theirs.substr(start.size(), 14).c_str(), "%Y%m%d%H%M%S", &utc), nullptr);
  EXPECT_LE(std::abs(timegm(&utc) - now), 60) << theirs;
  config.span_suffix = nullptr;

  config.folder = "mine";
  Start(config);
  ASSERT_EQ(sonde_session_stop(path, sizeof(path)), 0);
  EXPECT_EQ(base::BaseName(path), "mine");
  EXPECT_EQ(sonde_session_start(&config), -EEXIST) << "a capture must not be overwritten";
}

TEST_F(SessionTest, ListenersSeeEveryStage) {
  static std::vector<int> events;
  static std::string options;
  static bool listening;  // listeners stay for the life of the process
  listening = true;
  ASSERT_EQ(sonde_add_listener(
                [](sonde_event event, const sonde_session_config* config, void*) {
                  if (!listening) return;
                  events.push_back(event);
                  if (event == SONDE_EVENT_START) {
                    EXPECT_EQ(sonde_recording(), 0) << "START comes before the first record";
                    options = config->options == nullptr ? "" : config->options;
                  }
                  if (event == SONDE_EVENT_STOP) sonde_mark(Name("last words"), 0, 0);
                },
                nullptr),
            0);
  sonde_session_config config = ConfigIn(folder_.path());
  config.options = "{}";
  Start(config);
  const CheckedCapture capture = Stop();
  EXPECT_EQ(events, (std::vector<int>{SONDE_EVENT_PREPARE, SONDE_EVENT_START, SONDE_EVENT_STOP}));
  EXPECT_EQ(options, "{}");
  EXPECT_EQ(capture.Count(RecordKind::kMark, "last words"), 1u);
  listening = false;
}

TEST_F(SessionTest, ShorterConfigOfOlderCallers) {
  sonde_session_config config = ConfigIn(folder_.path());
  config.struct_size = offsetof(sonde_session_config, max_bytes);
  config.max_bytes = 1;  // must not be read
  Start(config);
  sonde_mark(Name("m"), 0, 0);
  EXPECT_EQ(Stop().records.size(), 1u);
  config.struct_size = 0;
  EXPECT_EQ(sonde_session_start(&config), -EINVAL);
}

}  // namespace
}  // namespace sonde::record
