#include "precision/merge/merge_job.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/parallel.h"
#include "base/host/yaml_file.h"
#include "base/strings.h"
#include "precision/merge/table_file.h"
#include "report/text_sheets.h"
#include "report/time_stamp.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::YamlNode;

constexpr std::string_view kNameColumn = "NPU Name";

std::vector<std::string> MetricsOf(const std::vector<std::string>& header) {
  static const std::vector<std::string> statistics = {
      "Max diff",       "Min diff",       "Mean diff",       "L2norm diff",
      "MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr"};
  static const std::vector<std::string> tensor = {"Cosine",
                                                  "EucDist",
                                                  "MaxAbsErr",
                                                  "MaxRelativeErr",
                                                  "One Thousandth Err Ratio",
                                                  "Five Thousandths Err Ratio"};
  for (const auto* metrics : {&statistics, &tensor}) {
    const bool all = std::all_of(metrics->begin(), metrics->end(), [&](const std::string& name) {
      return std::find(header.begin(), header.end(), name) != header.end();
    });
    if (!all) continue;
    std::vector<std::string> out = *metrics;
    out.emplace_back("Requires_grad Consistent");
    return out;
  }
  return {};
}

// The rank in "compare_result_rank3_20260101000000.csv" or "..._rank3-rank3_..."; -1: none.
int64_t RankOf(std::string_view name) {
  constexpr std::string_view kPrefix = "compare_result_rank";
  if (!name.starts_with(kPrefix)) return -1;
  const std::string_view rest = name.substr(kPrefix.size());
  const size_t mark = rest.find('_');
  if (mark == std::string_view::npos || rest.substr(mark + 1).find('.') != 14) return -1;
  const std::string_view ranks = rest.substr(0, mark);
  const size_t dash = ranks.find("-rank");
  const std::string_view first = ranks.substr(0, dash);
  if (dash != std::string_view::npos && ranks.substr(dash + 5) != first) return -1;
  return base::ParseInt64(first).value_or(-1);
}

struct Config {
  std::vector<std::string> apis;
  std::vector<std::string> metrics;
};

Status ReadList(const YamlNode& root, std::string_view key, const std::string& path,
                std::vector<std::string>* out) {
  const YamlNode* node = root.Find(key);
  if (node == nullptr || node->kind == YamlNode::Kind::kNull) return Status::Ok();
  const auto wrong = [&] {
    return base::InvalidArgumentError(Concat(path, ": '", key, "' is a list of texts"));
  };
  if (!node->IsList()) return wrong();
  for (const YamlNode& item : node->items) {
    if (!item.IsText()) return wrong();
    out->push_back(item.text);
  }
  return Status::Ok();
}

// An unknown key is reported: a misspelt compare_index would give the sheets of all metrics.
std::vector<std::string> UnknownKeys(const YamlNode& root, const std::string& path) {
  std::vector<std::string> notes;
  for (const auto& [key, value] : root.members) {
    if (key == "api" || key == "compare_index") continue;
    notes.push_back(Concat(path, ": '", key,
                           "' is not known and has no effect; known are api and compare_index"));
  }
  return notes;
}

Result<Config> ReadConfig(const std::string& path, std::vector<std::string>* notes) {
  SONDE_ASSIGN_OR_RETURN(const YamlNode root, base::ReadYaml(path));
  Config out;
  if (!root.IsMap()) {
    return base::InvalidArgumentError(Concat(path, ": expected 'api: [...]', 'compare_index: []'"));
  }
  SONDE_RETURN_IF_ERROR(ReadList(root, "api", path, &out.apis));
  SONDE_RETURN_IF_ERROR(ReadList(root, "compare_index", path, &out.metrics));
  *notes = UnknownKeys(root, path);
  if (out.apis.empty()) {
    return base::InvalidArgumentError(Concat(path, ": 'api' names no call",
                                             notes->empty() ? "" : "; ",
                                             notes->empty() ? std::string() : notes->front()));
  }
  return out;
}

struct RankFile {
  int64_t rank = 0;
  std::string path;
  TableRows rows;
};

Result<std::vector<RankFile>> FindFiles(const std::string& folder, MergeOutcome* outcome) {
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(folder));
  std::map<int64_t, RankFile> files;
  for (const base::DirectoryEntry& entry : entries) {
    if (!entry.name.ends_with(".csv") && !entry.name.ends_with(".xlsx")) continue;
    const int64_t rank = RankOf(entry.name);
    if (rank < 0) {
      outcome->notes.push_back(Concat(entry.name, " is left out: no result of a numbered rank"));
      continue;
    }
    RankFile file = {rank, base::JoinPath(folder, entry.name), {}};
    const auto [found, added] = files.emplace(rank, file);
    if (added) continue;
    // Names end in the time, so the later file is the larger one.
    RankFile& kept = found->second;
    if (base::BaseName(kept.path) < base::BaseName(file.path)) std::swap(kept, file);
    outcome->notes.push_back(Concat(base::BaseName(file.path), " is left out: rank ",
                                    std::to_string(rank), " has a later result"));
  }
  std::vector<RankFile> out;
  for (auto& [rank, file] : files) out.push_back(std::move(file));
  if (out.size() >= 2) return out;
  return base::NotFoundError(
      Concat(folder, " holds ", base::CountOf(out.size(), "result"),
             " named compare_result_rank<N>_<time>; two or more are merged"));
}

// One metric of the chosen calls: name of the parameter, then a cell a rank.
using Sheet = std::map<std::string, std::vector<std::string>>;

class Merger {
 public:
  Merger(const Config& config, MergeOutcome* outcome) : config_(config), outcome_(outcome) {}

  Status Merge(const std::vector<RankFile>& files) {
    for (const RankFile& file : files) SONDE_RETURN_IF_ERROR(AddFile(file));
    if (ranks_.empty()) {
      return base::InvalidArgumentError("no file holds a table of statistics or tensors to merge");
    }
    return Status::Ok();
  }

  // Calls that no file has; where none has any, each file was named.
  void NoteUnmet() {
    for (const std::string& api : config_.apis) {
      if (met_.empty() || met_.contains(api)) continue;
      outcome_->notes.push_back(Concat("api '", api, "' is in none of the files"));
    }
  }

  Status Write(const std::string& path) const {
    std::vector<report::XlsxSheet> sheets;
    for (size_t m = 0; m < metrics_.size(); ++m) {
      report::XlsxSheet& sheet = sheets.emplace_back();
      sheet.name = metrics_[m];
      std::vector<std::string>& header = sheet.rows.emplace_back();
      header.emplace_back(kNameColumn);
      for (const int64_t rank : ranks_) header.push_back(Concat("rank", std::to_string(rank)));
      for (const auto& [name, cells] : sheets_[m]) {
        std::vector<std::string>& row = sheet.rows.emplace_back(cells);
        row.insert(row.begin(), name);
        row.resize(ranks_.size() + 1);
      }
    }
    return report::WriteXlsxSheets(sheets, path);
  }
  size_t rank_count() const { return ranks_.size(); }
  size_t row_count() const { return sheets_.empty() ? 0 : sheets_[0].size(); }

 private:
  void LeaveOut(const RankFile& file, std::string_view reason) {
    outcome_->notes.push_back(Concat(base::BaseName(file.path), " is left out: ", reason));
  }

  Status ChooseMetrics(const std::vector<std::string>& available) {
    metrics_ = config_.metrics.empty() ? available : config_.metrics;
    for (const std::string& name : metrics_) {
      if (std::find(available.begin(), available.end(), name) == available.end()) {
        return base::InvalidArgumentError(
            Concat("compare_index '", name, "' is no metric of these results"));
      }
    }
    available_ = available;
    sheets_.resize(metrics_.size());
    return Status::Ok();
  }

  Status AddFile(const RankFile& file) {
    if (file.rows.empty()) {
      LeaveOut(file, "it is empty");
      return Status::Ok();
    }
    const std::vector<std::string>& header = file.rows[0];
    const std::vector<std::string> available = MetricsOf(header);
    if (available.empty()) {
      LeaveOut(file, "it is no table of statistics or tensors");
      return Status::Ok();
    }
    if (metrics_.empty()) SONDE_RETURN_IF_ERROR(ChooseMetrics(available));
    if (available != available_) {
      LeaveOut(file, "its metrics are not those of the first file");
      return Status::Ok();
    }
    AddRows(file);
    ranks_.push_back(file.rank);
    return Status::Ok();
  }

  bool IsChosen(const std::string& name) {
    bool is_chosen = false;
    for (const std::string& api : config_.apis) {
      if (name.find(Concat(api, ".")) == std::string::npos) continue;
      is_chosen = true;
      met_.insert(api);
    }
    return is_chosen;
  }

  void AddRows(const RankFile& file) {
    const std::vector<std::string>& header = file.rows[0];
    const auto column = [&header](std::string_view name) {
      return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
    };
    const size_t name_column = column(kNameColumn);
    const size_t npu_max = column("NPU max");
    const size_t bench_max = column("Bench max");
    bool any = false;
    for (size_t r = 1; r < file.rows.size(); ++r) {
      const std::vector<std::string>& row = file.rows[r];
      const auto cell = [&row](size_t c) { return c < row.size() ? row[c] : std::string(); };
      const std::string name = cell(name_column);
      if (!IsChosen(name)) continue;
      any = true;
      for (size_t m = 0; m < metrics_.size(); ++m) {
        std::vector<std::string>& cells = sheets_[m][name];
        if (cells.size() > ranks_.size()) continue;  // the first of equal names
        std::string value = cell(column(metrics_[m]));
        if (value == "N/A" || value == "unsupported" || value == "Nan") {
          value = Concat("NPU:", cell(npu_max), "  Bench:", cell(bench_max));
        }
        cells.resize(ranks_.size());
        cells.push_back(std::move(value));
      }
    }
    if (!any)
      outcome_->notes.push_back(Concat(base::BaseName(file.path), " has none of the calls"));
  }

  const Config& config_;
  MergeOutcome* outcome_;
  std::vector<std::string> available_;
  std::vector<std::string> metrics_;
  std::vector<int64_t> ranks_;
  std::vector<Sheet> sheets_;  // by metric
  std::set<std::string> met_;  // calls of the configuration that some file has
};

}  // namespace

Result<MergeOutcome> MergeResults(const MergeOptions& options) {
  MergeOutcome out;
  SONDE_ASSIGN_OR_RETURN(const Config config, ReadConfig(options.config_path, &out.notes));
  SONDE_ASSIGN_OR_RETURN(std::vector<RankFile> files, FindFiles(options.input_path, &out));
  SONDE_RETURN_IF_ERROR(base::ParallelForStatus(files.size(), {}, [&files](size_t i) -> Status {
    SONDE_ASSIGN_OR_RETURN(files[i].rows, ReadTableFile(files[i].path));
    return Status::Ok();
  }));
  Merger merger(config, &out);
  SONDE_RETURN_IF_ERROR(merger.Merge(files));
  merger.NoteUnmet();
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(options.output_path));
  out.file = base::JoinPath(options.output_path,
                            Concat("multi_ranks_compare_merge_", report::TimeStamp(), ".xlsx"));
  SONDE_RETURN_IF_ERROR(merger.Write(out.file));
  out.ranks = merger.rank_count();
  out.rows = merger.row_count();
  return out;
}

}  // namespace sonde::precision
