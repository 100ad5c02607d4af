// What must not be copied from a command line, an environment or an address into a file that is
// passed on: passwords, tokens, keys. The one place that decides it, for recordings, deliverables
// and packs.
//
// Recognised: names of options and variables (--api-key, HF_TOKEN, DB_PWD, GITHUB_PAT, cookies),
// the user part of addresses (://user:password@), keys in the query of an address, words behind
// "Bearer", and the beginnings of well-known tokens. Rather too much is masked than too little.
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace sonde::base {

inline constexpr std::string_view kMasked = "***";

// Whether the value of an option or variable of that name is a secret. PWD and `--pad-token` are
// none.
bool IsSecretName(std::string_view name);
// A text with secrets masked that show by themselves.
std::string MaskedText(std::string_view text);
// The value of a variable or option.
std::string MaskedValue(std::string_view name, std::string_view value);
// The words of a command line, each followed by `end` ('\0' as the system has them, ' ' as people
// do), with the secrets masked.
std::string MaskedCommandLine(std::string_view words, char end);

}  // namespace sonde::base
