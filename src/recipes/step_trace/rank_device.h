// Which of several devices of a rank is the one whose times the rank has, where there is room for
// those of one only (a map of ranks and steps, cluster_time_summary): in each step that which was
// busy longest, computing or communicating; of equals the first. Pure, any thread.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace sonde::recipes {

// Whether each row, of a device and step of one rank, is of that device. `step_of` identifies the
// step of a row, `busy_of` is its busy time, in any unit.
template <class Row, class StepOf, class BusyOf>
std::vector<bool> OfRankDevice(const std::vector<Row>& rows, StepOf step_of, BusyOf busy_of) {
  std::map<decltype(step_of(rows.front())), size_t> chosen;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto [place, is_new] = chosen.try_emplace(step_of(rows[i]), i);
    if (!is_new && busy_of(rows[i]) > busy_of(rows[place->second])) place->second = i;
  }
  std::vector<bool> is_chosen(rows.size());
  for (const auto& [step, row] : chosen) is_chosen[row] = true;
  return is_chosen;
}

}  // namespace sonde::recipes
