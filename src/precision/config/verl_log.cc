#include "precision/config/verl_log.h"

#include <map>
#include <utility>

#include "base/files.h"
#include "base/host/yaml_file.h"
#include "base/strings.h"
#include "report/csv_files.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::YamlNode;
using Leaves = std::map<std::string, const PythonValue*, std::less<>>;

constexpr std::string_view kBegins[] = {"{'actor_rollout_ref':", "{\"actor_rollout_ref\":"};
// Arguments that do not describe the model.
constexpr std::string_view kIgnoredSettings[] = {"profiler/", "ray_"};

// Settings that the rollouts and the training of one model must share.
struct Demand {
  const char* path;
  const char* value;
};
constexpr Demand kDemands[] = {
    {"trainer/balance_batch", "False"},
    {"critic/shuffle", "False"},
    {"critic/use_dynamic_bsz", "False"},
    {"critic/model/use_remove_padding", "True"},
    {"data/shuffle", "False"},
    {"actor_rollout_ref/actor/shuffle", "False"},
    {"actor_rollout_ref/actor/load_weight", "True"},
    {"actor_rollout_ref/actor/use_dynamic_bsz", "False"},
    {"actor_rollout_ref/actor/use_remove_padding", "True"},
    {"actor_rollout_ref/actor/megatron/override_transformer_config/use_ascend_mc2", "False"},
    {"actor_rollout_ref/actor/override_transformer_config/calculate_per_token_loss", "False"},
    {"actor_rollout_ref/ref/load_weight", "True"},
    {"actor_rollout_ref/ref/log_prob_use_dynamic_bsz", "False"},
    {"actor_rollout_ref/rollout/log_prob_use_dynamic_bsz", "False"},
    {"actor_rollout_ref/model/use_remove_padding", "True"},
    {"algorithm/filter_groups/enable", "False"},
    {"VLLM_ASCEND_ENABLE_NZ", "0"},
};

// Where the last configuration begins; npos: nowhere.
size_t FindBegin(std::string_view log) {
  size_t out = std::string_view::npos;
  for (const std::string_view begin : kBegins) {
    const size_t at = log.rfind(begin);
    if (at != std::string_view::npos && (out == std::string_view::npos || at > out)) out = at;
  }
  return out;
}

// The parts of a line behind each mark of the process.
std::vector<std::string_view> PiecesOf(std::string_view line, std::string_view mark) {
  if (mark.empty()) return {line};
  std::vector<std::string_view> out;
  for (size_t at = line.find(mark); at != std::string_view::npos;) {
    const size_t next = line.find(mark, at + mark.size());
    out.push_back(line.substr(at + mark.size(), next - std::min(next, at + mark.size())));
    at = next;
  }
  return out;
}

PythonValue ValueOfYaml(const YamlNode& node) {
  PythonValue out;
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return out;
    case YamlNode::Kind::kText:
      return PythonValueOfYaml(node.text);
    case YamlNode::Kind::kList:
      out.kind = PythonValue::Kind::kList;
      for (const YamlNode& item : node.items) out.items.push_back(ValueOfYaml(item));
      return out;
    case YamlNode::Kind::kMap:
      out.kind = PythonValue::Kind::kDict;
      for (const YamlNode::Member& member : node.members) {
        out.members.push_back({member.name, ValueOfYaml(member.value)});
      }
      return out;
  }
  return out;
}

Result<PythonValue> ReadVerlLog(const std::string& path) {
  const std::string ending = base::ToLower(base::Extension(path));
  if (ending != ".log" && ending != ".txt") {
    return base::InvalidArgumentError(Concat(path, ": a log ends in .log or .txt"));
  }
  SONDE_ASSIGN_OR_RETURN(const base::MappedFile file, base::MappedFile::Open(path));
  Result<PythonValue> config = ParseVerlLog(file.text());
  return std::move(config.Annotate(path));
}

Leaves IndexOf(const PythonValue& config) {
  Leaves out;
  for (auto& [path, value] : LeavesOf(config)) out[path] = value;
  return out;
}

bool IsIgnored(std::string_view path) {
  for (const std::string_view word : kIgnoredSettings) {
    if (path.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// Rows of the table, with a byte order mark and the words of the reference.
class Table {
 public:
  explicit Table(std::string_view header) : text_(Concat("\xEF\xBB\xBF", header, "\n")) {}

  void Add(std::string_view name, const PythonValue* first, const PythonValue* second) {
    const bool same = first != nullptr && second != nullptr && *first == *second;
    ++rows_;
    if (!same) ++differ_;
    report::AppendCsvCell(name, &text_);
    for (const PythonValue* value : {first, second}) {
      text_ += ',';
      report::AppendCsvCell(value == nullptr ? "NA" : value->Repr(), &text_);
    }
    text_ += same ? ",是\n" : ",否\n";
  }
  const std::string& text() const { return text_; }
  uint64_t rows() const { return rows_; }
  uint64_t differ() const { return differ_; }

 private:
  std::string text_;
  uint64_t rows_ = 0;
  uint64_t differ_ = 0;
};

const PythonValue* Find(const Leaves& leaves, std::string_view path) {
  const auto found = leaves.find(path);
  return found == leaves.end() ? nullptr : found->second;
}

struct OutputFile {
  std::string name;
  std::string text;
};

Result<VerlOutcome> WriteAll(const std::string& folder, const std::vector<OutputFile>& files,
                             const Table& table) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder));
  VerlOutcome out = {{}, table.rows(), table.differ()};
  for (const OutputFile& file : files) {
    out.files.push_back(base::JoinPath(folder, file.name));
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(out.files.back(), file.text));
  }
  return out;
}

PythonValue BuiltInDemands() {
  PythonValue out;
  out.kind = PythonValue::Kind::kDict;
  for (const Demand& demand : kDemands) {
    out.members.push_back({demand.path, PythonValueOfYaml(demand.value)});
  }
  return out;
}

}  // namespace

Result<PythonValue> ParseVerlLog(std::string_view log) {
  const size_t begin = FindBegin(log);
  if (begin == std::string_view::npos) {
    return base::CorruptDataError("the log holds no configuration of verl (actor_rollout_ref)");
  }
  const size_t line_break = begin == 0 ? std::string_view::npos : log.rfind('\n', begin - 1);
  const size_t line_begin = line_break == std::string_view::npos ? 0 : line_break + 1;
  const std::string_view mark = log.substr(line_begin, begin - line_begin);
  std::string text;
  int64_t open = 0;
  for (size_t at = line_begin; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    for (const std::string_view piece : PiecesOf(log.substr(at, end - at), mark)) {
      const std::string_view part = ValuePart(piece);
      text.append(part).push_back('\n');
      open += OpenBrackets(part);
    }
    if (open <= 0) break;
    at = end + 1;
  }
  size_t consumed = 0;
  Result<PythonValue> config = ParsePythonValue(text, &consumed);
  return std::move(config.Annotate("the configuration in the log"));
}

Result<VerlOutcome> CompareVerlLogs(const std::string& target, const std::string& golden,
                                    const std::string& output_path) {
  SONDE_ASSIGN_OR_RETURN(const PythonValue t, ReadVerlLog(target));
  SONDE_ASSIGN_OR_RETURN(const PythonValue g, ReadVerlLog(golden));
  const Leaves targets = IndexOf(t);
  const Leaves goldens = IndexOf(g);
  Leaves names = targets;
  names.insert(goldens.begin(), goldens.end());
  Table table("超参名称,NPU生效值,bench生效值,是否一致");
  for (const auto& [name, ignored] : names) {
    if (!IsIgnored(name)) table.Add(name, Find(targets, name), Find(goldens, name));
  }
  return WriteAll(output_path,
                  {{"NPU_config.json", t.Json()},
                   {"bench_config.json", g.Json()},
                   {"hyper_params_compare.csv", table.text()}},
                  table);
}

Result<VerlOutcome> VerifyVerlLog(const std::string& benchmark, const std::string& target,
                                  const std::string& output_path) {
  PythonValue demands = BuiltInDemands();
  if (!benchmark.empty()) {
    if (base::ToLower(base::Extension(benchmark)) != ".yaml") {
      return base::InvalidArgumentError(
          Concat(benchmark, ": the benchmark comes first and ends in .yaml, the log comes second"));
    }
    SONDE_ASSIGN_OR_RETURN(const YamlNode root, base::ReadYaml(benchmark));
    demands = ValueOfYaml(root);
  }
  SONDE_ASSIGN_OR_RETURN(const PythonValue config, ReadVerlLog(target));
  const Leaves targets = IndexOf(config);
  Table table("关键参数名称,bench生效值,target生效值,是否一致");
  for (const auto& [name, value] : IndexOf(demands)) table.Add(name, value, Find(targets, name));
  return WriteAll(output_path,
                  {{"tgt_config.json", config.Json()}, {"hyper_params_verify.csv", table.text()}},
                  table);
}

}  // namespace sonde::precision
