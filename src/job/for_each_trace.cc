#include "job/for_each_trace.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "job/open_rows.h"
#include "job/pack_rows.h"
#include "recipes/communication/arrivals.h"
#include "recipes/communication/host_clocks.h"
#include "store/store.h"

namespace sonde::job {
namespace {

// A file of a store, or a trace without one, and the place of its first trace.
struct Unit {
  const store::StoreFile* file = nullptr;
  const Trace* unstored = nullptr;
  std::span<const store::TraceLabel> traces = {};
  size_t place = 0;
  uint64_t bytes = 0;
  bool is_done = false;
};

class Runner {
 public:
  using Function = std::function<Status(const TraceInHand&, size_t)>;

  Runner(std::span<const store::StoreFile> files, std::span<const Trace> unstored,
         const recipes::Needs& needs, const RunOptions& options, const Function& function)
      : files_(files),
        unstored_(unstored),
        needs_(needs),
        options_(options),
        function_(function),
        threads_(options.threads > 0 ? options.threads : base::AvailableThreads()),
        spare_(unstored.empty() ? std::string() : SpareForRows()) {
    size_t place = 0;
    for (const store::StoreFile& file : files) {
      units_.push_back({.file = &file,
                        .traces = file.traces,
                        .place = place,
                        .bytes = base::FileSize(file.path).value_or(0)});
      place += file.traces.size();
    }
    labels_.reserve(unstored.size());
    for (const Trace& trace : unstored) {
      labels_.push_back(
          {.trace = trace.number, .run = trace.run, .rank = trace.rank, .path = trace.source.path});
      units_.push_back({.unstored = &trace, .traces = {&labels_.back(), 1}, .place = place++});
    }
    statuses_.resize(place);
  }

  std::vector<TraceFailure> Run() {
    if (needs_.waits && statuses_.size() > 1) FindWaits();
    for (size_t begin = 0; begin < units_.size();) {
      const size_t end = EndOfWave(begin);
      RunWave(begin, end);
      begin = end;
    }
    std::vector<TraceFailure> failures;
    for (const Unit& unit : units_) {
      for (size_t i = 0; i < unit.traces.size(); ++i) {
        const Status& status = statuses_[unit.place + i];
        if (!status.ok()) failures.push_back({unit.traces[i].path, status});
      }
    }
    return failures;
  }

 private:
  // A trace that fails here fails later, too, and is named then.
  void FindWaits() {
    constexpr recipes::Needs kNeeds =
        recipes::Reads<store::CommunicationOpRow, store::CommunicationGroupRow>();
    std::vector<recipes::RankArrivals> arrivals(statuses_.size());
    std::vector<int32_t> traces(statuses_.size(), INT32_MAX);  // one that failed has nothing
    RunOptions options = options_;
    options.progress = nullptr;
    options.when_done = nullptr;
    options.notify = nullptr;
    const Function take = [&](const TraceInHand& trace, size_t place) -> Status {
      arrivals[place] = recipes::ArrivalsOf(trace.View(kNeeds));
      arrivals[place].run = trace.label.run;
      traces[place] = trace.label.trace;
      return {};
    };
    Runner(files_, unstored_, kNeeds, options, take).Run();
    waits_.resize(statuses_.size());
    Shuffle(std::move(arrivals), traces);
  }

  // In the order of the traces, whichever of them have stores: the first one's clock is the
  // measure.
  void Shuffle(std::vector<recipes::RankArrivals> by_place, const std::vector<int32_t>& traces) {
    std::vector<size_t> places(by_place.size());
    std::iota(places.begin(), places.end(), size_t{0});
    std::ranges::stable_sort(places, {}, [&](size_t place) { return traces[place]; });
    std::vector<recipes::RankArrivals> arrivals;
    for (const size_t place : places) arrivals.push_back(std::move(by_place[place]));
    if (!options_.keeps_clocks) {
      for (const std::string& line : recipes::CorrectClocks(arrivals)) {
        if (options_.report_clocks) options_.report_clocks(line);
      }
    }
    std::vector<recipes::RankWaits> waits = recipes::WaitsOf(arrivals);
    for (size_t i = 0; i < places.size(); ++i) waits_[places[i]] = std::move(waits[i]);
  }

  // Units that may be handed out together: any so many of them as there are threads are within the
  // bound. A thread that waited for its turn instead could wait for itself, since one that waits
  // for a loop of its own begins other units meanwhile.
  size_t EndOfWave(size_t begin) const {
    uint64_t largest = units_[begin].bytes;
    size_t end = begin + 1;
    for (; end < units_.size(); ++end) {
      largest = std::max(largest, units_[end].bytes);
      const auto together = std::min(end + 1 - begin, static_cast<size_t>(threads_));
      if (largest * together > options_.bytes_at_a_time) break;
    }
    return end;
  }

  void RunWave(size_t begin, size_t end) {
    is_alone_ = end - begin == 1;
    if (is_alone_) {
      RunUnit(units_[begin], threads_);
      return;
    }
    // In their order, whichever piece of the loop a thread has: results that are forwarded in order
    // wait for few.
    std::atomic<size_t> next = begin;
    base::ParallelFor(end - begin, {.max_threads = threads_}, [&](size_t first, size_t last) {
      for (size_t i = first; i < last; ++i) RunUnit(units_[next++], 1);
    });
  }

  void RunUnit(Unit& unit, int threads) {
    const Status read = unit.unstored != nullptr ? RunUnstored(unit, threads)
                        : unit.file->is_pack     ? RunPack(unit, threads)
                                                 : RunAlone(unit, threads);
    const size_t count = unit.traces.size();
    for (size_t i = 0; i < count && !read.ok(); ++i) statuses_[unit.place + i] = read;
    if (options_.progress != nullptr) options_.progress->Advance(count);
    const std::scoped_lock lock(mutex_);
    unit.is_done = true;
    while (done_ < units_.size() && units_[done_].is_done) ++done_;
    if (!options_.when_done) return;
    options_.when_done(done_ < units_.size() ? units_[done_].place : statuses_.size());
  }

  Status RunUnstored(const Unit& unit, int threads) {
    if (IsCancelled()) return base::CancelledError("cancelled");
    SONDE_ASSIGN_OR_RETURN(const auto store,
                           ReadRows(unit.unstored->source, needs_, spare_, threads,
                                    [this](std::string_view line) { Notify(line); }));
    return RunTrace(*store, unit, 0, threads);
  }

  void Notify(std::string_view line) {
    if (!options_.notify) return;
    const std::scoped_lock lock(mutex_);
    options_.notify(line);
  }

  Status RunAlone(const Unit& unit, int threads) {
    if (IsCancelled()) return base::CancelledError("cancelled");
    SONDE_ASSIGN_OR_RETURN(const auto store,
                           store::Store::OpenReadOnly(unit.file->path, {.threads = threads}));
    return RunTrace(*store, unit, 0, threads);
  }

  Status RunPack(const Unit& unit, int threads) {
    if (IsCancelled()) return base::CancelledError("cancelled");
    SONDE_ASSIGN_OR_RETURN(const auto pack,
                           store::JointStore::OpenPack(unit.file->path, {.threads = threads}));
    std::vector<int32_t> places;
    for (const auto& label : unit.traces) places.push_back(label.place);
    SONDE_ASSIGN_OR_RETURN(auto stores, ReadPack(*pack, places, needs_));
    for (size_t i = 0; i < unit.traces.size(); ++i) {
      auto& store = stores[i];
      statuses_[unit.place + i] =
          IsCancelled() ? base::CancelledError("cancelled") : RunTrace(*store, unit, i, threads);
      store.reset();
    }
    return {};
  }

  Status RunTrace(const store::Store& store, const Unit& unit, size_t number, int threads) {
    SONDE_ASSIGN_OR_RETURN(const auto data, recipes::TraceData::Load(store, threads, needs_));
    const size_t place = unit.place + number;
    return function_({.label = unit.traces[number],
                      .data = data,
                      .threads = threads,
                      .is_alone = is_alone_,
                      .waits_ns = WaitsAt(place)},
                     place);
  }

  std::span<const int64_t> WaitsAt(size_t place) const {
    return place < waits_.size() ? waits_[place].waits_ns : std::span<const int64_t>();
  }

  bool IsCancelled() const { return options_.is_cancelled && options_.is_cancelled(); }

  const std::span<const store::StoreFile> files_;
  const std::span<const Trace> unstored_;
  const recipes::Needs& needs_;
  const RunOptions& options_;
  const Function& function_;
  const int threads_;
  const std::string spare_;                // for those without a store
  std::vector<store::TraceLabel> labels_;  // of these
  std::vector<Unit> units_;
  std::vector<Status> statuses_;           // by place
  std::vector<recipes::RankWaits> waits_;  // by place; empty where nobody asked
  bool is_alone_ = false;
  std::mutex mutex_;
  size_t done_ = 0;  // units, from the first on
};

}  // namespace

recipes::DeviceView TraceInHand::View(const recipes::Needs& needs) const {
  recipes::DeviceView view = recipes::DeviceView::Make(data, needs.device_times);
  view.waits_ns.assign(waits_ns.begin(), waits_ns.end());
  return view;
}

std::vector<TraceFailure> RunOverTraces(
    std::span<const store::StoreFile> files, const recipes::Needs& needs, const RunOptions& options,
    const std::function<Status(const TraceInHand& trace, size_t place)>& function) {
  return Runner(files, {}, needs, options, function).Run();
}

std::vector<TraceFailure> RunOverTraces(
    const JobFiles& files, const recipes::Needs& needs, const RunOptions& options,
    const std::function<Status(const TraceInHand& trace, size_t place)>& function) {
  return Runner(files.files, files.unstored, needs, options, function).Run();
}

}  // namespace sonde::job
