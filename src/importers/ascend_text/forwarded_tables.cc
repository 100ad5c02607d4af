#include "importers/ascend_text/forwarded_tables.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/strings.h"
#include "importers/ascend_text/csv_reader.h"
#include "importers/common/part_file.h"
#include "store/name_pool.h"
#include "store/table_writer.h"

namespace sonde::importers::text_import {
namespace {

constexpr std::string_view kInKilobytes = "(KB)";

void AppendRow(const CsvRow& row, std::string& text) {
  bool is_first = true;
  for (const auto& cell : row) {
    if (!is_first) text += ',';
    is_first = false;
    const bool is_plain = cell.find_first_of(",\"\r\n") == std::string_view::npos;
    text += is_plain ? std::string(cell)
                     : base::Concat("\"", base::ReplaceAll(cell, "\"", "\"\""), "\"");
  }
  text += "\r\n";
}

// Cells of columns in KB as MB; other values than numbers stay unchanged.
std::string InMegabytes(std::string_view content, bool with_header) {
  constexpr double kKilo = 1024;
  std::vector<std::string> header = ReadCsvHeader(content);
  std::vector<bool> is_size;
  for (std::string& column : header) {
    is_size.push_back(column.ends_with(kInKilobytes));
    if (is_size.back()) column.replace(column.size() - kInKilobytes.size(), 4, "(MB)");
  }
  std::string text;
  if (with_header) text = base::Concat(base::Join(header, ","), "\r\n");
  ReadCsv(content, [&](const CsvRow& row, int64_t) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < row.size(); ++i) {
      const auto value = base::ParseDouble(row[i]);
      const bool is_converted = i < is_size.size() && is_size[i] && value;
      cells.push_back(is_converted ? base::PythonDoubleText(*value / kKilo) : std::string(row[i]));
    }
    AppendRow({cells.begin(), cells.end()}, text);
  });
  return text;
}

std::string_view WithoutHeader(std::string_view content) {
  const size_t end = content.find('\n');
  return end == std::string_view::npos ? std::string_view() : content.substr(end + 1);
}

}  // namespace

void ReadProcessMemory(const SpanFile& file, std::string_view content, TextTrace& trace) {
  if (!base::BaseName(file.path).starts_with("npu_mem_")) return;
  const std::vector<std::string> header = ReadCsvHeader(content);
  const auto place = [&](std::string_view column) {
    return static_cast<size_t>(std::ranges::find(header, column) - header.begin());
  };
  const size_t device = place("Device_id");
  const size_t event = place("event");
  const size_t memory = place("memory(KB)");
  const size_t time = place("timestamp(us)");
  std::string text = "Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n";
  ReadCsv(content, [&](const CsvRow& row, int64_t) {
    if (row.size() <= std::max({device, event, memory, time}) || row[event] != "APP") return;
    text += base::Concat("APP,", row[time], ",,", row[memory], ",NPU:", row[device], "\n");
  });
  RowsOfCsv({.path = "memory_record.csv", .relative = file.relative}, text, trace);
}

Status KeepForwardedTables(const std::vector<SpanFile>& tables, store::ImportIssues& issues,
                           store::Transaction& transaction) {
  std::map<std::string, std::string> texts;  // by name
  for (const SpanFile& file : tables) {
    const std::string_view name = base::BaseName(file.path);
    const bool is_memory = name.starts_with("npu_module_mem");
    if (!is_memory && !name.starts_with("l2_cache")) continue;
    const auto content = OpenPart(file.path, file.relative, issues);
    if (!content || !store::IsValidUtf8(content->text())) continue;
    std::string& text = texts[is_memory ? "npu_module_mem.csv" : "l2_cache.csv"];
    const bool is_first = text.empty();
    if (is_memory) {
      text += InMegabytes(content->text(), is_first);
    } else {
      text += is_first ? content->text() : WithoutHeader(content->text());
    }
  }
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::SourceTextRow>::Open(transaction));
  for (const auto& [name, text] : texts) {
    const std::string file = base::Concat("ASCEND_PROFILER_OUTPUT/", name);
    writer.Append({.file = file, .content = text});
  }
  return writer.Close();
}

}  // namespace sonde::importers::text_import
