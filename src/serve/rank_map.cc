#include "serve/rank_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/host/sqlite_reader.h"
#include "base/strings.h"
#include "importers/lake/lake.h"
#include "store/joint.h"
#include "store/lake.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Tables of cluster_analysis.db: rank, step, then the measures in microseconds; "": not there.
struct ResultSource {
  std::string_view table;
  std::string_view where;
  std::array<std::string_view, 2 + kMeasures.size()> columns;
};
constexpr std::array kResultSources = {
    ResultSource{"ClusterTimeSummary",
                 "true",
                 {"rank", "step", "stepTime", "computation", "communicationNotOverlapComputation",
                  "communicationWaitStageTime", "free"}},
    ResultSource{"ClusterStepTraceTime",
                 "type = 'rank'",
                 {"\"index\"", "step", "stage + bubble", "computing",
                  "communication_not_overlapped", "NULL", "free"}}};

// The table step_trace, of the device that counts for the rank in each step, and the lengths of the
// steps.
constexpr std::string_view kLakeTimes =
    "SELECT t.rank::BIGINT, coalesce(t.step_id, -1), coalesce(s.dur, t.computing_ns + "
    "t.not_overlapped_ns + t.free_ns)::DOUBLE, t.computing_ns::DOUBLE, "
    "t.not_overlapped_ns::DOUBLE, NULL::DOUBLE, t.idle_ns::DOUBLE FROM step_trace t LEFT JOIN "
    "(SELECT trace, step_id, max(dur) AS dur FROM step WHERE dur >= 0 AND run = ";

// The window of so many places, and how many of them a block has.
struct Blocks {
  int64_t first = 0;
  int64_t count = 0;  // places
  int64_t size = 1;   // of a block
  int64_t blocks() const { return (count + size - 1) / size; }
  int64_t begin(int64_t block) const { return first + block * size; }
  int64_t last(int64_t block) const { return std::min(first + count, begin(block + 1)) - 1; }
};
Blocks BlocksOf(int64_t first, int64_t count, size_t all, int64_t most) {
  Blocks blocks;
  blocks.first = std::clamp<int64_t>(first, 0, static_cast<int64_t>(all));
  const int64_t rest = static_cast<int64_t>(all) - blocks.first;
  blocks.count = count <= 0 ? rest : std::min(count, rest);
  blocks.size = std::max<int64_t>(1, (blocks.count + most - 1) / most);
  return blocks;
}

struct MapCell {
  float ns = std::numeric_limits<float>::quiet_NaN();
  int32_t rank = 0;  // places
  int32_t step = 0;
};

// Differences of a hundredth of the largest and less are no news: then from zero.
std::pair<double, double> RangeOf(const std::vector<MapCell>& cells) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const MapCell& cell : cells) {
    if (std::isnan(cell.ns)) continue;
    low = std::min(low, double{cell.ns});
    high = std::max(high, double{cell.ns});
  }
  if (low > high) return {0, 1};
  return {low >= 0 && high - low <= 0.01 * high ? 0 : low, high};
}

}  // namespace

Result<std::vector<std::shared_ptr<RankMap>>> RankMap::OfLake(const std::string& folder) {
  SONDE_ASSIGN_OR_RETURN(const auto runs, store::ListLake(folder));
  SONDE_ASSIGN_OR_RETURN(const auto members, store::LakeMembers(folder));
  std::map<int32_t, std::shared_ptr<RankMap>> maps;
  for (const store::LakeRun& run : runs) {
    std::shared_ptr<RankMap>& map = maps[run.number];
    map.reset(new RankMap());
    map->name_ = run.name;
    map->lake_ = base::AbsolutePath(folder);
    map->run_ = run.number;
  }
  for (const store::LakeMember& member : members) {
    maps.at(member.run)->sources_[member.rank] = {member.path, &importers::kLakeTrace};
  }
  std::vector<std::shared_ptr<RankMap>> all;
  for (auto& [run, map] : maps) all.push_back(std::move(map));
  return all;
}

std::shared_ptr<RankMap> RankMap::OfResult(const std::string& database,
                                           std::map<int32_t, importers::TraceSource> sources) {
  std::shared_ptr<RankMap> map(new RankMap());
  map->name_ = database;
  map->database_ = database;
  map->sources_ = std::move(sources);
  return map;
}

std::string RankMap::FindResult(const std::string& folder) {
  for (const std::string_view below : {"", "cluster_analysis_output/"}) {
    std::string path = base::JoinPath(folder, Concat(below, "cluster_analysis.db"));
    if (!base::IsRegularFile(path)) continue;
    const auto reader = base::SqliteReader::Open(path);
    const auto is_there = [&](const ResultSource& source) {
      return reader->HasTable(source.table);
    };
    if (reader.ok() && std::ranges::any_of(kResultSources, is_there)) return path;
  }
  return {};
}

Result<importers::TraceSource> RankMap::SourceOf(int32_t rank) const {
  const auto found = sources_.find(rank);
  if (found != sources_.end()) return found->second;
  return base::NotFoundError(
      Concat("the recording of rank ", std::to_string(rank),
             " is not known here: name the folder of the recordings beside the result, as in sonde "
             "view RESULT RECORDINGS"));
}

void RankMap::Times::Add(int64_t rank, int64_t step,
                         const std::array<double, kMeasures.size()>& ns) {
  ranks.push_back(rank);
  steps.push_back(step);
  Row& row = rows.emplace_back();
  for (size_t i = 0; i < ns.size(); ++i) row.ns[i] = static_cast<float>(ns[i]);
}

void RankMap::Times::Finish() {
  const auto places = [](std::vector<int64_t>& numbers) {
    std::vector<int64_t> distinct = numbers;
    std::ranges::sort(distinct);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (int64_t& number : numbers) {
      number = std::ranges::lower_bound(distinct, number) - distinct.begin();
    }
    std::swap(numbers, distinct);
    return distinct;
  };
  const auto rank_places = places(ranks);
  const auto step_places = places(steps);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].rank = static_cast<int32_t>(rank_places[i]);
    rows[i].step = static_cast<int32_t>(step_places[i]);
  }
}

Result<RankMap::Times> RankMap::ReadLake() const {
  SONDE_ASSIGN_OR_RETURN(const auto lake,
                         store::OpenLake(lake_, {.threads = base::AvailableThreads()}));
  const std::string run = std::to_string(run_);
  const auto found = lake->Query(
      Concat(kLakeTimes, run, " GROUP BY ALL) s USING (trace, step_id) WHERE t.run = ", run,
             " AND t.rank >= 0 AND t.is_of_rank = 1"));
  const auto lacks = [&](std::string_view what) {
    return !found.ok() && found.status().message().find(what) != std::string::npos;
  };
  if (lacks("Table with name step_trace") || lacks("\"is_of_rank\"")) {
    return base::FailedPreconditionError(
        Concat("the lake '", lake_,
               "' has no times of steps (table step_trace), since an older version made it: add "
               "the runs to a new lake"));
  }
  SONDE_RETURN_IF_ERROR(found.status());
  Times times;
  for (size_t row = 0; row < found->rows(); ++row) {
    std::array<double, kMeasures.size()> ns{};
    for (size_t i = 0; i < ns.size(); ++i) {
      ns[i] = found->IsNull(2 + i, row) ? kUnknown : found->Double(2 + i, row);
    }
    times.Add(found->Int(0, row), found->Int(1, row), ns);
  }
  return times;
}

Result<RankMap::Times> RankMap::ReadResult() const {
  SONDE_ASSIGN_OR_RETURN(const auto reader, base::SqliteReader::Open(database_));
  const auto source = std::ranges::find_if(
      kResultSources, [&](const ResultSource& one) { return reader.HasTable(one.table); });
  if (source == kResultSources.end()) {
    return base::NotFoundError(Concat("'", database_, "' has no times of steps any more"));
  }
  std::string columns;
  for (const std::string_view column : source->columns) {
    columns += Concat(columns.empty() ? "" : ", ", column);
  }
  Times times;
  SONDE_RETURN_IF_ERROR(reader.Query(
      Concat("SELECT ", columns, " FROM ", source->table, " WHERE ", source->where),
      [&](const base::SqliteRow& row) {
        constexpr double kNsPerUs = 1e3;
        const auto rank = row.Int(0);
        if (!rank) return;
        std::array<double, kMeasures.size()> ns{};
        for (size_t i = 0; i < ns.size(); ++i) {
          const int column = static_cast<int>(i) + 2;
          ns[i] = row.IsNull(column) ? kUnknown : kNsPerUs * row.Double(column).value_or(kUnknown);
        }
        times.Add(*rank, row.IsNull(1) ? -1 : row.Int(1).value_or(-1), ns);
      }));
  return times;
}

Result<std::shared_ptr<const RankMap::Times>> RankMap::Read() {
  const std::scoped_lock lock(mutex_);
  if (times_ == nullptr) {
    SONDE_ASSIGN_OR_RETURN(Times times, lake_.empty() ? ReadResult() : ReadLake());
    times.Finish();
    times_ = std::make_shared<const Times>(std::move(times));
  }
  return times_;
}

std::vector<float> RankMap::Medians(const Times& times, size_t measure) {
  std::vector<std::vector<float>> by_step(times.steps.size());
  for (const Times::Row& row : times.rows) {
    const float ns = row.ns[measure];
    if (!std::isnan(ns)) by_step[static_cast<size_t>(row.step)].push_back(ns);
  }
  std::vector<float> medians;
  for (std::vector<float>& values : by_step) {
    if (values.empty()) {
      medians.push_back(0);
      continue;
    }
    const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
    std::ranges::nth_element(values, middle);
    medians.push_back(*middle);
  }
  return medians;
}

// The place of each rank on the map, by its place in `ranks`.
std::vector<int32_t> RankMap::Order(const Times& times, const TileRequest& request) {
  std::vector<int32_t> order(times.ranks.size());
  std::iota(order.begin(), order.end(), 0);
  if (!request.is_sorted) return order;
  std::vector<double> sums(times.ranks.size());
  std::vector<double> counts(times.ranks.size());
  for (const Times::Row& row : times.rows) {
    const float ns = row.ns[request.measure];
    if (std::isnan(ns)) continue;
    sums[static_cast<size_t>(row.rank)] += ns;
    counts[static_cast<size_t>(row.rank)] += 1;
  }
  for (size_t i = 0; i < sums.size(); ++i) sums[i] /= std::max(1.0, counts[i]);
  std::vector<int32_t> ranks = order;
  std::ranges::stable_sort(ranks, [&](int32_t a, int32_t b) {
    return sums[static_cast<size_t>(a)] > sums[static_cast<size_t>(b)];
  });
  for (size_t i = 0; i < ranks.size(); ++i) {
    order[static_cast<size_t>(ranks[i])] = static_cast<int32_t>(i);
  }
  return order;
}

void RankMap::Fill(const Times& times, const TileRequest& request, RankTileMessage& message) {
  const Blocks rows = BlocksOf(request.first_rank, request.ranks, times.ranks.size(), kMostRows);
  const Blocks columns =
      BlocksOf(request.first_step, request.steps, times.steps.size(), kMostColumns);
  const auto order = Order(times, request);
  const auto medians = request.is_compared ? Medians(times, request.measure)
                                           : std::vector<float>(times.steps.size(), 0);
  std::vector<MapCell> cells(static_cast<size_t>(rows.blocks() * columns.blocks()));
  for (const Times::Row& row : times.rows) {
    const int64_t rank = order[static_cast<size_t>(row.rank)] - rows.first;
    const int64_t step = row.step - columns.first;
    if (rank < 0 || rank >= rows.count || step < 0 || step >= columns.count) continue;
    const float ns = row.ns[request.measure] - medians[static_cast<size_t>(row.step)];
    MapCell& cell =
        cells[static_cast<size_t>(rank / rows.size * columns.blocks() + step / columns.size)];
    if (std::isnan(cell.ns) || ns > cell.ns) cell = {ns, row.rank, row.step};
  }
  std::vector<int64_t> by_place(times.ranks.size());  // numbers of the ranks as they are shown
  for (size_t i = 0; i < order.size(); ++i)
    by_place[static_cast<size_t>(order[i])] = times.ranks[i];
  for (int64_t row = 0; row < rows.blocks(); ++row) {
    message.first_ranks.push_back(by_place[static_cast<size_t>(rows.begin(row))]);
    message.last_ranks.push_back(by_place[static_cast<size_t>(rows.last(row))]);
  }
  for (int64_t column = 0; column < columns.blocks(); ++column) {
    message.first_steps.push_back(times.steps[static_cast<size_t>(columns.begin(column))]);
    message.last_steps.push_back(times.steps[static_cast<size_t>(columns.last(column))]);
  }
  message.row_size = rows.size;
  message.column_size = columns.size;
  for (const MapCell& cell : cells) {
    message.ns.push_back(cell.ns);
    message.ranks.push_back(times.ranks[static_cast<size_t>(cell.rank)]);
    message.steps.push_back(times.steps[static_cast<size_t>(cell.step)]);
  }
  std::tie(message.low, message.high) = RangeOf(cells);
}

Result<RankTileMessage> RankMap::Tile(const TileRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const auto times, Read());
  RankTileMessage message;
  message.total_ranks = std::ssize(times->ranks);
  message.total_steps = std::ssize(times->steps);
  for (size_t measure = 0; measure < kMeasures.size(); ++measure) {
    const bool is_known = std::ranges::any_of(
        times->rows, [&](const Times::Row& row) { return !std::isnan(row.ns[measure]); });
    if (is_known) message.measures.emplace_back(kMeasures[measure]);
  }
  Fill(*times, request, message);
  return message;
}

}  // namespace sonde::serve
