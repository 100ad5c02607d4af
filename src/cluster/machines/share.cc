#include "cluster/machines/share.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "importers/registry.h"
#include "job/job.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using messages::Answer;
using messages::Ask;
using messages::Wish;

uint64_t BytesOf(const std::string& path) {
  namespace fs = std::filesystem;
  if (base::IsRegularFile(path)) return base::FileSize(path).value_or(0);
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error) && !error) bytes += entry->file_size(error);
  }
  return bytes;
}

const importers::Importer* ImporterOf(std::string_view name) {
  for (const importers::Importer& importer : importers::Importers()) {
    if (name == importer.name) return &importer;
  }
  return nullptr;
}

Result<Ask> NextAsk(Rendezvous& rendezvous, const Place& place, int64_t number) {
  for (Patience wait;; wait.Wait()) {
    SONDE_ASSIGN_OR_RETURN(const auto message,
                           rendezvous.Take(Concat("ask.", std::to_string(number))));
    if (message) {
      Ask ask;
      std::string_view bytes = *message;
      const bool is_whole =
          serial::Take(bytes, ask) && ask.shares.size() == static_cast<size_t>(place.count);
      if (is_whole) return ask;
      return base::CorruptDataError("process 0 sent an unknown request");
    }
    if (!rendezvous.IsThere(0)) {
      return base::UnavailableError("process 0 has ended without a message");
    }
  }
}

}  // namespace

Answer SeeTraces(const std::string& folder) {
  Answer answer;
  std::vector<messages::SeenTrace>& seen = answer.seen;
  const job::Job job = job::FindJob({folder}, {.max_depth = kFolderDepth, .allow = {}});
  seen.resize(job.traces.size());
  base::ParallelFor(seen.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const job::Trace& trace = job.traces[i];
      seen[i] = {.path = trace.source.path,
                 .importer = trace.source.importer->name,
                 .rank = trace.rank,
                 .number = RankOf(trace),
                 .bytes = BytesOf(trace.source.path)};
    }
  });
  answer.world = WorldOf(job);
  return answer;
}

Rank RankOf(const messages::WantedRank& wanted) {
  Rank rank;
  rank.number = wanted.number;
  rank.trace.number = wanted.trace;
  rank.trace.rank = wanted.number;
  rank.trace.run = wanted.run;
  rank.trace.source = {.path = wanted.path, .importer = ImporterOf(wanted.importer)};
  return rank;
}

Answer MapShare(const Mode& mode, const std::vector<messages::WantedRank>& share,
                const ModeOptions& options, const RunOptions& run) {
  Answer answer;
  std::vector<Rank> ranks;
  for (const messages::WantedRank& wanted : share) ranks.push_back(RankOf(wanted));
  if (ranks.empty()) return answer;
  const auto mapped = MapRanks(mode, ranks, options, run);
  if (!mapped.ok()) {  // none of them
    for (const Rank& rank : ranks) {
      answer.failures.push_back({rank.trace.source.path,
                                 static_cast<int32_t>(mapped.status().code()),
                                 std::string(mapped.status().message())});
    }
    return answer;
  }
  for (const RankPart& part : mapped->parts) {
    answer.parts.push_back({part.rank, part.part.Bytes()});
  }
  for (const job::TraceFailure& failure : mapped->failures) {
    answer.failures.push_back({failure.path, static_cast<int32_t>(failure.why.code()),
                               std::string(failure.why.message())});
  }
  return answer;
}

Status Serve(Rendezvous& rendezvous, const Place& place, const RunOptions& options) {
  const std::string process = std::to_string(place.number);
  std::string hello;
  serial::Put(messages::Hello{ProgramOfThis(), HostOfThis()}, hello);
  SONDE_RETURN_IF_ERROR(rendezvous.Leave(Concat("hello.", process), hello));
  for (int64_t number = 0;; ++number) {
    SONDE_ASSIGN_OR_RETURN(const Ask ask, NextAsk(rendezvous, place, number));
    Answer answer;
    if (ask.wish == Wish::kSee) answer = SeeTraces(ask.folder);
    if (ask.wish == Wish::kMap) {
      const Mode* mode = FindModeOrPart(ask.mode);
      if (mode == nullptr) return base::CorruptDataError("process 0 asks for an unknown mode");
      answer = MapShare(*mode, ask.shares[static_cast<size_t>(place.number)], ask.options, options);
    }
    std::string bytes;
    serial::Put(answer, bytes);
    SONDE_RETURN_IF_ERROR(
        rendezvous.Leave(Concat("answer.", std::to_string(number), ".", process), bytes));
    if (ask.wish == Wish::kEnd) return {};
  }
}

std::string ProgramOfThis() {
  return Concat(SONDE_VERSION, " ", std::to_string(base::FileSize("/proc/self/exe").value_or(0)));
}

std::string HostOfThis() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "a host without a name";
}

}  // namespace sonde::cluster
