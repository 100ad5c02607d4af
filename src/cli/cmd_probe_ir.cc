// `sonde probe ir`: MindSpore's intermediate representation as tables.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "cli/command.h"
#include "job/open.h"
#include "precision/compare/cell.h"
#include "precision/ir/ir_file.h"
#include "precision/ir/ir_report.h"
#include "precision/kernels/kernel_dump.h"
#include "precision/kernels/kernel_values.h"
#include "precision/tensor/dtype.h"
#include "precision/tensor/tensor_file.h"

namespace sonde::cli {
namespace {

using base::Concat;
using precision::IrFile;
using report::TextTable;

constexpr std::string_view kProbeIrExample =
    "sonde probe ir ./ir                                   # every pass in the folder\n"
    "sonde probe ir ./ir/21_validate_0076.ir --types       # its nodes by type\n"
    "sonde probe ir ./ir --find attn-Attention             # nodes by name, scope or source\n"
    "sonde probe ir new/21_validate_0076.ir --against old/18_validate_0068.ir\n"
    "sonde probe ir ./ir/trace_code_graph_0095 --values ./dump --times ./profile -o joined";

struct ProbeIrOptions {
  std::string path;
  std::string against;
  std::string find;
  bool types = false;
  bool parameters = false;
  std::string values;
  std::vector<int64_t> steps;
  std::string times;
  std::string output;
};

// Columns as wide as their texts; a cell of a source line is cut to what a screen takes.
void PrintTable(const TextTable& table) {
  constexpr size_t kWidest = 72;
  std::vector<size_t> widths;
  const auto shown = [](const std::string& text) {
    return text.size() <= kWidest ? text : Concat(text.substr(0, kWidest - 3), "...");
  };
  for (const std::string& column : table.columns) widths.push_back(column.size());
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], std::min(row[i].size(), kWidest));
    }
  }
  const auto print = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string text = shown(cells[i]);
      line += text;
      if (i + 1 < cells.size()) line.append(widths[i] - text.size() + 2, ' ');
    }
    PrintText(base::Concat(base::Trim(line), "\n"));
  };
  print(table.columns);
  for (const auto& row : table.rows) print(row);
}

Result<int> Give(const TextTable& table, const ProbeIrOptions& options, std::string_view name) {
  if (options.output.empty()) {
    PrintTable(table);
    return kExitOk;
  }
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(options.output));
  SONDE_ASSIGN_OR_RETURN(
      const std::string file,
      report::WriteTextTable(table, base::JoinPath(options.output, name), /*xlsx=*/false));
  PrintText(
      base::Concat("rows       ", std::to_string(table.rows.size()), "\nwritten    ", file, "\n"));
  return kExitOk;
}

Result<std::vector<IrFile>> ReadAll(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const std::vector<std::string> paths, precision::FindIrFiles(path));
  std::vector<IrFile> files;
  for (const std::string& file : paths) {
    auto read = precision::ReadIrFile(file);
    if (read.ok()) {
      if (!read->IsWhole()) {
        PrintNotice(Concat(file, ": ", std::to_string(read->nodes.size()), " of its ",
                           std::to_string(read->total_cnodes),
                           " nodes could be read; the file is cut off or damaged"));
      }
      files.push_back(std::move(*read));
    } else if (paths.size() == 1) {
      return read.status();
    } else {
      PrintNotice(Concat("left out: ", read.status().message()));
    }
  }
  if (files.empty()) {
    return base::NotFoundError(
        Concat("none of the files in '", path, "' is a text file of the IR"));
  }
  return files;
}

// The final graph, whose kernels run: else the file with the last name.
const IrFile& FinalOf(const std::vector<IrFile>& files) {
  for (const IrFile& file : files) {
    if (file.pass.find("trace_code_graph") != std::string::npos) return file;
  }
  return files.back();
}

Result<precision::ScopeTimes> ReadTimes(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const job::Job found, job::FindWholeJob({path}));
  SONDE_ASSIGN_OR_RETURN(const job::OpenedJob opened,
                         job::Open(found, {.notify = PrintNotice, .complain = PrintError}));
  SONDE_ASSIGN_OR_RETURN(const store::ResultTable table,
                         opened.store->Query("SELECT name, count(*) AS n, sum(dur)::BIGINT AS ns "
                                             "FROM device_task WHERE name IS NOT NULL GROUP BY 1"));
  precision::ScopeTimes times;
  for (size_t row = 0; row < table.rows(); ++row) {
    times[table.Text(0, row)] = {table.Int(1, row), table.Int(2, row)};
  }
  return times;
}

Result<precision::ScopeValues> ReadValues(const ProbeIrOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const precision::KernelTree tree,
                         precision::FindKernelDumps(options.values, {}, options.steps));
  precision::ScopeValues values;
  if (tree.empty()) return base::NotFoundError(Concat("no dump of kernels in ", options.values));
  // The first rank and step: one table has one set of values.
  SONDE_ASSIGN_OR_RETURN(const precision::KernelFolder folder,
                         precision::ReadKernelDump(tree.begin()->second));
  for (const precision::KernelRecord& record : folder.records) {
    const precision::KernelPlace place = precision::PlaceOfRecord(record.name);
    const std::string which =
        place.direction.empty() ? "" : Concat(place.direction, " ", place.slot);
    precision::ScopeValue value{.which = which, .dtype = record.dtype, .shape = record.shape};
    if (folder.tensors) {
      const auto tensor = precision::OpenTensorFile(record.path);
      if (!tensor.ok()) {
        PrintNotice(Concat("left out: ", tensor.status().message()));
        continue;
      }
      const auto cells = precision::StatisticsOf(*tensor);
      value = {.which = which,
               .dtype = std::string(precision::DtypeName(tensor->dtype())),
               .shape = precision::ShapeText(tensor->shape()),
               .max = cells[0],
               .min = cells[1],
               .mean = cells[2],
               .norm = cells[3]};
    } else {
      const auto text = [&](size_t i) { return precision::NumberText(record.statistics[i]); };
      value.max = text(0);
      value.min = text(1);
      value.mean = text(2);
      value.norm = text(3);
    }
    values[place.name].push_back(std::move(value));
  }
  return values;
}

Result<int> Join(const std::vector<IrFile>& files, const ProbeIrOptions& options) {
  precision::ScopeTimes times;
  precision::ScopeValues values;
  if (!options.times.empty()) {
    SONDE_ASSIGN_OR_RETURN(times, ReadTimes(options.times));
  }
  if (!options.values.empty()) {
    SONDE_ASSIGN_OR_RETURN(values, ReadValues(options));
  }
  return Give(precision::JoinNodes(FinalOf(files), times, values), options, "ir_nodes");
}

// Tables that lack nodes are written all the same; the exit status shows that they are incomplete.
Result<int> StatusOf(Result<int> given, const std::vector<IrFile>& files) {
  if (!given.ok() || *given != kExitOk) return given;
  return std::ranges::all_of(files, &IrFile::IsWhole) ? kExitOk : kExitFailure;
}

Result<int> GiveAsked(const std::vector<IrFile>& files, const ProbeIrOptions& options) {
  if (!options.find.empty()) {
    return Give(precision::FindNodes(files, options.find), options, "ir_found");
  }
  if (!options.against.empty()) {
    SONDE_ASSIGN_OR_RETURN(const std::vector<IrFile> golden, ReadAll(options.against));
    return StatusOf(
        Give(precision::CompareFiles(FinalOf(files), FinalOf(golden)), options, "ir_difference"),
        golden);
  }
  if (!options.values.empty() || !options.times.empty()) return Join(files, options);
  if (options.types) return Give(precision::CountTypes(FinalOf(files)), options, "ir_types");
  if (options.parameters) {
    return Give(precision::ListParameters(FinalOf(files)), options, "ir_parameters");
  }
  return Give(precision::SummarizeFiles(files), options, "ir_files");
}

Result<int> Show(const Context& context, const ProbeIrOptions& options) {
  const bool joins = !options.values.empty() || !options.times.empty();
  const int chosen = (options.find.empty() ? 0 : 1) + (options.against.empty() ? 0 : 1) +
                     (joins ? 1 : 0) + (options.types ? 1 : 0) + (options.parameters ? 1 : 0);
  if (chosen > 1) {
    return WrongUsage(
        context, "--find, --against, --types, --params and --values/--times exclude each other");
  }
  SONDE_ASSIGN_OR_RETURN(const std::vector<IrFile> files, ReadAll(options.path));
  return StatusOf(GiveAsked(files, options), files);
}

CommandAction DeclareProbeIr(CLI::App& app) {
  auto options = std::make_shared<ProbeIrOptions>();
  app.add_option("path", options->path, "A text file of the IR, or the folder with these files")
      ->required();
  app.add_option("--find", options->find, "Nodes with this text in name, type, scope or source");
  app.add_option("--against", options->against,
                 "Another pass or release: nodes that one of the two has more often");
  app.add_flag("--types", options->types, "Nodes of the final graph by type");
  app.add_flag("--params", options->parameters, "Parameters of the final graph");
  app.add_option("--values", options->values,
                 "A dump of MindSpore's kernels: adds statistics to the nodes");
  app.add_option("--step", options->steps, "Step of the dump (default: the first)");
  app.add_option("--times", options->times, "A capture: adds launches and time to the nodes");
  app.add_option("-o,--output", options->output, "Write the table as csv into this folder");
  return [options](const Context& context) { return Show(context, *options); };
}

}  // namespace

Command ProbeIrCommand() {
  return {.name = "ir",
          .summary = "Show MindSpore's intermediate representation, with values and times",
          .example = kProbeIrExample,
          .declare = &DeclareProbeIr};
}

}  // namespace sonde::cli
