#include "cluster/machines/head.h"

#include <algorithm>
#include <climits>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "cluster/machines/share.h"
#include "job/merge.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using messages::Answer;
using messages::Ask;
using messages::Wish;
using Clock = std::chrono::steady_clock;

}  // namespace

Head::Head(std::unique_ptr<Rendezvous> rendezvous, const Place& place, RunOptions run)
    : rendezvous_(std::move(rendezvous)), place_(place), run_(std::move(run)) {}

Result<std::unique_ptr<Head>> Head::Gather(const std::string& folder, const Place& place,
                                           std::chrono::seconds patience, RunOptions run) {
  SONDE_ASSIGN_OR_RETURN(auto rendezvous, Rendezvous::Open(folder));
  std::unique_ptr<Head> head(new Head(std::move(rendezvous), place, std::move(run)));
  head->WaitForHellos(patience);
  return head;
}

Head::~Head() {
  // Who has not read it before the folder goes would miss it.
  if (Post(Wish::kEnd, "", "", {}, NoShares()).ok()) Collect();
  rendezvous_->Close();
}

Head::Shares Head::NoShares() const { return Shares(static_cast<size_t>(place_.count)); }

std::string Head::NameOf(int32_t process) const {
  const std::string name =
      Concat("process ", std::to_string(process), " of ", std::to_string(place_.count));
  const auto host = hosts_.find(process);
  return host == hosts_.end() ? name : Concat(name, " on ", host->second);
}

void Head::Lose(int32_t process, const std::string& why) {
  there_.erase(process);
  lost_.push_back({NameOf(process), base::UnavailableError(why)});
}

void Head::WaitForHellos(std::chrono::seconds patience) {
  std::set<int32_t> awaited;
  for (int32_t process = 1; process < place_.count; ++process) awaited.insert(process);
  const auto end = Clock::now() + patience;
  for (Patience wait; !awaited.empty() && Clock::now() < end; wait.Wait()) {
    std::erase_if(awaited, [this](int32_t process) {
      const auto message = rendezvous_->Take(Concat("hello.", std::to_string(process)));
      if (!message.ok() || !*message) return false;
      messages::Hello hello;
      std::string_view bytes = **message;
      if (!serial::Take(bytes, hello) || hello.program != ProgramOfThis()) {
        Lose(process, "is another program than process 0: all need the same version of sonde");
        return true;
      }
      hosts_[process] = hello.host;
      there_.insert(process);
      return true;
    });
  }
  for (const int32_t process : awaited) {
    Lose(process,
         Concat("did not appear in the common folder within ", std::to_string(patience.count()),
                " s (--meet names a folder that all see; --alone waits for none)"));
  }
}

Status Head::Post(Wish wish, const std::string& folder, const std::string& mode,
                  const ModeOptions& options, const Shares& shares) {
  std::string bytes;
  serial::Put(Ask{wish, folder, mode, options, shares}, bytes);
  return rendezvous_->Leave(Concat("ask.", std::to_string(asked_++)), bytes);
}

std::optional<Answer> Head::AnswerOf(int32_t process) {
  const auto message = rendezvous_->Take(
      Concat("answer.", std::to_string(asked_ - 1), ".", std::to_string(process)));
  if (!message.ok() || !*message) return std::nullopt;
  Answer answer;
  std::string_view bytes = **message;
  if (!serial::Take(bytes, answer)) return std::nullopt;
  return answer;
}

Head::Answers Head::Collect() {
  Answers answers(static_cast<size_t>(place_.count));
  std::set<int32_t> awaited = there_;
  for (Patience wait; !awaited.empty();) {
    std::erase_if(awaited, [&](int32_t process) {
      const bool is_there = rendezvous_->IsThere(process);  // before the look: it may end after
      auto& answer = answers[static_cast<size_t>(process)];
      answer = AnswerOf(process);
      if (!answer && !is_there) Lose(process, "has ended before it was done");
      return answer || !is_there;
    });
    if (!awaited.empty()) wait.Wait();
  }
  return answers;
}

// One that several see counts once; of one name on disks of two hosts, two ranks are two.
Head::Sightings Head::Merge(const Answers& answers) {
  Sightings sightings;
  for (size_t process = 0; process < answers.size(); ++process) {
    if (!answers[process]) continue;
    for (const messages::SeenTrace& trace : answers[process]->seen) {
      KnownTrace& known = sightings[{trace.path, trace.rank, trace.number}];
      known.importer = trace.importer;
      known.bytes = std::max(known.bytes, trace.bytes);
      known.processes.insert(static_cast<int32_t>(process));
    }
  }
  return sightings;
}

Result<RankChoice> Head::Choose(const std::string& folder, const std::vector<int32_t>& wanted) {
  SONDE_RETURN_IF_ERROR(Post(Wish::kSee, folder, "", {}, NoShares()));
  Answer own = SeeTraces(folder);
  Answers answers = Collect();
  answers.front() = std::move(own);
  Sightings sightings = Merge(answers);
  std::vector<job::Trace> traces;
  for (const auto& [key, known] : sightings) {
    traces.push_back(RankOf({.number = std::get<1>(key),
                             .trace = 0,
                             .run = 0,
                             .importer = known.importer,
                             .path = std::get<0>(key)})
                         .trace);
  }
  if (traces.empty()) {
    std::string missing;
    for (const job::TraceFailure& lost : lost_) {
      missing += Concat("; ", lost.path, " ", lost.why.message());
    }
    return base::NotFoundError(Concat("none of ", std::to_string(there_.size() + 1),
                                      " processes finds a rank in '", folder, "'", missing));
  }
  job::Job job = job::JobOf(std::move(traces));
  SeenRanks seen;
  for (const auto& answer : answers) {
    if (answer) seen.world = std::max(seen.world, answer->world);
  }
  for (job::Trace& trace : job.traces) {
    const auto found = sightings.lower_bound({trace.source.path, trace.rank, INT32_MIN});
    seen.numbers.push_back(std::get<2>(found->first));
    trace.number = static_cast<int32_t>(traces_.size());
    traces_.push_back(std::move(found->second));
    sightings.erase(found);
  }
  return ChooseRanks(job, seen, wanted);
}

const Head::KnownTrace& Head::Known(const Rank& rank) const {
  return traces_[static_cast<size_t>(rank.trace.number)];
}

std::vector<int32_t> Head::ShareOutForWaits(const Mode& mode,
                                            const std::vector<Rank>& ranks) const {
  for (int32_t process = 0; process < place_.count; ++process) {
    if (process != 0 && !there_.contains(process)) continue;
    const bool sees_all = std::ranges::all_of(
        ranks, [&](const Rank& rank) { return Known(rank).processes.contains(process); });
    if (sees_all) return std::vector<int32_t>(ranks.size(), process);
  }
  run_.notify(Concat(mode.name,
                     ": no process sees all ranks; waits of a collective are known only if one "
                     "process reads all its ranks, or if they were recorded"));
  return ShareOut(ranks);
}

std::vector<int32_t> Head::ShareOut(const std::vector<Rank>& ranks) const {
  const auto known = [&](size_t i) -> const KnownTrace& { return Known(ranks[i]); };
  std::vector<size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return known(a).bytes > known(b).bytes; });
  std::map<int32_t, uint64_t> load;
  std::vector<int32_t> readers(ranks.size(), kNobody);
  for (const size_t i : order) {
    for (const int32_t process : known(i).processes) {
      if (process != 0 && !there_.contains(process)) continue;
      if (readers[i] == kNobody || load[process] < load[readers[i]]) readers[i] = process;
    }
    if (readers[i] != kNobody) load[readers[i]] += known(i).bytes + 1;
  }
  return readers;
}

Result<MappedRanks> Head::Map(const Mode& mode, const std::vector<Rank>& ranks,
                              const ModeOptions& options) {
  const std::vector<int32_t> readers =
      mode.needs.waits ? ShareOutForWaits(mode, ranks) : ShareOut(ranks);
  Shares shares = NoShares();
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (readers[i] == kNobody) continue;
    shares[static_cast<size_t>(readers[i])].push_back(
        {ranks[i].number, ranks[i].trace.number, ranks[i].trace.run,
         ranks[i].trace.source.importer->name, ranks[i].trace.source.path});
  }
  ModeOptions alone = options;
  alone.hosts = {};
  SONDE_RETURN_IF_ERROR(Post(Wish::kMap, "", std::string(mode.name), alone, shares));
  Answer own = MapShare(mode, shares.front(), alone, run_);
  Answers answers = Collect();
  answers.front() = std::move(own);
  return PutTogether(ranks, readers, answers);
}

Result<MappedRanks> Head::PutTogether(const std::vector<Rank>& ranks,
                                      const std::vector<int32_t>& readers, const Answers& answers) {
  MappedRanks mapped;
  std::map<int32_t, Part> parts;  // by number of the rank
  for (const auto& answer : answers) {
    if (!answer) continue;
    for (const messages::SentPart& sent : answer->parts) {
      if (!parts[sent.number].Read(sent.bytes)) {
        return base::CorruptDataError(
            Concat("the data of rank ", std::to_string(sent.number), " cannot be read"));
      }
    }
    for (const messages::SentFailure& failure : answer->failures) {
      mapped.failures.push_back(
          {failure.path, Status(static_cast<base::StatusCode>(failure.code), failure.message)});
    }
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    const std::string& path = ranks[i].trace.source.path;
    if (const auto part = parts.find(ranks[i].number); part != parts.end()) {
      mapped.parts.push_back({ranks[i].number, path, std::move(part->second)});
    } else if (readers[i] == kNobody || !answers[static_cast<size_t>(readers[i])]) {
      mapped.failures.push_back(
          {path, base::UnavailableError("the process that was to read it has ended")});
    }
  }
  std::move(lost_.begin(), lost_.end(), std::back_inserter(mapped.failures));
  lost_.clear();
  if (!mapped.parts.empty()) return mapped;
  return mapped.failures.empty() ? base::NotFoundError("there is no rank")
                                 : mapped.failures.front().why;
}

}  // namespace sonde::cluster
