#include "precision/config/config_compare.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/host/json.h"
#include "base/secrets.h"
#include "base/strings.h"
#include "precision/archive/zip_file.h"
#include "precision/dump/value.h"
#include "report/text_sheets.h"

namespace sonde::precision {
namespace {

using base::Concat;
using Row = std::vector<std::string>;
using Texts = std::map<std::string, std::string>;

constexpr std::string_view kStatic = "hyperparameters/hyperparameters_static.json";
constexpr std::string_view kDynamic = "hyperparameters/hyperparameters_dynamic.json";

// Variables that decide about numbers, by their names on both kinds of machine.
struct Variable {
  const char* npu;
  const char* gpu;  // null: there is none
  const char* standard;
};
constexpr std::array<Variable, 6> kVariables = {{
    {"HCCL_DETERMINISTIC", "NCCL_DETERMINISTIC", "False"},
    {"HCCL_ALGO", "NCCL_ALGO", "None"},
    {"HCCL_INTRA_ROCE_ENABLE", nullptr, "0"},
    {"HCCL_INTRA_PCIE_ENABLE", nullptr, "1"},
    {"ASCEND_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING", "0"},
    {"ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "None"},
}};
constexpr std::array<const char*, 8> kPackages = {
    "transformers", "deepspeed", "megatron", "numpy", "datasets", "peft", "mindspore", "torch"};
// Names of one hyper-parameter.
const std::vector<std::vector<std::string>>& Aliases() {
  static const std::vector<std::vector<std::string>> aliases = {
      {"learning_rate", "lr", "learningrate"},
      {"batch_size", "batch", "bs", "batch_size_per_gpu"},
      {"epochs", "num_epochs", "max_epochs", "epoch"},
      {"weight_decay", "wd", "weightdecay"},
      {"dropout_rate", "dropout", "drop_rate"},
      {"compute_dtype", "bf16", "fp32"},
      {"residual_dtype", "fp32_residual_connection"},
      {"softmax_compute_dtype", "attention_softmax_in_fp32"}};
  return aliases;
}

struct ConfigSheet {
  std::string name;
  Row header;
  std::vector<Row> rows;

  // The worst level of its rows.
  std::string Verdict() const {
    const auto has = [this](std::string_view level) {
      return std::any_of(rows.begin(), rows.end(),
                         [level](const Row& row) { return row.back() == level; });
    };
    return has("error") ? "error" : has("warning") ? "warning" : "pass";
  }
};

class Pack {
 public:
  static Result<Pack> Open(const std::string& path) {
    Pack out;
    SONDE_ASSIGN_OR_RETURN(out.file_, base::MappedFile::Open(path));
    out.path_ = path;
    Result<std::vector<std::string>> names = ZipNames(out.file_.text());
    SONDE_RETURN_IF_ERROR(std::move(names.Annotate(path)).status());
    out.names_ = std::move(names).value();
    return out;
  }
  const std::vector<std::string>& names() const { return names_; }
  Result<std::optional<std::string>> Read(std::string_view name) const {
    // Environments and packages are kilobytes; JSON in memory is twenty times its text.
    constexpr size_t kMostBytes = size_t{4} << 20U;
    Result<std::optional<std::string>> text = ReadZipMember(file_.text(), name, kMostBytes);
    return std::move(text.Annotate(path_));
  }
  // Members of a JSON object as Python prints them; nullopt when the pack has no such file.
  Result<std::optional<Texts>> ReadObject(std::string_view name) const {
    SONDE_ASSIGN_OR_RETURN(const std::optional<std::string> text, Read(name));
    if (!text) return std::optional<Texts>();
    SONDE_ASSIGN_OR_RETURN(const base::JsonDocument document,
                           base::JsonDocument::Parse(*text, Concat(path_, ": ", name)));
    Texts out;
    for (const auto& [key, value] : document.root().Members()) {
      out[key] = PythonTextOfJson(value.Dump());
    }
    return std::optional<Texts>(std::move(out));
  }

 private:
  base::MappedFile file_;
  std::string path_;
  std::vector<std::string> names_;
};

bool IsNpu(const Texts& variables) {
  return std::any_of(variables.begin(), variables.end(), [](const auto& entry) {
    return entry.first.find("ASCEND") != std::string::npos;
  });
}

ConfigSheet CompareVariables(const Texts& bench, const Texts& target) {
  ConfigSheet sheet = {
      "env", {"bench_env_name", "cmp_env_name", "bench_value", "cmp_value", "level"}, {}};
  const bool bench_npu = IsNpu(bench);
  const bool target_npu = IsNpu(target);
  const auto value_of = [](const Texts& variables, const char* name, const char* standard) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string(standard) : found->second;
  };
  for (const Variable& variable : kVariables) {
    const char* const b = bench_npu ? variable.npu : variable.gpu;
    const char* const t = target_npu ? variable.npu : variable.gpu;
    if (b == nullptr && t == nullptr) continue;
    const std::string b_value = b == nullptr ? "" : value_of(bench, b, variable.standard);
    const std::string t_value = t == nullptr ? "" : value_of(target, t, variable.standard);
    if (b == nullptr) {
      sheet.rows.push_back({"only cmp has this env", t, "", t_value, "warning"});
    } else if (t == nullptr) {
      sheet.rows.push_back({b, "only bench has this env", b_value, "", "warning"});
    } else if (b_value != t_value) {
      sheet.rows.push_back({b, t, b_value, t_value, "error"});
    }
  }
  return sheet;
}

Texts VersionsOf(std::string_view lines) {
  Texts out;
  for (const std::string_view line : base::Split(lines, '\n')) {
    const std::string_view text = base::Trim(line);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    out[base::ToLower(text.substr(0, equals))] = text.substr(text.find_last_of('=') + 1);
  }
  return out;
}

ConfigSheet ComparePackages(std::string_view bench, std::string_view target) {
  ConfigSheet sheet = {"pip", {"package", "bench version", "cmp version", "level"}, {}};
  Texts b = VersionsOf(bench);
  Texts t = VersionsOf(target);
  for (const char* const package : kPackages) {
    const auto version = [package](Texts* texts) {
      const std::string& found = (*texts)[package];
      return found.empty() ? std::string("None") : found;
    };
    if (version(&b) != version(&t)) {
      sheet.rows.push_back({package, version(&b), version(&t), "error"});
    }
  }
  return sheet;
}

// "model.hidden-size" -> "hidden_size".
std::string PlainName(std::string_view name) {
  return base::ReplaceAll(name.substr(name.rfind('.') + 1), "-", "_");
}

struct NameMatch {
  std::string plain;  // empty: none
  std::string how;
};

NameMatch FindParameter(const std::string& name, const Texts& plain_names) {
  if (plain_names.contains(name)) return {name, "pure name"};
  for (const std::vector<std::string>& group : Aliases()) {
    if (std::find(group.begin(), group.end(), name) == group.end()) continue;
    for (const std::string& alias : group) {
      if (plain_names.contains(alias)) return {alias, "mapping"};
    }
  }
  NameMatch best;
  double best_ratio = 0.8;
  for (const auto& [other, ignored] : plain_names) {
    const double ratio = Similarity(base::ToLower(name), base::ToLower(other));
    if (ratio > best_ratio) {
      best_ratio = ratio;
      best = {other, Concat("similarity:", base::PythonDoubleText(ratio))};
    }
  }
  return best;
}

void CompareParameters(const std::string& file, const Texts& bench, Texts target,
                       ConfigSheet* sheet) {
  Texts plain_names;
  for (const auto& [name, ignored] : target) plain_names[PlainName(name)] = name;
  for (const auto& [name, value] : bench) {
    const NameMatch match = FindParameter(PlainName(name), plain_names);
    if (match.plain.empty()) {
      sheet->rows.push_back(
          {file, name, "Only in benchmark", base::MaskedValue(name, value), "", "", "warning"});
      continue;
    }
    const std::string partner = plain_names[match.plain];
    if (target[partner] != value) {
      sheet->rows.push_back({file, name, partner, base::MaskedValue(name, value),
                             base::MaskedValue(partner, target[partner]), match.how, "error"});
    }
    target.erase(partner);
    plain_names.erase(match.plain);
  }
  for (const auto& [name, value] : target) {
    sheet->rows.push_back(
        {file, "Only in comparison", name, "", base::MaskedValue(name, value), "", "warning"});
  }
}

Status AddParameters(const Pack& bench, const Pack& target, std::vector<ConfigSheet>* sheets) {
  ConfigSheet sheet = {
      "hyperparameters",
      {"file_name", "bench_para", "cmp_para", "bench_value", "cmp_value", "matched_with", "level"},
      {}};
  bool any = false;
  for (const std::string_view name : {kStatic, kDynamic}) {
    SONDE_ASSIGN_OR_RETURN(const std::optional<Texts> b, bench.ReadObject(name));
    SONDE_ASSIGN_OR_RETURN(const std::optional<Texts> t, target.ReadObject(name));
    if (!b || !t) continue;
    any = true;
    CompareParameters(std::string(name.substr(name.find('/') + 1)), *b, *t, &sheet);
  }
  std::sort(sheet.rows.begin(), sheet.rows.end());
  if (any) sheets->push_back(std::move(sheet));
  return Status::Ok();
}

Result<std::vector<ConfigSheet>> CompareAll(const Pack& bench, const Pack& target) {
  std::vector<ConfigSheet> sheets;
  SONDE_ASSIGN_OR_RETURN(const std::optional<Texts> b, bench.ReadObject("env"));
  SONDE_ASSIGN_OR_RETURN(const std::optional<Texts> t, target.ReadObject("env"));
  if (b && t) sheets.push_back(CompareVariables(*b, *t));
  SONDE_ASSIGN_OR_RETURN(const std::optional<std::string> b_pip, bench.Read("pip"));
  SONDE_ASSIGN_OR_RETURN(const std::optional<std::string> t_pip, target.Read("pip"));
  if (b_pip && t_pip) sheets.push_back(ComparePackages(*b_pip, *t_pip));
  SONDE_RETURN_IF_ERROR(AddParameters(bench, target, &sheets));
  return sheets;
}

}  // namespace

double Similarity(std::string_view a, std::string_view b) {
  if (a.empty() && b.empty()) return 1;
  // Pieces of both that are still to be looked at.
  std::vector<std::pair<std::string_view, std::string_view>> open = {{a, b}};
  size_t matched = 0;
  while (!open.empty()) {
    const auto [x, y] = open.back();
    open.pop_back();
    size_t best = 0;
    size_t at_x = 0;
    size_t at_y = 0;
    std::vector<size_t> before(y.size() + 1, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      std::vector<size_t> now(y.size() + 1, 0);
      for (size_t j = 0; j < y.size(); ++j) {
        if (x[i] != y[j]) continue;
        now[j + 1] = before[j] + 1;
        if (now[j + 1] > best) {
          best = now[j + 1];
          at_x = i + 1 - best;
          at_y = j + 1 - best;
        }
      }
      before = std::move(now);
    }
    if (best == 0) continue;
    matched += best;
    open.emplace_back(x.substr(0, at_x), y.substr(0, at_y));
    open.emplace_back(x.substr(at_x + best), y.substr(at_y + best));
  }
  return 2.0 * static_cast<double>(matched) / static_cast<double>(a.size() + b.size());
}

Result<ConfigComparison> CompareConfigurations(const std::string& bench, const std::string& target,
                                               const std::string& output_path) {
  SONDE_ASSIGN_OR_RETURN(const Pack b, Pack::Open(bench));
  SONDE_ASSIGN_OR_RETURN(const Pack t, Pack::Open(target));
  SONDE_ASSIGN_OR_RETURN(const std::vector<ConfigSheet> sheets, CompareAll(b, t));
  if (sheets.empty()) {
    return base::InvalidArgumentError("the packs have nothing in common that can be compared");
  }
  ConfigComparison out;
  std::vector<report::XlsxSheet> book = {{"summary", {{"filename", "pass_check"}}}};
  for (const ConfigSheet& sheet : sheets) {
    book.front().rows.push_back({sheet.name, sheet.Verdict()});
    out.verdicts.push_back(Concat(sheet.name, ": ", sheet.Verdict()));
    report::XlsxSheet& page = book.emplace_back();
    page.name = sheet.name;
    page.rows.push_back(sheet.header);
    page.rows.insert(page.rows.end(), sheet.rows.begin(), sheet.rows.end());
  }
  for (const std::string_view kind : {"dataset/", "weights/", "random/"}) {
    const auto of_kind = [kind](const std::string& name) { return name.starts_with(kind); };
    if (std::any_of(t.names().begin(), t.names().end(), of_kind)) {
      out.notes.push_back(Concat("what the packs hold in ", kind, " is not compared"));
    }
  }
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(output_path));
  out.file = base::JoinPath(output_path, "result.xlsx");
  SONDE_RETURN_IF_ERROR(report::WriteXlsxSheets(book, out.file));
  return out;
}

}  // namespace sonde::precision
