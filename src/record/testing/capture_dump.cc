// Prints a capture for end-to-end tests: one JSON line of facts, then one line a record.
//   sonde_capture_dump SPAN_FOLDER
// Exit status 1 when the capture has anything in it that must never be there.
#include <cstdio>
#include <string>

#include "record/json.h"
#include "record/testing/capture_checker.h"

namespace {

using sonde::record::CheckedCapture;
using sonde::record::CheckedRecord;
using sonde::record::QuoteJson;

template <class List>
std::string Join(const List& list) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + item;
  return text;
}

void PrintFacts(const CheckedCapture& capture) {
  std::vector<std::string> metadata;
  for (const auto& [key, json] : capture.metadata) metadata.push_back(QuoteJson(key) + ": " + json);
  std::vector<std::string> issues, problems, threads;
  for (const std::string& text : capture.issues) issues.push_back(QuoteJson(text));
  for (const std::string& text : capture.problems) problems.push_back(QuoteJson(text));
  for (const auto& [index, thread] : capture.threads) {
    threads.push_back("\"" + std::to_string(index) + "\": " + QuoteJson(thread.name));
  }
  const int reason = capture.end.has_value() ? static_cast<int>(capture.end->reason) : 0;
  printf(
      "{\"problems\": [%s], \"issues\": [%s], \"metadata\": {%s}, \"threads\": {%s}, "
      "\"end\": %d, \"dropped\": %llu, \"ring_files\": %llu}\n",
      Join(problems).c_str(), Join(issues).c_str(), Join(metadata).c_str(), Join(threads).c_str(),
      reason, static_cast<unsigned long long>(capture.TotalDropped()),
      static_cast<unsigned long long>(capture.ring_files));
}

void PrintRecord(const CheckedCapture& capture, const CheckedRecord& checked) {
  const auto domain = capture.domains.find(sonde::capture::DomainOf(checked.record));
  const bool memory = sonde::capture::KindOf(checked.record) == sonde::capture::RecordKind::kMemory;
  printf(
      "{\"kind\": %d, \"name\": %s, \"domain\": %s, \"thread\": %u, \"ticks\": %llu, "
      "\"dur\": %lld, \"args\": %u, \"link\": %u, \"sequence\": %d}\n",
      static_cast<int>(sonde::capture::KindOf(checked.record)), QuoteJson(checked.name).c_str(),
      QuoteJson(domain == capture.domains.end() ? "default" : domain->second).c_str(),
      checked.thread_index, static_cast<unsigned long long>(checked.record.ticks),
      checked.open ? -1LL : static_cast<long long>(sonde::capture::DurationTicks(checked.record)),
      memory ? 0 : checked.record.args, memory ? 0 : checked.record.link, checked.record.sequence);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: sonde_capture_dump SPAN_FOLDER\n");
    return 2;
  }
  const CheckedCapture capture = sonde::record::CheckCapture(argv[1]);
  PrintFacts(capture);
  for (const CheckedRecord& checked : capture.records) PrintRecord(capture, checked);
  return capture.problems.empty() ? 0 : 1;
}
