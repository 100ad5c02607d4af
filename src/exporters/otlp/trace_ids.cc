#include "exporters/otlp/trace_ids.h"

#include <algorithm>

#include "base/strings.h"

namespace sonde::exporters {
namespace {

constexpr size_t kTraceDigits = 32;
constexpr size_t kSpanDigits = 16;
constexpr size_t kTraceAt = 3;
constexpr size_t kSpanAt = kTraceAt + kTraceDigits + 1;
constexpr size_t kFlagsAt = kSpanAt + kSpanDigits + 1;
constexpr size_t kLength = kFlagsAt + 2;  // of version 00; later ones may go on behind a hyphen

bool IsTraceDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool AreTraceDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), IsTraceDigit);
}
bool IsNoId(std::string_view id) { return id.find_first_not_of('0') == std::string_view::npos; }

int TraceDigit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// FNV-1a, and a last step that spreads what differs in the last letters only.
uint64_t StableHash(std::string_view text, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325U ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  hash ^= hash >> 32U;
  hash *= 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29U);
}

std::string IdDigits(uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits(kSpanDigits, '0');
  for (size_t i = kSpanDigits; i > 0; --i, value >>= 4U) digits[i - 1] = kDigits[value & 15U];
  return digits;
}

}  // namespace

std::optional<TraceParent> ParseTraceParent(std::string_view header) {
  if (header.size() < kLength) return std::nullopt;
  const std::string_view version = header.substr(0, 2);
  const std::string_view rest = header.substr(kLength);
  const TraceParent parent = {header.substr(kTraceAt, kTraceDigits),
                              header.substr(kSpanAt, kSpanDigits)};
  const std::string_view flags = header.substr(kFlagsAt, 2);
  const bool has_hyphens =
      header[kTraceAt - 1] == '-' && header[kSpanAt - 1] == '-' && header[kFlagsAt - 1] == '-';
  const bool are_digits = AreTraceDigits(version) && AreTraceDigits(parent.trace_id) &&
                          AreTraceDigits(parent.span_id) && AreTraceDigits(flags);
  const bool ends_well = rest.empty() || (version != "00" && rest[0] == '-');
  if (!has_hyphens || !are_digits || !ends_well || version == "ff" || IsNoId(parent.trace_id) ||
      IsNoId(parent.span_id)) {
    return std::nullopt;
  }
  TraceParent found = parent;
  found.flags = static_cast<uint8_t>(TraceDigit(flags[0]) * 16 + TraceDigit(flags[1]));
  return found;
}

std::string MakeTraceId(std::string_view session, std::string_view request) {
  const std::string text = base::Concat(session, "\n", request);
  // Never 0.
  return base::Concat(IdDigits(StableHash(text, 1) | 1U), IdDigits(StableHash(text, 2)));
}

std::string MakeSpanId(std::string_view trace_id, std::string_view session, int64_t request,
                       int64_t place) {
  const std::string text = base::Concat(trace_id, "\n", session, "\n", std::to_string(request),
                                        "\n", std::to_string(place));
  return IdDigits(std::max<uint64_t>(StableHash(text, 3), 1));
}

}  // namespace sonde::exporters
