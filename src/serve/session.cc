#include "serve/session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "serve/describe.h"

namespace sonde::serve {
namespace {

using base::Concat;

// Moments are counted from a multiple of this (13 days), so that they are exact in a double and
// the same for each order in which the traces become ready.
constexpr int64_t kBaseStep = int64_t{1} << 50U;

// Statements leave a processor to the timeline.
int StatementThreads() { return std::max(1, base::AvailableThreads() - 1); }

}  // namespace

const std::string& Trace::Name(int32_t name) const {
  static const std::string none;
  return name >= 0 && static_cast<size_t>(name) < names.size() ? names[static_cast<size_t>(name)]
                                                               : none;
}

Result<std::shared_ptr<const CounterValues>> Trace::Counter(int32_t track) const {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = counters_.find(track);
    if (found != counters_.end()) return found->second;
  }
  auto values = std::make_shared<CounterValues>();
  SONDE_RETURN_IF_ERROR(
      store->Scan(Concat("SELECT ts, value FROM counter WHERE track_id = ", std::to_string(track),
                         " ORDER BY ts"),
                  [&](const store::Chunk& chunk) -> Status {
                    const auto ts = chunk.Values<int64_t>(0);
                    const auto value = chunk.Values<double>(1);
                    values->ts.insert(values->ts.end(), ts.begin(), ts.end());
                    values->values.insert(values->values.end(), value.begin(), value.end());
                    return {};
                  }));
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const CounterValues>& kept = counters_[track];
  if (kept == nullptr) kept = std::move(values);
  return kept;
}

Session::Session(std::string version, std::vector<std::string> paths) : paths_(std::move(paths)) {
  message_.version = std::move(version);
  message_.base = "0";
  message_.loading = true;
  loader_ = std::jthread([this] { Load(); });
}

Session::~Session() { Stop(); }

template <class Change>
void Session::Update(Change&& change) {
  const std::scoped_lock lock(mutex_);
  change();
  ++message_.revision;
  changed_.notify_all();
}

SessionMessage Session::Describe() const {
  const std::scoped_lock lock(mutex_);
  return message_;
}

int64_t Session::revision() const {
  const std::scoped_lock lock(mutex_);
  return message_.revision;
}

int64_t Session::WaitForChange(int64_t known) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(1),
                    [&] { return stopped_ || message_.revision != known; });
  return message_.revision;
}

void Session::Stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  for (const auto& [id, statement] : statements_) statement->Cancel();
  changed_.notify_all();
}

bool Session::stopped() const {
  const std::scoped_lock lock(mutex_);
  return stopped_;
}

void Session::Load() {
  FindAll();
  const size_t count = sources_.size();
  // The tasks keep their failures in their traces.
  base::ParallelFor(count, {}, [this](size_t begin, size_t end) {
    for (size_t i = begin; i < end && !stopped(); ++i) LoadOne(i);
  });
  Update([&] { message_.loading = false; });
}

void Session::FindAll() {
  for (const std::string& path : paths_) {
    Result<std::vector<importers::TraceSource>> found = importers::FindTraces(path);
    Update([&] {
      if (!found.ok()) {
        message_.notes.emplace_back(found.status().message());
        return;
      }
      if (found->empty()) {
        message_.notes.push_back(Concat("nothing that Sonde reads lies in '", path, "'"));
      }
      for (importers::TraceSource& source : *found) {
        const bool known = std::any_of(sources_.begin(), sources_.end(), [&](const auto& other) {
          return base::AbsolutePath(other.path) == base::AbsolutePath(source.path);
        });
        if (known) continue;
        TraceMessage& trace = message_.traces.emplace_back();
        trace.id = static_cast<int32_t>(sources_.size());
        trace.path = source.path;
        trace.name = base::BaseName(source.path);
        trace.format = source.importer->what;
        trace.rank = -1;
        trace.state = "waiting";
        const Result<uint64_t> size = base::FileSize(source.path);
        if (base::IsRegularFile(source.path) && size.ok()) {
          trace.size_bytes = static_cast<int64_t>(*size);
        }
        sources_.push_back(std::move(source));
        traces_.emplace_back();
      }
    });
  }
}

void Session::LoadOne(size_t index) {
  TraceMessage message;
  Update([&] {
    message_.traces[index].state = "reading";
    message = message_.traces[index];
  });
  Result<std::shared_ptr<Trace>> trace = Open(sources_[index], message);
  Update([&] {
    if (trace.ok()) {
      message.state = "ready";
      traces_[index] = *trace;
    } else {
      message.state = "failed";
      message.message = trace.status().message();
    }
    message_.traces[index] = message;
  });
}

int64_t Session::BaseFor(int64_t begin_ns) {
  const std::scoped_lock lock(mutex_);
  if (base_ns_ < 0) {
    base_ns_ = std::max<int64_t>(0, begin_ns / kBaseStep * kBaseStep);
    message_.base = std::to_string(base_ns_);
  }
  return base_ns_;
}

Result<std::shared_ptr<Trace>> Session::Open(const importers::TraceSource& source,
                                             TraceMessage& message) {
  SONDE_ASSIGN_OR_RETURN(message.rank, source.importer->rank(source.path));
  auto trace = std::make_shared<Trace>();
  trace->id = message.id;
  const int threads = paths_.size() > 1 || sources_.size() > 1 ? 1 : base::AvailableThreads();
  SONDE_ASSIGN_OR_RETURN(
      trace->store, importers::OpenOrImport(source, {.threads = threads}, [](std::string_view) {}));
  SONDE_ASSIGN_OR_RETURN(
      trace->user,
      store::UserStatements::Open({{trace->store->path(), message.rank}}, StatementThreads()));
  SONDE_ASSIGN_OR_RETURN(trace->zoom, store::ZoomIndex::OpenOrBuild(*trace->store));
  SONDE_ASSIGN_OR_RETURN(trace->names, trace->store->Names());
  SONDE_RETURN_IF_ERROR(DescribeTrace(*trace->store, message));
  trace->base_ns = BaseFor(message.begin);
  message.begin -= trace->base_ns;
  message.end -= trace->base_ns;
  return trace;
}

Result<std::shared_ptr<const Trace>> Session::Find(int64_t id) const {
  const std::scoped_lock lock(mutex_);
  if (id < 0 || static_cast<size_t>(id) >= traces_.size()) {
    return base::NotFoundError(Concat("there is no trace ", std::to_string(id)));
  }
  const auto index = static_cast<size_t>(id);
  if (traces_[index] == nullptr) {
    const TraceMessage& trace = message_.traces[index];
    return base::UnavailableError(Concat("trace ", std::to_string(id), " is ", trace.state,
                                         trace.message.empty() ? "" : ": ", trace.message));
  }
  return traces_[index];
}

std::vector<std::shared_ptr<const Trace>> Session::Ready() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const Trace>> ready;
  std::copy_if(traces_.begin(), traces_.end(), std::back_inserter(ready),
               [](const auto& trace) { return trace != nullptr; });
  return ready;
}

Result<std::shared_ptr<const store::UserStatements>> Session::AllRanks() {
  const auto ready = Ready();
  {
    const std::scoped_lock lock(mutex_);
    if (all_ranks_ != nullptr && all_ranks_count_ == ready.size()) return all_ranks_;
  }
  std::vector<store::RankStore> ranks;
  const SessionMessage message = Describe();
  for (const auto& trace : ready) {
    ranks.push_back({trace->store->path(), message.traces[static_cast<size_t>(trace->id)].rank});
  }
  if (ranks.empty()) return base::UnavailableError("no trace is ready");
  SONDE_ASSIGN_OR_RETURN(auto opened, store::UserStatements::Open(ranks, StatementThreads()));
  const std::scoped_lock lock(mutex_);
  all_ranks_ = std::move(opened);
  all_ranks_count_ = ranks.size();
  return all_ranks_;
}

std::shared_ptr<store::Cancellation> Session::BeginStatement(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  auto statement = std::make_shared<store::Cancellation>();
  if (!id.empty()) statements_[id] = statement;
  return statement;
}

void Session::EndStatement(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  statements_.erase(id);
}

bool Session::CancelStatement(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  const auto found = statements_.find(id);
  if (found == statements_.end()) return false;
  found->second->Cancel();
  return true;
}

std::string Session::Remembered(const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = remembered_.find(key);
  return found == remembered_.end() ? std::string() : found->second;
}

void Session::Remember(const std::string& key, const std::string& answer) {
  const std::scoped_lock lock(mutex_);
  remembered_[key] = answer;
}

}  // namespace sonde::serve
