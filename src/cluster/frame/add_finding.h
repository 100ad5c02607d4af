// Sentences under the tables of modes: findings whose texts stand in recipes/finding/texts.inc,
// "cluster.*". Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {

inline recipes::Finding& AddFinding(Outcome& outcome, std::string_view text_key,
                                    std::vector<std::string> arguments) {
  recipes::Finding& finding = outcome.findings.emplace_back();
  finding.rule = "cluster";
  finding.severity = "info";
  finding.subject = text_key.substr(text_key.find('.') + 1);
  finding.text_key = text_key;
  finding.arguments = std::move(arguments);
  return finding;
}

// `evidence`: the table of cluster_analysis.db that shows it.
inline recipes::Finding& AddFinding(Outcome& outcome, std::string_view text_key,
                                    std::vector<std::string> arguments, const TableInfo& evidence) {
  recipes::Finding& finding = AddFinding(outcome, text_key, std::move(arguments));
  finding.evidence = base::Concat("SELECT * FROM ", evidence.reference_name);
  return finding;
}

inline std::string Percent(double part, double all) {
  return Fixed(all > 0 ? 100 * part / all : 0, 1);
}

// "3.21 ms".
inline std::string Duration(double ns) { return base::FormatDuration(static_cast<int64_t>(ns)); }

}  // namespace sonde::cluster
