// What the advisor found in a run. Values, any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advisor/frame/advice.h"
#include "cluster/frame/mode.h"

namespace sonde::advisor {

struct Report {
  RuleBook book;  // advice points into it
  std::string path;
  Language language = Language::kChinese;
  std::vector<Advice> advice;     // in the order of the report
  std::vector<Silence> silences;  // rules that lack something, or failed
  std::vector<std::string> notices;
  std::optional<cluster::Outcome> cluster;  // of several ranks: the tables of mode `all`
};

}  // namespace sonde::advisor
