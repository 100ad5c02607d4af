// Ranks by way of parts in a folder that all see: what is there is not made again, and of what is
// missing this process makes its share, or all, or lists it for an engine that makes it elsewhere.
//
// Who is stopped or killed leaves out parts that any later call makes; nobody waits for anybody.
// Modes that need waits of all ranks (Needs::waits) are mapped twice: collectives first, from
// which the waits follow (shuffle), then the mode itself.
// Threads: one call at a time; the work is parallel. Errors: parts that cannot be written or read.
// A rank that fails leaves a part with its reason, which the next call makes again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/frame/run.h"
#include "cluster/parts/launch.h"
#include "cluster/parts/packs.h"
#include "cluster/parts/part_file.h"

namespace sonde::cluster {

// What becomes of parts that are not there and not of this process's share.
enum class Missing : uint8_t {
  kMake,  // this process makes them, too
  kList,  // they become tasks, and the call fails with kUnavailable
};

struct PartWork {
  std::string folder;
  Place share;  // of the packs, by their number
  Missing missing = Missing::kMake;
  RunOptions run;
};

// A pack for somebody else.
struct PartTask {
  std::string mode;
  Pack pack;
  std::string waits;  // file; "": none
};

class PartReader final : public RankReader {
 public:
  // Makes the folder.
  static Result<std::unique_ptr<PartReader>> Open(PartWork work);

  Result<RankChoice> Choose(const std::string& folder, const std::vector<int32_t>& wanted) override;
  Result<MappedRanks> Map(const Mode& mode, const std::vector<Rank>& ranks,
                          const ModeOptions& options) override;

  // The same of several folders and traces.
  Result<RankChoice> ChooseOf(const std::vector<std::string>& sources,
                              const std::vector<int32_t>& wanted);

  // The share of this process and nothing else, waits included. `ranks`: all of the job.
  Status MapShare(const Mode& mode, const std::vector<Rank>& ranks, const ModeOptions& options);
  // The share of this process; returns the paths of its parts. `waits`: the file of a shuffle; ""
  // where there is none yet, and ranks that need it are pending.
  Result<std::vector<std::string>> MapPacks(const Mode& mode, const std::vector<Pack>& packs,
                                            const ModeOptions& options, const std::string& waits);
  // A pack by itself, as somebody else's task. `waits`: as above.
  Result<std::string> MapPack(const Mode& mode, const Pack& pack, const ModeOptions& options,
                              const std::string& waits);
  const std::vector<PartTask>& tasks() const { return tasks_; }
  // The lines of parts, which are held back with Missing::kList: where there are tasks it runs
  // again.
  void SayHeld();

 private:
  struct Round;  // a mode, its options, its packs

  PartReader(PartWork work, PartFiles files);
  void Notify(std::string_view line);
  std::string PathOf(const std::string& name) const;
  std::string FoundPath(const std::string& name) const;  // "": not there
  bool IsDone(const Mode& mode, const std::string& name);
  bool IsOwn(size_t pack) const;
  Status MakeOwn(const Round& round);
  Status MakeMissing(const Round& round);
  Status Make(const Round& round, const std::vector<size_t>& packs);
  Status WritePart(const Round& round, size_t pack, MappedRanks& mapped,
                   std::vector<std::string> notices);
  Result<std::vector<PartFile>> ReadAll(const Round& round);
  Result<std::string> Shuffle(const Round& round, const std::vector<PartFile>& files);
  Status TakeWaits(const std::string& waits, const std::vector<int32_t>& ranks, Round& round);
  Result<Round> WithWaits(const Round& round, const std::vector<PartFile>& files,
                          const std::string& waits);

  PartWork work_;
  PartFiles files_;
  int32_t world_ = 0;
  std::vector<PartTask> tasks_;
  std::set<std::string, std::less<>> notified_;
  std::vector<std::string> held_;
};

}  // namespace sonde::cluster
