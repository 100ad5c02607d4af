#include "cluster/parts/part_file.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/host/build_id.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "importers/registry.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using store::NestedColumn;
using Kind = NestedColumn::Kind;

constexpr const char* kProgramFact = "sonde.program";
constexpr const char* kModeFact = "sonde.mode";
constexpr const char* kOptionsFact = "sonde.options";
constexpr const char* kKindFact = "sonde.kind";
constexpr std::string_view kWaitsKind = "waits";
constexpr const char* kWorldFact = "sonde.world";
constexpr const char* kNoticesFact = "sonde.notices";
constexpr char kBetweenNotices = '\n';

void WriteJson(const NestedColumn& column, size_t row, base::JsonWriter& json) {
  switch (column.kind) {
    case Kind::kInt:
    case Kind::kUint:
      json.Int(column.ints[row]);
      return;
    case Kind::kDouble:
      json.Double(column.doubles[row]);
      return;
    case Kind::kText:
      json.String(column.texts[row]);
      return;
    case Kind::kList:
      json.BeginArray();
      for (size_t i = row == 0 ? 0 : column.ends[row - 1]; i < column.ends[row]; ++i) {
        WriteJson(column.children.front(), i, json);
      }
      json.EndArray();
      return;
    case Kind::kStruct:
      json.BeginObject();
      for (const NestedColumn& child : column.children) {
        json.Key(child.name);
        WriteJson(child, row, json);
      }
      json.EndObject();
  }
}

const importers::Importer* ImporterNamed(std::string_view name) {
  for (const importers::Importer& importer : importers::Importers()) {
    if (name == importer.name) return &importer;
  }
  return nullptr;
}

std::string FactOf(const store::FileFacts& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? std::string() : found->second;
}

Status CheckProgram(const std::string& path, const store::FileFacts& facts) {
  const std::string program = FactOf(facts, kProgramFact);
  if (program.empty()) {
    return base::CorruptDataError(Concat("'", path, "' is no part of 'sonde cluster map'"));
  }
  if (program == ProgramOfThis()) return {};
  return base::FailedPreconditionError(Concat("'", path, "' was made by sonde ", program,
                                              ", and this is ", ProgramOfThis(),
                                              ": map it again with this one"));
}

// The columns of PackedRank, and those of lists.
std::vector<NestedColumn> ColumnsOfFile(const PartFile& file) {
  NestedColumn ranks = columns::Empty<PackedRank>("rank");
  for (const PackedRank& rank : file.ranks) columns::Put(rank, ranks);
  std::vector<NestedColumn> all = std::move(ranks.children);
  ListColumns lists;
  for (size_t i = 0; i < file.parts.size(); ++i) file.parts[i].AppendTo(lists, i);
  for (auto& [name, column] : lists) {
    Part::Pad(column, file.ranks.size());
    all.push_back(std::move(column));
  }
  return all;
}

Status TakeColumns(std::vector<NestedColumn> columns, PartFile& file) {
  NestedColumn ranks = columns::Empty<PackedRank>("rank");
  const size_t members = ranks.children.size();
  const bool has_all = columns.size() >= members &&
                       std::equal(ranks.children.begin(), ranks.children.end(), columns.begin(),
                                  [](const NestedColumn& a, const NestedColumn& b) {
                                    return a.name == b.name && a.HasTypeOf(b);
                                  });
  if (!has_all) return base::CorruptDataError("its columns are not those of ranks");
  ranks.size = columns.front().size;
  const auto lists = std::make_shared<ListColumns>();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i < members) {
      ranks.children[i] = std::move(columns[i]);
    } else if (columns[i].kind == Kind::kList) {
      std::string name = columns[i].name;
      lists->emplace(std::move(name), std::move(columns[i]));
    }
  }
  for (size_t i = 0; i < ranks.size; ++i) {
    if (!columns::Take(ranks, i, file.ranks.emplace_back())) {
      return base::CorruptDataError("its columns are not those of ranks");
    }
    file.parts.emplace_back(lists, i);
  }
  return {};
}

}  // namespace

bool PartFile::HasFailures() const {
  return std::ranges::any_of(ranks, [](const PackedRank& rank) { return rank.code != 0; });
}

bool PartFile::HasPending() const { return std::ranges::any_of(ranks, &PackedRank::is_pending); }

std::string OptionsText(const ModeOptions& options) {
  ModeOptions own = options;
  own.result_folder = own.profiling_path = "";  // where, and not what
  for (const Mode* mode : Modes()) {
    for (const ModeOption* option : mode->options) {
      if (option->is_of_reduce) own.values.erase(std::string(option->name));
    }
  }
  NestedColumn column = columns::Empty<ModeOptions>("options");
  columns::Put(own, column);
  base::JsonWriter json(nullptr, base::JsonWriter::Style::kPythonDefault);
  WriteJson(column, 0, json);
  return json.Take();
}

std::string ProgramOfThis() {
  char text[17] = {};
  std::to_chars(text, text + 16, base::BuildId(), 16);
  return Concat(SONDE_VERSION, " (build ", text, ")");
}

Rank RankOf(const PackedRank& packed) {
  Rank rank;
  rank.number = packed.rank;
  rank.trace.number = packed.trace;
  rank.trace.run = packed.run;
  rank.trace.rank = packed.rank;
  rank.trace.source = {.path = packed.path, .importer = ImporterNamed(packed.importer)};
  return rank;
}

Result<PartFiles> PartFiles::Open() {
  SONDE_ASSIGN_OR_RETURN(store::NestedFiles files, store::NestedFiles::Open());
  return PartFiles(std::move(files));
}

Status PartFiles::Write(const std::string& path, const PartFile& file) {
  return files_.Write(path, ColumnsOfFile(file),
                      {{kProgramFact, ProgramOfThis()},
                       {kModeFact, file.facts.mode},
                       {kOptionsFact, file.facts.options},
                       {kKindFact, std::string(file.facts.is_waits ? kWaitsKind : "ranks")},
                       {kWorldFact, std::to_string(file.facts.world)},
                       {kNoticesFact, base::Join(file.notices, std::string(1, kBetweenNotices))}});
}

Result<PartFile> PartFiles::Read(const std::string& path, const std::vector<int32_t>& ranks) {
  std::vector<std::string> numbers;
  for (const int32_t rank : ranks) numbers.push_back(std::to_string(rank));
  // The program first: columns of another one need not be known here.
  SONDE_ASSIGN_OR_RETURN(const store::FileFacts facts, files_.ReadFacts(path));
  SONDE_RETURN_IF_ERROR(CheckProgram(path, facts));
  SONDE_ASSIGN_OR_RETURN(
      auto read,
      files_.Read(path, ranks.empty() ? "" : Concat("rank IN (", base::Join(numbers, ","), ")")));
  PartFile file;
  file.facts = {
      .mode = FactOf(facts, kModeFact),
      .options = FactOf(facts, kOptionsFact),
      .is_waits = FactOf(facts, kKindFact) == kWaitsKind,
      .world = static_cast<int32_t>(base::ParseInt64(FactOf(facts, kWorldFact)).value_or(0))};
  const std::string notices = FactOf(facts, kNoticesFact);
  for (const std::string_view line : base::Split(notices, kBetweenNotices)) {
    if (!line.empty()) file.notices.emplace_back(line);
  }
  Status taken = TakeColumns(std::move(read.columns), file);
  if (taken.ok()) return file;
  return base::CorruptDataError(Concat("'", path, "' cannot be read: ", taken.message()));
}

}  // namespace sonde::cluster
