#include "precision/kernels/kernel_dump.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/files.h"
#include "base/strings.h"
#include "precision/merge/table_file.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr int kMaxFolderDepth = 20;
constexpr size_t kMinColumns = 13;

// Folders without folders below them.
Status FindLowest(const std::string& path, int depth, std::vector<std::string>* out) {
  if (depth > kMaxFolderDepth) {
    return base::InvalidArgumentError(Concat(path, ": folders are nested too deep"));
  }
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(path));
  bool lowest = true;
  for (const base::DirectoryEntry& entry : entries) {
    if (entry.kind != base::DirectoryEntry::Kind::kDirectory) continue;
    lowest = false;
    SONDE_RETURN_IF_ERROR(FindLowest(base::JoinPath(path, entry.name), depth + 1, out));
  }
  if (lowest) out->push_back(path);
  return Status::Ok();
}

// "rank_3" or "3" -> 3; -1: no rank.
int64_t RankOf(std::string_view name) {
  if (name.starts_with("rank_")) name.remove_prefix(5);
  return base::IsDigits(name) ? base::ParseInt64(name).value_or(-1) : -1;
}

// Rank and step by the places of their folders; -1: not such a folder.
std::pair<int64_t, int64_t> PlaceOf(const std::string& path) {
  const std::vector<std::string_view> parts = base::Split(path, '/');
  if (parts.size() < 4 || !base::IsDigits(parts.back())) return {-1, -1};
  int64_t rank = RankOf(parts[parts.size() - 4]);
  if (rank < 0) rank = RankOf(parts[parts.size() - 3]);
  return {rank, base::ParseInt64(parts.back()).value_or(-1)};
}

bool Takes(const std::vector<int64_t>& list, int64_t number) {
  return list.empty() || std::find(list.begin(), list.end(), number) != list.end();
}

double StatisticOf(const std::string& text) {
  if (text == "null" || text == "False") return 0;
  if (text == "True") return 1;
  const std::string lower = base::ToLower(base::Trim(text));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (lower == "inf" || lower == "infinity") return kInfinity;
  if (lower == "-inf" || lower == "-infinity") return -kInfinity;
  return base::ParseDouble(lower).value_or(std::numeric_limits<double>::quiet_NaN());
}

using Mapping = std::unordered_map<std::string, std::string>;

Result<Mapping> ReadMapping(const std::string& folder) {
  Mapping out;
  const std::string path = base::JoinPath(folder, "mapping.csv");
  if (!base::PathExists(path)) return out;
  SONDE_ASSIGN_OR_RETURN(const TableRows rows, ReadTableFile(path));
  // MindSpore writes no header; a header that another tool writes names no file.
  for (const std::vector<std::string>& row : rows) {
    if (row.size() >= 2) out[row[0]] = row[1];
  }
  return out;
}

Status AddTensors(const std::string& folder, const std::vector<base::DirectoryEntry>& entries,
                  KernelFolder* out) {
  SONDE_ASSIGN_OR_RETURN(const Mapping mapping, ReadMapping(folder));
  for (const base::DirectoryEntry& entry : entries) {
    if (!entry.name.ends_with(".npy")) continue;
    const auto known = mapping.find(entry.name);
    KernelRecord record;
    if (!ParseKernelFileName(known == mapping.end() ? entry.name : known->second, &record)) {
      continue;
    }
    record.path = base::JoinPath(folder, entry.name);
    out->records.push_back(std::move(record));
  }
  return Status::Ok();
}

Status AddStatistics(const std::string& path, KernelFolder* out) {
  SONDE_ASSIGN_OR_RETURN(const TableRows rows, ReadTableFile(path));
  if (rows.empty()) return base::CorruptDataError(Concat(path, " is empty"));
  const std::vector<std::string>& header = rows[0];
  const auto column = [&header](std::string_view name) {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  const std::array<size_t, 4> numbers = {column("Max Value"), column("Min Value"),
                                         column("Avg Value"), column("L2Norm Value")};
  const size_t dtype = column("Data Type");
  const size_t shape = column("Shape");
  for (size_t i = 1; i < rows.size(); ++i) {
    const std::vector<std::string>& row = rows[i];
    if (row.size() < kMinColumns) {
      return base::CorruptDataError(Concat(path, ": line ", std::to_string(i + 1), " has ",
                                           std::to_string(row.size()), " columns, not 13 or more"));
    }
    const auto cell = [&row](size_t c) { return c < row.size() ? row[c] : std::string(); };
    KernelRecord record;
    record.path = path;
    record.name = Concat(row[1], ".", row[2], ".", row[5], ".", row[6]);
    record.time = base::ParseInt64(row[4]).value_or(0);
    record.dtype = cell(dtype);
    record.shape = cell(shape);
    for (size_t s = 0; s < numbers.size(); ++s)
      record.statistics[s] = StatisticOf(cell(numbers[s]));
    out->records.push_back(std::move(record));
  }
  return Status::Ok();
}

}  // namespace

bool ParseKernelFileName(std::string_view name, KernelRecord* out) {
  const std::vector<std::string_view> parts = base::Split(name, '.');
  // type, name, task, stream, time..., direction, index..., slot, format, "npy"
  if (parts.size() < 9 || parts.back() != "npy") return false;
  size_t at = 4;
  while (at < parts.size() && base::IsDigits(parts[at])) ++at;
  const size_t direction = at;
  if (direction == 4 || direction + 4 > parts.size()) return false;
  if (parts[direction] != "input" && parts[direction] != "output") return false;
  const size_t slot = parts.size() - 3;
  std::string index(parts[direction]);
  for (size_t i = direction + 1; i < slot; ++i) {
    if (!base::IsDigits(parts[i])) return false;
    index += Concat(".", parts[i]);
  }
  out->name = Concat(parts[1], ".", parts[2], ".", index, ".", parts[slot]);
  out->time = base::ParseInt64(parts[4]).value_or(-1);
  return true;
}

KernelPlace PlaceOfRecord(std::string_view record_name) {
  const std::vector<std::string_view> parts = base::Split(record_name, '.');
  size_t at = parts.size();
  while (at > 0 && parts[at - 1] != "input" && parts[at - 1] != "output") --at;
  if (at < 3 || at == parts.size()) return {std::string(record_name), "", ""};
  const std::vector<std::string_view> name(parts.begin(),
                                           parts.begin() + static_cast<ptrdiff_t>(at) - 2);
  return {base::Join(name, "."), std::string(parts[at - 1]), std::string(parts[at])};
}

bool HoldsKernelsOnly(const std::string& path) {
  if (!base::IsDirectory(path)) return false;
  const auto entries = base::ListDirectory(path);
  if (!entries.ok()) return false;
  bool has_rank = base::BaseName(base::AbsolutePath(path)).starts_with("rank_");
  for (const base::DirectoryEntry& entry : *entries) {
    if (entry.name.starts_with("step") || entry.name == "dump.json") return false;
    has_rank |= entry.name.starts_with("rank_");
  }
  return has_rank && FindKernelDumps(path, {}, {}).ok();
}

Result<KernelTree> FindKernelDumps(const std::string& path, const std::vector<int64_t>& ranks,
                                   const std::vector<int64_t>& steps) {
  std::vector<std::string> folders;
  SONDE_RETURN_IF_ERROR(FindLowest(base::AbsolutePath(path), 0, &folders));
  KernelTree out;
  for (const std::string& folder : folders) {
    const auto place = PlaceOf(folder);
    if (place.first < 0 || place.second < 0) continue;
    if (Takes(ranks, place.first) && Takes(steps, place.second)) out[place].push_back(folder);
  }
  if (!out.empty()) return out;
  return base::NotFoundError(Concat(
      path, " holds no kernels of the wanted ranks and steps (rank_<N>/<net>/<graph>/<step>)"));
}

Result<KernelFolder> ReadKernelDump(const std::vector<std::string>& folders) {
  KernelFolder out;
  std::vector<std::string> tables;
  for (const std::string& folder : folders) {
    SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(folder));
    SONDE_RETURN_IF_ERROR(AddTensors(folder, entries, &out));
    const std::string table = base::JoinPath(folder, "statistic.csv");
    if (base::PathExists(table)) tables.push_back(table);
  }
  out.tensors = !out.records.empty();
  if (out.tensors) return out;
  for (const std::string& table : tables) SONDE_RETURN_IF_ERROR(AddStatistics(table, &out));
  if (!out.records.empty()) return out;
  return base::NotFoundError(
      Concat(folders.front(), " holds neither tensors of kernels nor a statistic.csv"));
}

}  // namespace sonde::precision
