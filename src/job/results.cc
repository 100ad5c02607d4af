#include "job/results.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <variant>

#include "base/files.h"
#include "base/hash.h"
#include "base/host/build_id.h"
#include "base/strings.h"
#include "importers/cache.h"
#include "job/failures.h"
#include "job/for_each_trace.h"
#include "job/packs.h"
#include "recipes/registry.h"
#include "recipes/trace/device_view.h"
#include "store/pack.h"

namespace sonde::job {
namespace {

using base::Concat;
using store::ResultType;

constexpr std::string_view kTable = "result_";

constexpr store::ResultColumnInfo kLeading[] = {
    {"trace", ResultType::kInt, "", store::KeyOf("trace"), "number of the trace in the job"},
    {"run", ResultType::kInt, "", store::KeyOf("run"), "number of its run"},
    {"rank", ResultType::kOpt, "", store::KeyOf("rank"), "global rank of the trace"},
};

// But for those that the result has itself.
std::vector<store::ResultColumnInfo> LeadingOf(const store::ResultInfo& result) {
  std::vector<store::ResultColumnInfo> leading(std::begin(kLeading), std::end(kLeading));
  std::erase_if(leading, [&](const store::ResultColumnInfo& column) {
    return std::any_of(result.columns.begin(), result.columns.end(),
                       [&](const auto& own) { return own.name == column.name; });
  });
  return leading;
}

void PutLabel(const store::TraceLabel& label, std::span<const store::ResultColumnInfo> leading,
              store::RowSink& rows) {
  for (const store::ResultColumnInfo& column : leading) {
    const int32_t value = column.name == "trace" ? label.trace
                          : column.name == "run" ? label.run
                                                 : label.rank;
    store::ResultValue<ResultType::kOpt>::Put(value, rows);
  }
}

// Keeps what it is given, until it is its turn.
class RowBuffer final : public store::RowSink {
 public:
  void Int(int64_t value) override { cells_.emplace_back(value); }
  void Double(double value) override { cells_.emplace_back(value); }
  void Text(std::string_view value) override { cells_.emplace_back(std::string(value)); }
  void Null() override { cells_.emplace_back(std::monostate()); }
  void EndRow() override { cells_.emplace_back(End()); }

  void Forward(store::RowSink& rows) const {
    for (const Cell& cell : cells_) {
      if (const auto* integer = std::get_if<int64_t>(&cell)) rows.Int(*integer);
      if (const auto* real = std::get_if<double>(&cell)) rows.Double(*real);
      if (const auto* text = std::get_if<std::string>(&cell)) rows.Text(*text);
      if (std::holds_alternative<std::monostate>(cell)) rows.Null();
      if (std::holds_alternative<End>(cell)) rows.EndRow();
    }
  }

 private:
  struct End {};
  using Cell = std::variant<std::monostate, int64_t, double, std::string, End>;
  std::deque<Cell> cells_;
};

// Changes when the file is another one: a pack is named by its content, a store may be replaced.
uint64_t IdOf(const store::StoreFile& file) {
  struct stat info{};
  uint64_t id = base::HashString(file.path);
  if (::stat(file.path.c_str(), &info) == 0) {
    id = base::HashCombine(id, static_cast<uint64_t>(info.st_mtim.tv_sec));
    id = base::HashCombine(id, static_cast<uint64_t>(info.st_mtim.tv_nsec));
    id = base::HashCombine(id, static_cast<uint64_t>(info.st_size));
  }
  for (const store::TraceLabel& label : file.traces) {
    for (const int32_t number : {label.trace, label.run, label.rank, label.place}) {
      id = base::HashCombine(id, static_cast<uint64_t>(number) + 1);
    }
  }
  return id;
}

class JobResults final : public store::MadeTables {
 public:
  JobResults(std::vector<store::StoreFile> files, store::JointStore::Columns columns, int threads,
             NoticeSink complain)
      : files_(std::move(files)),
        is_single_(columns == store::JointStore::Columns::kOwn),
        threads_(threads),
        complain_(std::move(complain)) {
    for (const recipes::Recipe* recipe : recipes::Recipes()) {
      tables_.push_back(*recipe->result);
      if (is_single_) continue;
      auto& all = columns_.emplace_back(LeadingOf(*recipe->result));
      all.insert(all.end(), recipe->result->columns.begin(), recipe->result->columns.end());
      tables_.back().columns = all;
    }
  }

  std::span<const store::ResultInfo> tables() const override { return tables_; }

  Status Fill(const store::ResultInfo& table, store::RowSink& rows) const override {
    const recipes::Recipe& recipe = *recipes::FindRecipe(table.name);
    if (is_single_) return FillOwn(recipe, rows);
    const std::scoped_lock lock(mutex_);  // two that want the same make it once
    SONDE_ASSIGN_OR_RETURN(const std::string path, MadeFile(recipe));
    SONDE_ASSIGN_OR_RETURN(const auto file,
                           store::JointStore::OpenPack(path, {.threads = threads_}));
    return Forward(*file, table, rows);
  }

 private:
  // Of the only trace.
  Status FillOwn(const recipes::Recipe& recipe, store::RowSink& rows) const {
    const auto make = [&](const TraceInHand& trace, size_t /*place*/) -> Status {
      recipe.run(trace.View(recipe.needs), rows);
      return {};
    };
    const auto failures = RunOverTraces(files_, recipe.needs, {.threads = threads_}, make);
    return failures.empty() ? Status() : failures.front().why;
  }

  static Status Forward(const store::JointStore& file, const store::ResultInfo& table,
                        store::RowSink& rows) {
    return file.Scan(Concat("SELECT * FROM ", kTable), [&](const store::Chunk& chunk) -> Status {
      for (size_t row = 0; row < chunk.rows() && rows.wants_more(); ++row) {
        for (size_t column = 0; column < table.columns.size(); ++column) {
          const ResultType type = table.columns[column].type;
          if (chunk.IsNull(column, row)) {
            rows.Null();
          } else if (type == ResultType::kDouble) {
            rows.Double(chunk.Values<double>(column)[row]);
          } else if (type == ResultType::kInt || type == ResultType::kOpt) {
            rows.Int(chunk.Values<int64_t>(column)[row]);
          } else {
            rows.Text(chunk.Text(column, row));
          }
        }
        rows.EndRow();
      }
      return {};
    });
  }

  // The path of the file with the result, made where there is none.
  Result<std::string> MadeFile(const recipes::Recipe& recipe) const {
    uint64_t id = base::HashCombine(base::HashString(recipe.result->name), base::BuildId());
    for (const store::StoreFile& file : files_) id = base::HashCombine(id, IdOf(file));
    SONDE_ASSIGN_OR_RETURN(const std::string folder, PreparedCacheFolder());
    std::string path = base::JoinPath(folder, Concat("result-", std::to_string(id), ".duckdb"));
    const auto stamp = static_cast<int64_t>(id);
    if (base::IsRegularFile(path)) {
      const auto known = store::JointStore::OpenPack(path);
      if (known.ok() && (*known)->source_stamp() == stamp) {
        importers::TouchStore(path);
        return path;
      }
    }
    SONDE_ASSIGN_OR_RETURN(auto writer, store::PackWriter::CreateForResults(path, stamp));
    SONDE_ASSIGN_OR_RETURN(auto rows, writer->BeginResult(*recipe.result, std::string(kTable),
                                                          LeadingOf(*recipe.result)));
    const std::vector<TraceFailure> failures = MakeAll(recipe, *rows);
    SONDE_RETURN_IF_ERROR(rows->Close());
    for (const std::string& line : DescribeFailures(failures)) {
      complain_(Concat(line, "; it is missing from ", recipe.result->name));
    }
    // Another stamp than the one that is looked for: it is made again the next time.
    if (!failures.empty()) SONDE_RETURN_IF_ERROR(writer->SetStamp(stamp + 1));
    SONDE_RETURN_IF_ERROR(writer->Publish());
    importers::PruneCache(folder, importers::CacheLimit(), ::time(nullptr));
    return path;
  }

  // Rows are forwarded in the order of the traces; those of one that is not yet next are kept.
  std::vector<TraceFailure> MakeAll(const recipes::Recipe& recipe, store::RowSink& rows) const {
    const auto leading = LeadingOf(*recipe.result);
    const auto together = recipe.together != nullptr ? recipe.together() : nullptr;
    const recipes::Needs needs =
        together != nullptr ? recipe.needs | recipe.needs_together : recipe.needs;
    std::map<size_t, RowBuffer> waiting;  // by place
    std::mutex mutex;
    const auto forward = [&](size_t places) {
      const std::scoped_lock lock(mutex);
      while (!waiting.empty() && waiting.begin()->first < places) {
        waiting.extract(waiting.begin()).mapped().Forward(rows);
      }
    };
    const auto make = [&](const TraceInHand& trace, size_t place) -> Status {
      const auto view = trace.View(needs);
      RowBuffer buffer;
      store::PrefixSink prefixed(trace.is_alone ? rows : buffer, [&](store::RowSink& sink) {
        PutLabel(trace.label, leading, sink);
      });
      recipe.run(view, prefixed);
      const std::scoped_lock lock(mutex);
      if (together != nullptr) {
        together->Take(view, {trace.label.trace, trace.label.run, trace.label.rank});
      }
      if (!trace.is_alone) waiting.emplace(place, std::move(buffer));
      return {};
    };
    auto failures = RunOverTraces(files_, needs, {.threads = threads_, .when_done = forward}, make);
    if (together != nullptr) PutTogether(*together, leading, rows);
    return failures;
  }

  void PutTogether(recipes::Together& together, const std::vector<store::ResultColumnInfo>& leading,
                   store::RowSink& rows) const {
    std::map<int32_t, store::PrefixSink> sinks;
    for (const store::StoreFile& file : files_) {
      for (const store::TraceLabel& label : file.traces) {
        sinks.try_emplace(label.trace, rows,
                          [&](store::RowSink& sink) { PutLabel(label, leading, sink); });
      }
    }
    together.Finish([&](int32_t trace) -> store::RowSink& { return sinks.at(trace); });
  }

  const std::vector<store::StoreFile> files_;
  const bool is_single_;
  const int threads_;
  const NoticeSink complain_;
  std::vector<store::ResultInfo> tables_;
  std::deque<std::vector<store::ResultColumnInfo>> columns_;
  mutable std::mutex mutex_;
};

}  // namespace

std::shared_ptr<const store::MadeTables> MakeResults(std::vector<store::StoreFile> files,
                                                     store::JointStore::Columns columns,
                                                     int threads, NoticeSink complain) {
  return std::make_shared<JobResults>(std::move(files), columns, threads, std::move(complain));
}

}  // namespace sonde::job
