// Times of the steps of more ranks than are read at once, a tile at a time: of a run in a lake, or
// of a finished result of `sonde cluster`. Who wants the trace of one of its ranks opens that.
//
// A tile has kMostRows by kMostColumns cells at most. Where there are more ranks or steps a cell is
// the largest value of a block of them, with its rank and step. Times: nanoseconds. Threads: any;
// the times are read when a tile is first asked for. Errors: those of the lake or database, and
// kNotFound for what is not in it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "importers/registry.h"
#include "serve/messages.h"

namespace sonde::serve {

inline constexpr std::array<std::string_view, 5> kMeasures = {"step", "computing", "exposed",
                                                              "wait", "free"};

struct TileRequest {
  size_t measure = 0;      // of kMeasures
  int64_t first_rank = 0;  // by place
  int64_t ranks = 0;       // 0: all behind the first
  int64_t first_step = 0;
  int64_t steps = 0;
  bool is_compared = false;  // how much more than the median rank of the same step
  bool is_sorted = false;    // the ranks with the largest mean come first
};

class RankMap {
 public:
  static constexpr int64_t kMostRows = 256;
  static constexpr int64_t kMostColumns = 128;

  // Those of a lake, one a run.
  static Result<std::vector<std::shared_ptr<RankMap>>> OfLake(const std::string& folder);
  // Of cluster_analysis.db; `sources`: the traces of the ranks, as far as they are known.
  static std::shared_ptr<RankMap> OfResult(const std::string& database,
                                           std::map<int32_t, importers::TraceSource> sources);
  // The database of a finished result in the folder, "" where there is none.
  static std::string FindResult(const std::string& folder);

  const std::string& name() const { return name_; }
  const std::string& lake() const { return lake_; }  // its folder; "" for a result
  size_t sources() const { return sources_.size(); }
  Result<importers::TraceSource> SourceOf(int32_t rank) const;
  Result<RankTileMessage> Tile(const TileRequest& request);

 private:
  struct Times {
    struct Row {
      int32_t rank;  // places
      int32_t step;
      std::array<float, kMeasures.size()> ns;  // NaN: unknown
    };
    std::vector<int64_t> ranks;  // numbers, in order
    std::vector<int64_t> steps;  // -1: of a trace without steps
    std::vector<Row> rows;
    void Add(int64_t rank, int64_t step, const std::array<double, kMeasures.size()>& ns);
    void Finish();  // numbers become places
  };
  RankMap() = default;
  Result<std::shared_ptr<const Times>> Read();
  Result<Times> ReadLake() const;
  Result<Times> ReadResult() const;
  static std::vector<float> Medians(const Times& times, size_t measure);
  static std::vector<int32_t> Order(const Times& times, const TileRequest& request);
  static void Fill(const Times& times, const TileRequest& request, RankTileMessage& message);

  std::string name_;
  std::string lake_;
  int32_t run_ = 0;       // of the lake
  std::string database_;  // of a result
  std::map<int32_t, importers::TraceSource> sources_;
  std::mutex mutex_;
  std::shared_ptr<const Times> times_;  // null until they are read
};

}  // namespace sonde::serve
