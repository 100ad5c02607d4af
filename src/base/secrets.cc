#include "base/secrets.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/strings.h"

namespace sonde::base {
namespace {

// Anywhere in a name, also without dividers.
constexpr auto kInside = std::to_array<std::string_view>(
    {"passw", "passphrase", "passcode", "pswd", "secret", "credential", "apikey", "api_key",
     "api-key", "webhook", "authorization"});
// As a whole part of a name, behind or before '_', '-' or '.'.
constexpr auto kParts = std::to_array<std::string_view>(
    {"cookie", "cookies", "bearer", "pat", "pats", "jwt", "sas", "auth", "apikeys"});
// As its end, with something before it; alone, of an option.
constexpr auto kEnds = std::to_array<std::string_view>({"pwd", "key", "keys", "pass"});
constexpr auto kHarmless = std::to_array<std::string_view>(
    {"oldpwd", "bypass", "compass", "surpass", "monkey", "hotkey", "hotkeys"});
// Behind the end: one of several secrets (HF_TOKEN_2, API_TOKEN_PROD).
constexpr auto kOneOfSeveral =
    std::to_array<std::string_view>({"prod", "production", "dev", "staging", "stage", "test", "old",
                                     "new", "backup", "read", "write", "ro", "rw"});
// Tokens of texts, not of access: --pad-token, eos_token.
constexpr auto kOfTexts = std::to_array<std::string_view>(
    {"pad", "eos", "bos", "unk", "mask", "sep", "cls",     "stop",  "image", "special", "start",
     "end", "per", "max", "min", "num",  "new", "batched", "video", "audio", "think"});
constexpr auto kTokenBegins = std::to_array<std::string_view>(
    {"hf_",      "ghp_",    "gho_",        "ghs_",           "ghu_",
     "ghr_",     "AKIA",    "ASIA",        "AIza",           "eyJ",
     "glpat-",   "glrt-",   "sk-",         "sk_live_",       "sk_test_",
     "rk_live_", "whsec_",  "xoxa-",       "xoxb-",          "xoxp-",
     "xoxr-",    "xoxs-",   "xapp-",       "ya29.",          "nvapi-",
     "gsk_",     "SG.",     "hvs.",        "pypi-Ag",        "dckr_pat_",
     "tskey-",   "dop_v1_", "github_pat_", "AGE-SECRET-KEY-"});
constexpr std::string_view kBlanks = " \t\r\n\"'`";

template <class Words>
bool IsAmong(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> PartsOf(std::string_view lower) {
  std::vector<std::string> parts(1);
  for (const char c : lower) {
    if (c == '_' || c == '-' || c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::erase(parts, "");
  return parts;
}

bool IsOfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// The name that ends right before `end`.
std::string_view NameBefore(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && IsOfName(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

bool IsNumber(std::string_view part) {
  return part.find_first_not_of("0123456789") == std::string_view::npos;
}

// "Pwd=x;" of an address of a database, unlike the variable PWD.
bool IsPwd(std::string_view name, std::string_view value) {
  return ToLower(name) == "pwd" && !value.starts_with('/');
}

// "--key", "-pass": an option says with a word what a variable needs two for.
bool IsSecretOption(std::string_view word) {
  const std::vector<std::string> parts = PartsOf(ToLower(word));
  return word.starts_with('-') && parts.size() == 1 && IsAmong(kEnds, parts[0]);
}

// ://user:password@ and ://token@.
void MaskUsers(std::string& text) {
  for (size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    const size_t begin = at + 3;
    const size_t end = std::min(text.find_first_of("/?#\\\"'` \t\r\n", begin), text.size());
    const size_t user_end = text.substr(begin, end - begin).rfind('@');
    if (user_end != std::string::npos && user_end > 0) text.replace(begin, user_end, kMasked);
  }
}

// user:password@host without a scheme. An image of containers has a colon and "@sha256", too.
void MaskUsersOfHosts(std::string& text) {
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
    if (text.substr(at, 8) == "@sha256:") continue;
    const size_t blank = text.find_last_of(" \t\r\n\"'`,;=/(", at);
    const size_t begin = blank == std::string::npos ? 0 : blank + 1;
    const size_t colon = text.find(':', begin);
    const bool has_both = colon != std::string::npos && colon > begin && colon + 1 < at;
    if (!has_both || NameBefore(text, colon).size() != colon - begin) continue;
    text.replace(begin, at - begin, kMasked);
    at = begin + kMasked.size();
  }
}

// A private key as a text, whole.
void MaskKeys(std::string& text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  for (size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    const size_t title = at + kBegin.size();
    const size_t title_end = std::min(text.find("-----", title), text.size());
    if (text.substr(title, title_end - title).find("PRIVATE KEY") == std::string::npos) continue;
    const size_t last = text.find("-----END ", title_end);
    text.replace(at, last == std::string::npos ? last : last - at, kMasked);
  }
}

// Behind blanks and one opening quote, which may be escaped.
size_t BeginOfValue(std::string_view text, size_t begin) {
  begin = std::min(text.find_first_not_of(" \t\r\n", begin), text.size());
  if (text.substr(begin, 2) == "\\\"") return begin + 2;
  const bool is_quoted = begin < text.size() && kBlanks.find(text[begin]) != std::string_view::npos;
  return begin + (is_quoted ? 1 : 0);
}

// Where a value in a text ends: at its quote; a cookie and an authorization with their line.
size_t EndOfValue(std::string_view text, size_t begin, std::string_view name) {
  constexpr std::string_view kQuotes = "\"'`";
  const char before = begin > 0 ? text[begin - 1] : ' ';
  const std::string lower = ToLower(name);
  const bool is_header = lower.ends_with("cookie") || lower.ends_with("authorization");
  if (kQuotes.find(before) == std::string_view::npos) {
    const std::string_view ends = is_header ? "}\"'`\r\n" : "&,;}\"'`\t\r\n";
    return std::min(text.find_first_of(ends, begin), text.size());
  }
  size_t end = std::min(text.find(before, begin), text.size());
  const bool is_escaped = begin > 1 && text[begin - 2] == '\\';
  if (is_escaped && end > begin && text[end - 1] == '\\') --end;
  return end;
}

// name=value, "name": "value" and ?name=value& inside of a text.
void MaskNamed(std::string& text) {
  for (size_t at = text.find_first_of("=:"); at != std::string::npos;
       at = text.find_first_of("=:", at + 1)) {
    size_t name_end = at;
    const auto is_around = [](char c) { return c == '\\' || kBlanks.find(c) != kBlanks.npos; };
    while (name_end > 0 && is_around(text[name_end - 1])) --name_end;
    std::string_view name = NameBefore(text, name_end);
    const bool is_signature = IsAmong(std::to_array<std::string_view>({"sig", "signature"}), name);
    const size_t begin = BeginOfValue(text, at + 1);
    const std::string_view value = std::string_view(text).substr(begin);
    if (value.starts_with("//")) continue;  // an address: MaskUsers looks at it
    if (!is_signature && !IsSecretName(name) && !IsPwd(name, value)) continue;
    const size_t end = EndOfValue(text, begin, name);
    if (end > begin) text.replace(begin, end - begin, kMasked);
    at = begin + kMasked.size() - 1;
    if (at >= text.size()) break;
  }
}

// Words behind "Bearer", and words that begin as tokens do.
void MaskWords(std::string& text) {
  constexpr size_t kShortestToken = 16;
  constexpr std::string_view kWordEnds = " \t\r\n\"'`,;&=:()[]{}<>";
  bool is_behind = false;
  for (size_t begin = text.find_first_not_of(kWordEnds); begin != std::string::npos;
       begin = text.find_first_not_of(kWordEnds, begin)) {
    size_t end = std::min(text.find_first_of(kWordEnds, begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const bool is_token =
        word.size() >= kShortestToken &&
        std::any_of(kTokenBegins.begin(), kTokenBegins.end(),
                    [&](std::string_view start) { return word.starts_with(start); });
    if (is_behind || is_token) {
      text.replace(begin, end - begin, kMasked);
      end = begin + kMasked.size();
    }
    const std::string lower = ToLower(word);
    is_behind = !is_behind && (lower == "bearer" || lower == "basic");
    begin = end;
    if (begin >= text.size()) break;
  }
}

}  // namespace

bool IsSecretName(std::string_view name) {
  const std::string lower = ToLower(name);
  if (std::any_of(kInside.begin(), kInside.end(),
                  [&](std::string_view part) { return lower.find(part) != std::string::npos; })) {
    return true;
  }
  std::vector<std::string> parts = PartsOf(lower);
  if (parts.empty()) return false;
  while (parts.size() > 1 && (IsNumber(parts.back()) || IsAmong(kOneOfSeveral, parts.back()))) {
    parts.pop_back();
  }
  for (const std::string& part : parts) {
    if (IsAmong(kParts, part)) return true;
  }
  const std::string& last = parts.back();
  const bool is_end = std::any_of(kEnds.begin(), kEnds.end(), [&](std::string_view end) {
    return last.ends_with(end) && (parts.size() > 1 || last.size() > end.size());
  });
  if (is_end && !IsAmong(kHarmless, last)) return true;
  if (!last.ends_with("token")) {
    return last.ends_with("tokens") &&
           (lower.find("auth") != lower.npos || lower.find("api") != lower.npos);
  }
  return last != "token" || parts.size() == 1 || !IsAmong(kOfTexts, parts[parts.size() - 2]);
}

std::string MaskedText(std::string_view text) {
  std::string masked(text);
  MaskKeys(masked);
  MaskUsers(masked);
  MaskUsersOfHosts(masked);
  MaskNamed(masked);
  MaskWords(masked);
  return masked;
}

std::string MaskedValue(std::string_view name, std::string_view value) {
  if (!value.empty() && IsSecretName(name)) return std::string(kMasked);
  return MaskedText(value);
}

namespace {

// A value has no end but that of its word: `--password=a,b`.
std::string MaskedWord(std::string_view word) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  if (equals == std::string_view::npos || NameBefore(name, name.size()) != name) {
    return MaskedText(word);
  }
  const std::string_view value = word.substr(equals + 1);
  const bool is_secret = IsSecretName(name) || IsSecretOption(name) || IsPwd(name, value);
  if (value.empty() || !is_secret) return MaskedText(word);
  return Concat(name, "=", kMasked);
}

}  // namespace

std::string MaskedCommandLine(std::string_view words, char end) {
  std::string masked;
  bool is_secret = false;  // the next word
  bool is_user = false;    // the next word, where it has a password behind a colon
  while (!words.empty()) {
    const size_t size = std::min(words.find(end), words.size());
    const std::string_view word = words.substr(0, size);
    const bool has_end = size < words.size();
    words.remove_prefix(size + (has_end ? 1 : 0));
    const bool has_password = is_user && word.find(':') != std::string_view::npos &&
                              !IsNumber(word.substr(0, word.find(':')));
    if (has_password || (is_secret && !word.empty() && !word.starts_with('-'))) {
      masked += kMasked;
      is_secret = false;
      is_user = false;
    } else {
      masked += MaskedWord(word);
      const bool is_option = word.starts_with('-') && word.find('=') == std::string_view::npos;
      is_secret = is_option && (IsSecretName(word) || IsSecretOption(word));
      is_secret |= ToLower(word) == "bearer";
      is_user = word == "-u" || word == "--user" || word == "--proxy-user";
    }
    if (has_end) masked += end;
  }
  return masked;
}

}  // namespace sonde::base
