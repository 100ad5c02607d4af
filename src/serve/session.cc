#include "serve/session.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "cluster/statements/mode_tables.h"
#include "importers/cache.h"
#include "importers/import_trace.h"
#include "job/results.h"
#include "serve/ranks.h"
#include "store/duckdb_lazy.h"

namespace sonde::serve {
namespace {

using base::Concat;

// Moments are counted from a multiple of this (13 days), so that they are exact in a double and
// the same for each order in which the traces become ready.
constexpr int64_t kBaseStep = int64_t{1} << 50U;

constexpr auto kTouchEvery = std::chrono::minutes(10);
constexpr size_t kMaxIgnored = 200;  // that are listed

// Those of the same content as one before.
std::set<int32_t> CopiesIn(std::span<const job::StampedTrace> traces) {
  std::set<int32_t> copies;
  std::set<std::pair<std::string_view, int64_t>> seen;
  for (const job::StampedTrace& trace : traces) {
    const importers::Importer& importer = *trace.trace.source.importer;
    if (importer.is_ours) continue;  // its own, whatever is in it
    if (!seen.emplace(importer.name, trace.stamp).second) copies.insert(trace.trace.number);
  }
  return copies;
}

}  // namespace

Session::Session(std::string version, std::vector<std::string> paths,
                 std::vector<std::string> roots, const store::StatementLimits& limits)
    : roots_(std::move(roots)), limits_(limits), paths_(std::move(paths)) {
  message_.version = std::move(version);
  message_.base = "0";
  message_.loading = !paths_.empty();
  message_.roots = roots_;
  loader_ = std::jthread([this] { Load(); });
}

Session::~Session() { Stop(); }

SessionMessage Session::Describe() const {
  const std::scoped_lock lock(mutex_);
  return message_;
}

int64_t Session::revision() const {
  const std::scoped_lock lock(mutex_);
  return message_.revision;
}

size_t Session::size() const {
  const std::scoped_lock lock(mutex_);
  return slots_.size();
}

int64_t Session::WaitForChange(int64_t known) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(1),
                    [&] { return stopped_ || message_.revision != known; });
  return message_.revision;
}

void Session::Stop() {
  std::map<std::string, std::shared_ptr<store::Cancellation>> running;
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    running = statements_;
    for (const auto& slot : slots_) slot->watch.Cancel();
    changed_.notify_all();
  }
  for (const auto& [id, statement] : running) statement->Cancel();
}

bool Session::stopped() const {
  const std::scoped_lock lock(mutex_);
  return stopped_;
}

void Session::Load() {
  // Takes as long as finding out what is there; users of the library report why there is none.
  const std::jthread library([] { store::LoadDuckDb().IgnoreError(); });
  while (!stopped()) {
    std::vector<std::string> paths;
    std::vector<std::string> added;
    bool is_opened = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kTouchEvery, [this] {
        return stopped_ || is_opened_ || !paths_.empty() || !added_.empty();
      });
      paths = std::exchange(paths_, {});
      added = std::exchange(added_, {});
      is_opened = std::exchange(is_opened_, false);
    }
    if (paths.empty() && added.empty() && !is_opened) {
      TouchStores();
      continue;
    }
    if (!paths.empty()) FindAll(paths, /*confined=*/false);
    if (!added.empty()) FindAll(added, /*confined=*/true);
    std::vector<job::Trace> alone;
    {
      const std::scoped_lock lock(mutex_);
      for (size_t i = 0; i < slots_.size(); ++i) {
        if (!std::exchange(slots_[i]->is_begun, true)) alone.push_back(job_.traces[i]);
      }
    }
    const auto small = job::TakeSmall(alone, base::AvailableThreads());
    const auto copies = CopiesIn(small);
    const auto packs = job::PlanPacks(small);
    // The tasks keep their failures in their traces.
    base::ParallelFor(packs.size() + alone.size(), {}, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end && !stopped(); ++i) {
        if (i < packs.size()) {
          LoadPack(packs[i], copies);
        } else {
          LoadOne(static_cast<size_t>(alone[i - packs.size()].number));
        }
      }
    });
    if (!paths.empty()) NoteNothing();
    Update([&] { message_.loading = is_opened_ || !paths_.empty() || !added_.empty(); });
  }
}

// The cache forgets stores of which it hears nothing for an hour; SQL opens them when it comes.
void Session::TouchStores() const {
  const auto cache = importers::CacheFolder();
  if (!cache.ok()) return;
  for (const auto& trace : Ready()) {
    if (base::DirName(trace->file.path) == *cache) importers::TouchStore(trace->file.path);
  }
}

void Session::FindAll(std::vector<std::string> paths, bool confined) {
  const std::string result = FindMaps(paths);
  if (paths.empty()) return;
  job::FindOptions options{.takes_all = true};
  if (confined) options.allow = [this](const std::string& path) { return Confine(path).status(); };
  job::Job found = job::FindJob(paths, options);
  if (RestTraces(result, found)) found.traces.clear();
  for (const Status& failure : found.failures) NoteFailure(failure);
  Update([&] {
    for (const std::string& other : found.unread) {
      if (message_.ignored.size() == kMaxIgnored) break;
      message_.ignored.push_back({other, base::IsDirectory(other) ? "folder" : "file"});
    }
    job_.repeated.clear();
    job::Append(job_, std::move(found));
    if (!job_.repeated.empty()) message_.notes.push_back(job::DescribeRepeated(job_.repeated));
    AddSlots("waiting");
  });
}

void Session::AddSlots(const char* state) {
  for (const job::Trace& found : job_.traces) {
    const auto index = static_cast<size_t>(found.number);
    if (index == slots_.size()) {
      const std::string& path = found.source.path;
      TraceMessage& trace = message_.traces.emplace_back();
      trace.id = found.number;
      trace.path = path;
      trace.name = base::BaseName(path);
      trace.format = found.source.importer->what;
      trace.rank = found.rank;
      trace.state = state;
      trace.empty = true;
      const Result<uint64_t> size = base::FileSize(path);
      if (base::IsRegularFile(path) && size.ok()) trace.size_bytes = static_cast<int64_t>(*size);
      slots_.push_back(std::make_unique<Slot>());
      slots_.back()->source = found.source;
    }
    message_.traces[index].run = found.run;
  }
}

void Session::Exchange(size_t index, std::shared_ptr<const Trace> trace, TraceMessage message) {
  Update([&] {
    message.version = message_.traces[index].version + (trace != nullptr ? 1 : 0);
    slots_[index]->trace = std::move(trace);
    message_.traces[index] = std::move(message);
  });
}

void Session::LoadOne(size_t index) {
  Slot* slot = nullptr;
  size_t count = 0;
  TraceMessage message;
  Update([&] {
    slot = slots_[index].get();
    count = slots_.size();
    message_.traces[index].state = "reading";
    message = message_.traces[index];
  });
  const auto read = [&]() -> Result<std::shared_ptr<Trace>> {
    const importers::ImportOptions options{.threads = count > 1 ? 1 : base::AvailableThreads(),
                                           .watch = &slot->watch};
    bool is_first = true;
    SONDE_ASSIGN_OR_RETURN(auto store,
                           importers::OpenOrImport(slot->source, options, [&](std::string_view) {
                             // The first line reports that there is no store yet.
                             if (std::exchange(is_first, false)) ShowPreview(index, *slot);
                           }));
    return Open(std::move(store), message);
  };
  Result<std::shared_ptr<Trace>> trace = read();
  if (trace.ok()) {
    message.state = "ready";
    Exchange(index, *trace, std::move(message));
  } else {
    message.state = "failed";
    message.message = trace.status().message();
    Exchange(index, nullptr, std::move(message));
  }
}

void Session::LoadPack(std::span<const job::StampedTrace> traces, const std::set<int32_t>& copies) {
  std::map<int32_t, TraceMessage> messages;
  Update([&] {
    for (const job::StampedTrace& trace : traces) {
      TraceMessage& message = message_.traces[static_cast<size_t>(trace.trace.number)];
      message.state = "reading";
      messages[trace.trace.number] = message;
    }
  });
  std::map<int32_t, Result<std::shared_ptr<Trace>>> shown;
  const auto read = [&]() -> Status {
    auto pack = job::CachedPack(traces);
    if (!pack) {
      SONDE_ASSIGN_OR_RETURN(pack, job::MakePack(traces, [](std::string_view) {}, nullptr));
    }
    for (const job::StampedTrace& trace : traces) {
      for (const job::TraceFailure& failure : pack->failures) {
        if (failure.path == trace.trace.source.path) shown.emplace(trace.trace.number, failure.why);
      }
    }
    if (pack->file.traces.empty()) return {};
    SONDE_ASSIGN_OR_RETURN(const auto folder, base::PrivateFolder::Make("lanes"));
    return ShowPack(databases_, pack->file, folder->path(), messages,
                    [&](int32_t id, Result<std::shared_ptr<Trace>> trace) {
                      if (trace.ok()) {
                        PutOnAxis(**trace, messages[id]);
                        (*trace)->is_copy = copies.contains(id);
                      }
                      shown.emplace(id, std::move(trace));
                    });
  };
  const Status all = read();
  Update([&] {
    for (auto& [id, message] : messages) {
      const auto found = shown.find(id);
      const Status why = found == shown.end() ? all : found->second.status();
      message.state = why.ok() ? "ready" : "failed";
      if (!why.ok()) message.message = why.message();
      const auto index = static_cast<size_t>(id);
      message.run = message_.traces[index].run;
      if (why.ok()) {
        message.version = message_.traces[index].version + 1;
        slots_[index]->trace = *std::move(found->second);
      }
      message_.traces[index] = std::move(message);
    }
  });
}

// That there is none is no failure: the trace appears when it has been read.
void Session::ShowPreview(size_t index, const Slot& slot) {
  const importers::TraceSource& source = slot.source;
  TraceMessage message = Describe().traces[index];
  const auto show = [&]() -> Result<std::shared_ptr<Trace>> {
    SONDE_ASSIGN_OR_RETURN(auto folder, base::PrivateFolder::Make("preview"));
    SONDE_ASSIGN_OR_RETURN(auto store, MakePreview(source, *folder));
    SONDE_ASSIGN_OR_RETURN(auto trace, Open(std::move(store), message));
    trace->folder = std::move(folder);
    return trace;
  };
  const auto trace = show();
  if (trace.ok()) Exchange(index, *trace, std::move(message));
}

int64_t Session::BaseFor(int64_t begin_ns) {
  const std::scoped_lock lock(mutex_);
  if (base_ns_ < 0) {
    base_ns_ = std::max<int64_t>(0, begin_ns / kBaseStep * kBaseStep);
    message_.base = std::to_string(base_ns_);
  }
  return base_ns_;
}

void Session::PutOnAxis(Trace& trace, TraceMessage& message) {
  trace.base_ns = BaseFor(message.begin);
  message.begin -= trace.base_ns;
  message.end -= trace.base_ns;
}

Result<std::shared_ptr<Trace>> Session::Open(std::unique_ptr<store::Store> store,
                                             TraceMessage& message) {
  SONDE_ASSIGN_OR_RETURN(auto trace, ShowStore(databases_, std::move(store), message));
  PutOnAxis(*trace, message);
  return trace;
}

Result<std::string> Session::Confine(const std::string& path) const {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (error) return base::NotFoundError(Concat("there is no '", path, "'"));
  const bool inside = std::any_of(roots_.begin(), roots_.end(), [&](const std::string& root) {
    const std::string folder = std::filesystem::canonical(root, error).string();
    return !error && (real == folder ||
                      real.string().starts_with(folder == "/" ? folder : Concat(folder, "/")));
  });
  if (inside) return real.string();
  return base::PermissionDeniedError(Concat(
      "'", path, "' is outside the folders that may be opened here (", base::Join(roots_, ", "),
      "): name it, or its folder with --root, when you start sonde view"));
}

Status Session::Add(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const std::string real, Confine(path));
  Update([&] {
    message_.notes.clear();
    added_.push_back(real);
    message_.loading = true;
  });
  return {};
}

std::vector<ProgressMessage> Session::Progress() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ProgressMessage> progress;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (message_.traces[i].state != "reading") continue;
    progress.push_back({static_cast<int32_t>(i), slots_[i]->watch.Share()});
  }
  return progress;
}

void Session::SetLive(Live* live) {
  live_ = live;
  Update([&] { message_.live = live != nullptr; });
}

Status Session::ShowRecording(const std::string& path, bool ended) {
  const importers::Importer* importer = importers::FindImporter(path);
  if (importer == nullptr)
    return base::NotFoundError(Concat("there is no recording in '", path, "'"));
  const importers::TraceSource source{path, importer};
  size_t index = 0;
  Slot* slot = nullptr;
  TraceMessage message;
  Update([&] {
    index = job::IndexOf(job_, path).value_or(slots_.size());
    if (index == slots_.size()) {
      job::Job recording;
      recording.traces.push_back({.source = source});
      job::Append(job_, std::move(recording));
      AddSlots("recording");
      slots_[index]->is_begun = true;
    }
    slot = slots_[index].get();
    message = message_.traces[index];
  });
  if (ended) {
    LoadOne(index);
    return {};
  }
  SONDE_ASSIGN_OR_RETURN(message.rank, importer->rank(path));
  SONDE_ASSIGN_OR_RETURN(auto folder, base::PrivateFolder::Make("preview"));
  SONDE_ASSIGN_OR_RETURN(
      auto imported, importers::ImportTrace(source, base::JoinPath(folder->path(), "trace.duckdb"),
                                            {.threads = 1, .watch = &slot->watch}));
  SONDE_ASSIGN_OR_RETURN(auto trace, Open(std::move(imported.store), message));
  trace->folder = std::move(folder);
  Exchange(index, std::move(trace), std::move(message));
  return {};
}

Result<std::shared_ptr<const Trace>> Session::Find(int64_t id) const {
  const std::scoped_lock lock(mutex_);
  if (id < 0 || static_cast<size_t>(id) >= slots_.size()) {
    return base::NotFoundError(Concat("there is no trace ", std::to_string(id)));
  }
  const auto index = static_cast<size_t>(id);
  if (slots_[index]->trace == nullptr) {
    const TraceMessage& trace = message_.traces[index];
    return base::UnavailableError(Concat("trace ", std::to_string(id), " is ", trace.state,
                                         trace.message.empty() ? "" : ": ", trace.message));
  }
  return slots_[index]->trace;
}

job::Job Session::Job() const {
  const std::scoped_lock lock(mutex_);
  return job_;
}

std::vector<std::shared_ptr<const Trace>> Session::Ready() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const Trace>> ready;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const bool is_part = message_.traces[i].state == "reading";
    if (slots_[i]->trace != nullptr && !is_part) ready.push_back(slots_[i]->trace);
  }
  return ready;
}

Result<std::shared_ptr<const store::UserStatements>> Session::AllRanks() {
  const auto ready = Ready();
  std::vector<int64_t> ids;
  for (const auto& trace : ready) ids.push_back(trace->store_id);
  {
    const std::scoped_lock lock(mutex_);
    if (all_ranks_ != nullptr && all_ranks_of_ == ids) return all_ranks_;
  }
  const auto files = FilesOf(ready, Describe());
  if (files.empty()) return base::UnavailableError("no trace is ready");
  SONDE_ASSIGN_OR_RETURN(auto opened,
                         store::UserStatements::Open(files, StatementThreads(), limits_));
  const auto columns = files.size() == 1 && files.front().traces.size() == 1
                           ? store::JointStore::Columns::kOwn
                           : store::JointStore::Columns::kLeading;
  // Each trace reports its own faults.
  const job::NoticeSink silent = [](std::string_view) {};
  const auto ranks = std::make_shared<const SessionRanks>(ready, Job());
  const cluster::RunMode run = [ranks](const cluster::Mode& mode) -> Result<cluster::RunResult> {
    SONDE_ASSIGN_OR_RETURN(const cluster::RankChoice choice, ranks->Choose());
    return ranks->Run(mode, choice.ranks);
  };
  SONDE_RETURN_IF_ERROR(opened->Offer(std::make_shared<store::JoinedTables>(
      std::vector{job::MakeResults(files, columns, StatementThreads(), silent),
                  cluster::MakeModeTables(run, silent)})));
  const std::scoped_lock lock(mutex_);
  all_ranks_ = std::move(opened);
  all_ranks_of_ = std::move(ids);
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
  std::shared_ptr<store::Cancellation> statement;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = statements_.find(id);
    if (found == statements_.end()) return false;
    statement = found->second;
  }
  statement->Cancel();
  return true;
}

std::string Session::Remembered(const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(remembered_.begin(), remembered_.end(),
                                  [&](const auto& answer) { return answer.first == key; });
  return found == remembered_.end() ? std::string() : found->second;
}

void Session::Remember(const std::string& key, const std::string& answer) {
  const std::scoped_lock lock(mutex_);
  constexpr size_t kMaxBytes = size_t{64} << 20U;
  remembered_.emplace_back(key, answer);
  remembered_bytes_ += answer.size();
  while (remembered_bytes_ > kMaxBytes) {
    remembered_bytes_ -= remembered_.front().second.size();
    remembered_.pop_front();
  }
}

}  // namespace sonde::serve
