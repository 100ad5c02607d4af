// An option of `sonde cluster` that modes declare beside their tables: the command line, its help,
// and the words for engines are made from these.
//
//   constexpr ModeOption kRank = {.name = "--rank_id", .kind = OptionKind::kInt,
//                                 .help = "Rank whose operations are analysed", .usual = "0"};
//   constexpr std::array kOptions = {&kRank};            // Mode::options
//   const int64_t rank = IntOf(options.values, kRank);   // in map or reduce
//
// Values are checked before a mode gets them. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::cluster {

enum class OptionKind : uint8_t { kFlag, kText, kPath, kInt, kReal };

struct ModeOption {
  std::string_view name = {};
  OptionKind kind = OptionKind::kText;
  std::string_view help = {};   // the same in all modes that have it
  std::string_view usual = {};  // value where none is given; "": none
  // What is wrong with a value, behind its name; null: all of the kind can be.
  Status (*check)(std::string_view value) = nullptr;
  // A value that cannot be gives a notice, and the usual one counts, as in msprof-analyze.
  bool forgives = false;
  // Of results and not of parts: another value reads the same parts.
  bool is_of_reduce = false;
};

// Those that were given, by name; of a flag "".
using OptionValues = std::map<std::string, std::string>;

bool IsGiven(const OptionValues& values, const ModeOption& option);
// The usual value where none is given.
std::string TextOf(const OptionValues& values, const ModeOption& option);
int64_t IntOf(const OptionValues& values, const ModeOption& option);
double RealOf(const OptionValues& values, const ModeOption& option);

// Whether the option can have the value. The message is a sentence without its name.
Status CheckValue(const ModeOption& option, std::string_view value);

// --top_num of the modes that list the longest.
Status CheckAboveZero(std::string_view value);
constexpr ModeOption TopNumber(std::string_view usual) {
  return {.name = "--top_num",
          .help = "How many rows of the longest",
          .usual = usual,
          .check = &CheckAboveZero,
          .forgives = true};
}

}  // namespace sonde::cluster
