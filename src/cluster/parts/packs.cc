#include "cluster/parts/packs.h"

#include <charconv>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "cluster/parts/part_file.h"
#include "importers/import_rows.h"

namespace sonde::cluster {
namespace {

using base::Concat;

constexpr uint64_t kPackBytes = uint64_t{4} << 20U;
constexpr size_t kPackRanks = 16;
constexpr std::string_view kPartSuffix = ".parquet";

// Two hashes with different beginnings: names of millions of parts must not meet.
class ContentName {
 public:
  void Add(std::string_view text) {
    first_ = base::HashCombine(first_, base::HashString(text));
    second_ = base::HashCombine(second_, base::HashString(text, kSecond));
  }
  void Add(int64_t number) { Add(std::to_string(number)); }
  std::string Text() const { return Hex(first_) + Hex(second_); }

 private:
  static constexpr uint64_t kSecond = 0x50A7;
  static std::string Hex(uint64_t value) {
    char text[16];
    const auto end = std::to_chars(text, text + sizeof(text), value, 16).ptr;
    const std::string digits(text, end);
    return std::string(sizeof(text) - digits.size(), '0') + digits;
  }
  uint64_t first_ = 1;
  uint64_t second_ = kSecond;
};

uint64_t BytesBelow(const std::string& path) {
  namespace fs = std::filesystem;
  if (base::IsRegularFile(path)) return base::FileSize(path).value_or(0);
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error) && !error) bytes += entry->file_size(error);
  }
  return bytes;
}

struct Content {
  uint64_t bytes = 0;
  int64_t stamp = 0;  // 0 where its files cannot be read: who maps it will see why
};

std::vector<Content> ContentsOf(const std::vector<Rank>& ranks) {
  std::vector<Content> contents(ranks.size());
  base::ParallelFor(ranks.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const importers::TraceSource& source = ranks[i].trace.source;
      contents[i] = {BytesBelow(source.path), importers::StampOf(source).value_or(0)};
    }
  });
  return contents;
}

std::string NameOfPack(const Mode& mode, const ModeOptions& options, std::span<const Rank> ranks,
                       std::span<const Content> contents) {
  ContentName name;
  name.Add(ProgramOfThis());
  name.Add(mode.name);
  name.Add(OptionsText(options));
  if (mode.writes_files) {
    name.Add(options.result_folder);
    name.Add(options.profiling_path);
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    name.Add(ranks[i].number);
    name.Add(ranks[i].trace.number);
    name.Add(ranks[i].trace.run);
    name.Add(ranks[i].trace.source.path);
    name.Add(contents[i].stamp);
  }
  return Concat(mode.name, "-", std::to_string(ranks.front().number), "-", name.Text(),
                kPartSuffix);
}

}  // namespace

std::vector<Pack> PacksOf(const Mode& mode, const std::vector<Rank>& ranks,
                          const ModeOptions& options) {
  const std::vector<Content> contents = ContentsOf(ranks);
  std::vector<Pack> packs;
  for (size_t begin = 0; begin < ranks.size();) {
    uint64_t bytes = contents[begin].bytes;
    size_t end = begin + 1;
    while (end < ranks.size() && end - begin < kPackRanks &&
           bytes + contents[end].bytes <= kPackBytes) {
      bytes += contents[end++].bytes;
    }
    const std::span own(ranks.data() + begin, end - begin);
    packs.push_back(
        {.ranks = {own.begin(), own.end()},
         .name = NameOfPack(mode, options, own, std::span(contents.data() + begin, end - begin))});
    begin = end;
  }
  return packs;
}

Pack OnePack(const Mode& mode, std::vector<Rank> ranks, const ModeOptions& options) {
  std::string name = NameOfPack(mode, options, ranks, ContentsOf(ranks));
  return {.ranks = std::move(ranks), .name = std::move(name)};
}

std::string NameOfWaits(const Mode& mode, const std::vector<std::string>& parts) {
  ContentName name;
  for (const std::string& part : parts) name.Add(part);
  return Concat(mode.name, "-waits-", name.Text(), kPartSuffix);
}

std::string NameWithWaits(std::string_view part, std::string_view waits) {
  ContentName name;
  name.Add(part);
  name.Add(waits);
  const std::string_view head = part.substr(0, part.rfind('-'));
  return Concat(head, "-", name.Text(), kPartSuffix);
}

}  // namespace sonde::cluster
