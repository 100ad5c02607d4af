#include "base/secrets.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/strings.h"

namespace sonde::base {
namespace {

// Anywhere in a name, also without dividers.
constexpr auto kInside = std::to_array<std::string_view>(
    {"passw", "passphrase", "secret", "credential", "apikey", "api_key", "api-key", "accesskey",
     "privatekey", "authorization"});
// As a whole part of a name, behind or before '_', '-' or '.'.
constexpr auto kParts = std::to_array<std::string_view>(
    {"cookie", "cookies", "bearer", "pat", "pats", "jwt", "sas", "auth", "apikeys"});
// As its last part, with something before it.
constexpr auto kEnds = std::to_array<std::string_view>({"pwd", "key", "keys", "pass"});
// Tokens of texts, not of access: --pad-token, eos_token.
constexpr auto kOfTexts = std::to_array<std::string_view>(
    {"pad", "eos", "bos", "unk", "mask", "sep", "cls",     "stop",  "image", "special", "start",
     "end", "per", "max", "min", "num",  "new", "batched", "video", "audio", "think"});
constexpr auto kTokenBegins =
    std::to_array<std::string_view>({"hf_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-",
                                     "xoxb-", "xoxp-", "AKIA", "AIza", "eyJ"});
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

// ://user:password@ and ://token@.
void MaskUsers(std::string& text) {
  for (size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    const size_t begin = at + 3;
    const size_t end = std::min(text.find_first_of("/?#\\\"'` \t\r\n", begin), text.size());
    const size_t user_end = text.substr(begin, end - begin).rfind('@');
    if (user_end != std::string::npos && user_end > 0) text.replace(begin, user_end, kMasked);
  }
}

// name=value, "name": "value" and ?name=value& inside of a text.
void MaskNamed(std::string& text) {
  for (size_t at = text.find_first_of("=:"); at != std::string::npos;
       at = text.find_first_of("=:", at + 1)) {
    size_t name_end = at;
    while (name_end > 0 && (kBlanks.find(text[name_end - 1]) != std::string::npos)) --name_end;
    std::string_view name = NameBefore(text, name_end);
    const bool is_signature = IsAmong(std::to_array<std::string_view>({"sig", "signature"}), name);
    if (!is_signature && !IsSecretName(name)) continue;
    size_t begin = at + 1;
    while (begin < text.size() && kBlanks.find(text[begin]) != std::string::npos) ++begin;
    if (text.substr(begin, 2) == "//") continue;  // an address: MaskUsers looks at it
    const size_t end = std::min(text.find_first_of("&,;}\"'`\t\r\n", begin), text.size());
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
  const std::vector<std::string> parts = PartsOf(lower);
  if (parts.empty()) return false;
  for (const std::string& part : parts) {
    if (IsAmong(kParts, part)) return true;
  }
  const std::string& last = parts.back();
  if (parts.size() > 1 && IsAmong(kEnds, last)) return true;
  if (!last.ends_with("token")) return last.ends_with("tokens") && lower.find("auth") != lower.npos;
  return last != "token" || parts.size() == 1 || !IsAmong(kOfTexts, parts[parts.size() - 2]);
}

std::string MaskedText(std::string_view text) {
  std::string masked(text);
  MaskUsers(masked);
  MaskNamed(masked);
  MaskWords(masked);
  return masked;
}

std::string MaskedValue(std::string_view name, std::string_view value) {
  if (!value.empty() && IsSecretName(name)) return std::string(kMasked);
  return MaskedText(value);
}

std::string MaskedCommandLine(std::string_view words, char end) {
  std::string masked;
  bool is_secret = false;  // the next word
  while (!words.empty()) {
    const size_t size = std::min(words.find(end), words.size());
    const std::string_view word = words.substr(0, size);
    const bool has_end = size < words.size();
    words.remove_prefix(size + (has_end ? 1 : 0));
    if (is_secret && !word.empty() && !word.starts_with('-')) {
      masked += kMasked;
      is_secret = false;
    } else {
      masked += MaskedText(word);
      const bool is_option = word.starts_with('-') && word.find('=') == std::string_view::npos;
      is_secret = is_option && IsSecretName(word);
      is_secret |= ToLower(word) == "bearer";
    }
    if (has_end) masked += end;
  }
  return masked;
}

}  // namespace sonde::base
