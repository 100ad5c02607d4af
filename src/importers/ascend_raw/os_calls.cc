#include "importers/ascend_raw/os_calls.h"

#include <string>
#include <vector>

#include "base/strings.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/text_lines.h"

namespace sonde::importers::raw {
namespace {

constexpr int64_t kNsPerSecondInt = 1'000'000'000;
constexpr int64_t kNsPerMillisecond = 1'000'000;

// "12.345" of a unit of so many nanoseconds.
std::optional<int64_t> NsOf(std::string_view text, int64_t unit) {
  constexpr size_t kMostDigits = 9;
  const size_t point = text.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const auto whole = base::ParseUint64(text.substr(0, point));
  const std::string_view digits = text.substr(point + 1, kMostDigits);
  const auto part = base::ParseUint64(digits);
  if (!whole || !part || *whole > static_cast<uint64_t>(INT64_MAX / unit - 1)) return std::nullopt;
  int64_t ns = static_cast<int64_t>(*part) * unit;
  for (size_t i = 0; i < digits.size(); ++i) ns /= 10;
  return static_cast<int64_t>(*whole) * unit + ns;
}

// "futex" of "futex(uaddr: 0x1".
std::string_view NameOf(std::string_view call) { return call.substr(0, call.find('(')); }

}  // namespace

std::optional<OsCall> ReadSystemCall(std::string_view line) {
  constexpr std::string_view kEnd = " ms): ";
  const size_t open = line.find('(');
  const size_t close = line.find(kEnd);
  if (close == std::string_view::npos || open > close) return std::nullopt;
  const auto begin = NsOf(base::Trim(line.substr(0, open)), kNsPerMillisecond);
  const auto dur = NsOf(base::Trim(line.substr(open + 1, close - open - 1)), kNsPerMillisecond);
  const std::string_view rest = base::Trim(line.substr(close + kEnd.size()));
  const std::string_view head = NameOf(rest);
  if (!begin || !dur || head.size() == rest.size()) return std::nullopt;
  OsCall call{.begin = *begin, .dur = *dur, .name = head};
  if (const size_t blank = head.rfind(' '); blank != std::string_view::npos) {
    const std::string_view thread = base::Trim(head.substr(0, blank));
    const auto tid = base::ParseInt64(thread.substr(thread.rfind('/') + 1));
    if (!tid || *tid < 0) return std::nullopt;
    call.tid = *tid;
    call.name = head.substr(blank + 1);
  }
  return call.name.empty() ? std::nullopt : std::optional(call);
}

std::optional<OsCall> ReadThreadCall(std::string_view line) {
  constexpr size_t kWords = 5;
  const std::vector<std::string_view> words = WordsOf(line);
  if (words.size() < kWords || words[0] != "[pid" || !words[1].ends_with(']')) return std::nullopt;
  std::string_view last = words.back();
  if (!last.starts_with('<') || !last.ends_with('>')) return std::nullopt;
  last = last.substr(1, last.size() - 2);
  const auto tid = base::ParseInt64(words[1].substr(0, words[1].size() - 1));
  const auto begin = NsOf(words[2], kNsPerSecondInt);
  const auto dur = NsOf(last, kNsPerSecondInt);
  if (!tid || *tid < 0 || !begin || !dur) return std::nullopt;
  OsCall call{.begin = *begin, .dur = *dur, .tid = *tid};
  // "<... pthread_join resumed> ..." where another thread's line came in between.
  const size_t arrow = words[3].find("->");
  call.name = arrow == std::string_view::npos ? words[4] : NameOf(words[3].substr(arrow + 2));
  return call.name.empty() ? std::nullopt : std::optional(call);
}

bool OsCalls::Read(const Stream& stream) {
  const bool is_system = stream.name == "host_syscall.data";
  if (!is_system && stream.name != "host_pthreadcall.data") return false;
  if (clock_.began_ns <= 0) return false;
  const std::string text = ReadTexts(stream, rows_.issues);
  const int32_t category = rows_.names.Intern("os_runtime");
  std::optional<int64_t> first;
  for (const std::string_view line : base::Split(text, '\n')) {
    if (base::Trim(line).empty()) continue;
    const auto call = is_system ? ReadSystemCall(line) : ReadThreadCall(line);
    if (!call) {
      rows_.issues.Add(kBadRecord, stream.name);
      continue;
    }
    if (!first) first = call->begin;
    // The first call of all, which the vendor's tool leaves out, too.
    if (call->name == "pthread_once") continue;
    int64_t ts = 0;
    if (__builtin_add_overflow(clock_.began_ns, call->begin - *first, &ts)) ts = -1;
    rows_.AddSlice(TrackOf(call->tid < 0 ? pid_ : call->tid, is_system), ts, call->dur,
                   rows_.names.Intern(call->name), category);
  }
  return true;
}

// A track for each file, since it is unknown which calls of one contain those of the other.
int32_t OsCalls::TrackOf(int64_t tid, bool is_system) {
  const auto [known, is_new] = tracks_.try_emplace({tid, is_system}, store::kNone);
  if (is_new) {
    const int32_t process = rows_.Process(pid_);
    const std::string name =
        base::Concat("Thread ", std::to_string(tid), is_system ? "" : " pthread");
    known->second = rows_.Track({.kind = capture::TrackKind::kOsRuntime,
                                 .name = name,
                                 .process_id = process,
                                 .thread_id = rows_.Thread(process, tid)});
  }
  return known->second;
}

}  // namespace sonde::importers::raw
