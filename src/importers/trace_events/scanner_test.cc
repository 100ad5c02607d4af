// A scanner that has seen other events reads one as a new scanner does.
#include "importers/trace_events/scanner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/strings.h"

namespace sonde::importers::trace_events {
namespace {

const std::vector<std::string>& Events() {
  static const std::vector<std::string> events = {
      R"({"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": "10.125", "dur": 3.5, "args": {"k": 1}})",
      R"({"ph": "X", "name": "b", "pid": 1, "tid": 3, "ts": "11.125", "dur": 4, "args": {"k": 2}})",
      R"({"ph": "X", "name": "b", "pid": 1, "tid": 2, "ts": 12, "dur": 4e0, "cat": "c"})",
      R"({"ph": "X", "name":"b", "pid": 1, "tid": 2, "ts":-12, "dur": 5, "cat": "d"})",
      R"({"ph": "X", "name": "b", "pid": 1, "tid": 2, "ts": 12, "dur": 5, "cat": "d"})",
      R"({"ph": "C", "name": "b", "pid": 1, "tid": 2, "ts": 12, "dur": 5, "cat": "d"})",
      R"({"name": "b", "ph": "X", "ts": 1.0005, "pid": "p", "tid": "t", "dur": 1})",
      R"({"name": "b", "ph": "X", "ts": 1.0015, "pid": "p", "tid": "t\n", "dur": 1})",
      R"({"name": "b", "ph": "X", "ts": 1.0015, "pid": "p", "tid": "say "x" twice", "dur": 1})",
      R"({"name": "b", "ph": "X", "ts": 1.0015, "pid": null, "tid": [1, "2"], "dur": 1})",
      R"({"name": "b\u00e9", "ph": "X", "ts": "x", "pid": 1, "tid": 2})",
      R"({"name": null, "ph": "Xy", "ts": 1, "pid": 1, "tid": 2})",
      R"({"name": "n", "ph": "", "ts": 1, "pid": 1, "tid": 2})",
      R"({"name": "n", "ph": "X", "ph": 123, "ts": 1, "pid": 1, "pid": 5, "tid": 2})",
      R"({"name": "s", "ph": "s", "id": 7, "pid": 1, "tid": 2, "ts": 3, "cat": "ac2g"})",
      R"({"name": "s", "ph": "s", "id": "7", "pid": 1, "tid": 2, "ts": 3, "cat": "ac2g"})",
      R"({"name": "s", "ph": "f", "id": 7, "pid": 1, "tid": 2, "ts": 3, "cat": "ac2g", "bp": "e"})",
      R"({"name": "s", "ph": "b", "id2": {"local": "0x1"}, "pid": 1, "scope": "w", "ts": 3})",
      R"({"name": "i", "ph": "i", "s": "t", "pid": 1, "tid": 2, "ts": 3, "other": {"a": "}"}})",
      R"({"name": "i", "ph": "i", "s": "p", "pid": 1, "tid": 2, "ts": 3, "other": 5})",
      R"({"name": "x", "ph": "X", "tts": 5, "pid": 1, "tid": 2, "ts": 3, "args": {}})",
      R"({"name": "x", "ph": "X", "bind_id": 5, "flow_in": true, "pid": 1, "tid": 2, "ts": 3})",
      R"({"name": "x", "ph": "X", "bind_id": 5, "flow_out": true, "pid": 1, "tid": 2, "ts": 3})",
      R"({
    "ph": "X", "cat": "k",
    "name": "m", "pid": 1,"tid": 2, "ts" : 3 , })",
      R"({,,"ph":"X",,"ts":1})",
      R"({})",
      R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x", "n": [{"a": 1}]}})",
  };
  return events;
}

std::string TextOf(EventScanner& scanner, const std::string& text) {
  using base::Concat;
  TraceEvent e;
  const char* behind = nullptr;
  const int64_t repaired = scanner.repaired_strings();
  const ScanResult result = scanner.Scan(text.data(), text.data() + text.size(), e, behind);
  if (result != ScanResult::kEvent) return std::to_string(static_cast<int>(result));
  std::string out = Concat(
      std::to_string(static_cast<int>(scanner.problem())), "|", std::string(1, e.phase), "|",
      std::to_string(e.has_ts), std::to_string(e.has_dur), std::to_string(e.id_is_text),
      std::to_string(e.flow_in), std::to_string(e.flow_out), std::to_string(e.has_more), "|");
  out += Concat(std::to_string(e.ts_ns), "|", std::to_string(e.dur_ns), "|", e.name, "|",
                e.category, "|", e.pid, "|", e.tid, "|", e.id, "|");
  out += Concat(e.bind, "|", e.bind_id, "|", e.scope, "|", e.args, "|",
                std::to_string(behind - text.data()), "|",
                std::to_string(scanner.repaired_strings() - repaired));
  return out;
}

std::string TextOfNew(const std::string& text) {
  EventScanner scanner;
  return TextOf(scanner, text);
}

TEST(ScannerTest, EarlierEventsChangeNothing) {
  EventScanner seen;
  for (int round = 0; round < 3; ++round) {
    for (const std::string& a : Events()) {
      for (const std::string& b : Events()) {
        ASSERT_EQ(TextOf(seen, a), TextOfNew(a));
        ASSERT_EQ(TextOf(seen, b), TextOfNew(b)) << "behind " << a;
      }
    }
  }
}

TEST(ScannerTest, KnownEventsThatAreCutOffAreIncomplete) {
  for (const std::string& event : Events()) {
    EventScanner scanner;
    TextOf(scanner, event);
    for (size_t size = 1; size < event.size(); ++size) {
      const std::string cut = event.substr(0, size);
      ASSERT_EQ(TextOf(scanner, cut), TextOfNew(cut)) << cut;
    }
  }
}

TEST(ScannerTest, MoreShapesThanAreKept) {
  EventScanner scanner;
  for (int i = 0; i < 20000; ++i) {
    const std::string number = std::to_string(i);
    const std::string event =
        base::Concat(R"({"ph": "X", "pid": )", number, R"(, "tid": )", number, R"(, "name": "n)",
                     number, R"(", "ts": )", number, R"(, "cat": "c)", number, R"("})");
    ASSERT_EQ(TextOf(scanner, event), TextOfNew(event));
  }
}

}  // namespace
}  // namespace sonde::importers::trace_events
