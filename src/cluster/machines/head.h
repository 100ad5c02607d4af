// Process 0 of several: assigns the work, and puts the results together.
//
// Ranks go to the processes that see their files, the largest first, each to the one with the least
// to do; what only one sees is its. A process that does not come, has another program, or ends is
// named in the failures, with the ranks that were its; the others count.
// Threads: one call at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cluster/frame/run.h"
#include "cluster/machines/launch.h"
#include "cluster/machines/messages.h"
#include "cluster/machines/rendezvous.h"

namespace sonde::cluster {

class Head final : public Hosts {
 public:
  // Opens the rendezvous and waits for the others as long as `patience`. `run`: how this process
  // reads its own share.
  static Result<std::unique_ptr<Head>> Gather(const std::string& folder, const Place& place,
                                              std::chrono::seconds patience, RunOptions run);
  ~Head() override;  // lets the others go

  Result<RankChoice> Choose(const std::string& folder, const std::vector<int32_t>& wanted) override;
  Result<MappedRanks> Map(const Mode& mode, const std::vector<Rank>& ranks,
                          const ModeOptions& options) override;

 private:
  // A trace, and who sees it.
  struct KnownTrace {
    std::string importer;
    uint64_t bytes = 0;
    std::set<int32_t> processes;
  };
  // By path, rank from its importer, number from the names of its files.
  using Sightings = std::map<std::tuple<std::string, int32_t, int32_t>, KnownTrace>;
  using Shares = std::vector<std::vector<messages::WantedRank>>;  // by process
  using Answers = std::vector<std::optional<messages::Answer>>;   // by process

  Head(std::unique_ptr<Rendezvous> rendezvous, const Place& place, RunOptions run);
  void WaitForHellos(std::chrono::seconds patience);
  Shares NoShares() const;
  Status Post(messages::Wish wish, const std::string& folder, const std::string& mode,
              const ModeOptions& options, const Shares& shares);
  // Answers of the others to the last request.
  Answers Collect();
  std::optional<messages::Answer> AnswerOf(int32_t process);
  void Lose(int32_t process, const std::string& why);
  std::string NameOf(int32_t process) const;
  static Sightings Merge(const Answers& answers);
  // Who reads each rank; kNobody where those that see it are gone.
  static constexpr int32_t kNobody = -1;
  std::vector<int32_t> ShareOut(const std::vector<Rank>& ranks) const;
  // The same for a mode that matches collectives between ranks, which one process has to do: the
  // first that sees all of them. Where there is none they are shared out, with a notice.
  std::vector<int32_t> ShareOutForWaits(const Mode& mode, const std::vector<Rank>& ranks) const;
  const KnownTrace& Known(const Rank& rank) const;
  Result<MappedRanks> PutTogether(const std::vector<Rank>& ranks,
                                  const std::vector<int32_t>& readers, const Answers& answers);

  std::unique_ptr<Rendezvous> rendezvous_;
  Place place_;
  RunOptions run_;
  std::set<int32_t> there_;  // the others
  std::map<int32_t, std::string> hosts_;
  std::vector<job::TraceFailure> lost_;  // that are not reported yet
  std::vector<KnownTrace> traces_;       // by number
  int64_t asked_ = 0;
};

}  // namespace sonde::cluster
