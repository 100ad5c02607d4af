#include "cluster/parts/together.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/waits.h"

namespace sonde::cluster {
namespace {

using base::Concat;

// Where the rows of a rank lie.
struct PartPlace {
  size_t file = 0;
  size_t row = 0;
};

class PlacesOfRanks {
 public:
  explicit PlacesOfRanks(const std::vector<PartFile*>& files) : files_(files) {
    for (size_t file = 0; file < files.size(); ++file) {
      for (size_t row = 0; row < files[file]->ranks.size(); ++row) {
        places_[files[file]->ranks[row].rank].push_back({file, row});
      }
    }
  }
  // Of several the one with that path (another machine may have named it in another way) that has
  // rows, rather than pending or failed; null where there is none.
  const PartPlace* Find(const Rank& rank) const {
    const auto found = places_.find(rank.number);
    if (found == places_.end()) return nullptr;
    return &*std::ranges::max_element(found->second, {}, [&](const PartPlace& place) {
      const PackedRank& packed = files_[place.file]->ranks[place.row];
      const int worth = packed.is_pending ? 0 : packed.code != 0 ? 1 : 2;
      return std::pair(packed.path == rank.trace.source.path, worth);
    });
  }

 private:
  const std::vector<PartFile*>& files_;
  std::map<int32_t, std::vector<PartPlace>> places_;
};

}  // namespace

PartFile WaitsOf(const Mode& mode, const std::vector<PartFile>& files, bool keeps_clocks) {
  // In the order of the traces, as one process has them.
  std::map<int32_t, PartPlace> by_trace;
  for (size_t file = 0; file < files.size(); ++file) {
    for (size_t row = 0; row < files[file].ranks.size(); ++row) {
      const PackedRank& rank = files[file].ranks[row];
      if (rank.is_pending) by_trace.emplace(rank.trace, PartPlace{file, row});
    }
  }
  PartFile waits{.facts = files.front().facts, .ranks = {}, .parts = {}, .notices = {}};
  waits.facts.is_waits = true;
  std::vector<const Part*> parts;
  for (const auto& [trace, place] : by_trace) {
    waits.ranks.push_back(files[place.file].ranks[place.row]);
    parts.push_back(&files[place.file].parts[place.row]);
  }
  ShuffledWaits shuffled = ShuffleWaits(parts, keeps_clocks);
  waits.parts = std::move(shuffled.parts);
  if (ShowsClocks(mode)) return waits;  // then it says so itself
  for (const std::string& line : shuffled.notices) {
    waits.notices.push_back(Concat(line, kHowToKeepClocks));
  }
  return waits;
}

Result<MappedRanks> Together(const std::vector<PartFile*>& files, const std::vector<Rank>& ranks,
                             const job::NoticeSink& notify) {
  for (const PartFile* file : files) {
    for (const std::string& line : file->notices) notify(line);
  }
  const PlacesOfRanks places(files);
  MappedRanks mapped;
  for (const Rank& rank : ranks) {
    const std::string& path = rank.trace.source.path;
    const PartPlace* place = places.Find(rank);
    if (place == nullptr) {
      mapped.failures.push_back({path, base::NotFoundError("no part holds it")});
      continue;
    }
    PartFile& file = *files[place->file];
    const PackedRank& packed = file.ranks[place->row];
    if (packed.code != 0) {
      mapped.failures.push_back(
          {path, Status(static_cast<base::StatusCode>(packed.code), packed.failure)});
    } else if (packed.is_pending) {
      return base::FailedPreconditionError(
          Concat("rank ", std::to_string(rank.number),
                 " lacks the waits of all ranks: 'sonde cluster shuffle' makes them of all parts, "
                 "and 'sonde cluster map --waits FILE' takes them"));
    } else {
      mapped.parts.push_back({rank.number, path, std::move(file.parts[place->row])});
    }
  }
  return OfAny(std::move(mapped));
}

}  // namespace sonde::cluster
