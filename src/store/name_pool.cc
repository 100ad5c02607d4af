#include "store/name_pool.h"

#include <algorithm>
#include <cstring>

#include "store/table_writer.h"

namespace sonde::store {
namespace {

// Blocks of texts: the first small, later ones of a size for which a spill pool is asked.
constexpr size_t kBlockBytes = 64 << 10;
constexpr size_t kLargeBlockBytes = size_t{2} << 20U;
constexpr size_t kSmallBlocks = 32;
constexpr size_t kFirstEntries = 64;
// In the pool's file each text that is new touched a page of its own, which was half of the time of
// an import of five gigabytes.
constexpr size_t kMostBytesInMemory = size_t{4} << 20U;  // of each table

// Length of the valid UTF-8 sequence at the begin of `text`, 0 where there is none.
size_t ValidSequence(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xc0U) == 0x80U; };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return continues(1) ? 2 : 0;
  if (lead < 0xf0) {
    if (!continues(1) || !continues(2)) return 0;
    const bool too_long = lead == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
    return too_long || surrogate ? 0 : 3;
  }
  if (lead > 0xf4 || !continues(1) || !continues(2) || !continues(3)) return 0;
  const bool too_long = lead == 0xf0 && byte(1) < 0x90;
  const bool too_large = lead == 0xf4 && byte(1) >= 0x90;
  return too_long || too_large ? 0 : 4;
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    uint64_t word = 0;
    if (text.size() >= sizeof(word)) {
      std::memcpy(&word, text.data(), sizeof(word));
      if ((word & 0x8080808080808080U) == 0) {  // eight of ASCII
        text.remove_prefix(sizeof(word));
        continue;
      }
    }
    const size_t length = ValidSequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ToValidUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = ValidSequence(text);
    out += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

NamePool::NamePool(base::SpillPool* spill) : texts_(base::SpillAllocator<std::string_view>(spill)) {
  for (Table& table : tables_) table.entries.resize(kFirstEntries);
}

// That of the text, or an empty one.
const NamePool::Entry& NamePool::Find(std::string_view text, uint32_t tag) const {
  const base::SpillVector<Entry>& entries = tables_[TableOf(tag)].entries;
  const size_t mask = entries.size() - 1;
  size_t slot = tag & mask;
  while (entries[slot].id >= 0 && (entries[slot].tag != tag || Text(entries[slot].id) != text)) {
    slot = (slot + 1) & mask;
  }
  return entries[slot];
}

int32_t NamePool::Find(std::string_view text) const {
  return Find(text, Tag(base::HashString(text))).id;
}

int32_t NamePool::Intern(std::string_view text, uint64_t hash) {
  const uint32_t tag = Tag(hash);
  const Entry& entry = Find(text, tag);
  if (entry.id >= 0) return entry.id;
  if (!IsValidUtf8(text)) {
    ++garbled_;
    return Intern(ToValidUtf8(text));
  }
  return Insert(text, tag);
}

int32_t NamePool::Insert(std::string_view text, uint32_t tag) {
  Table& table = tables_[TableOf(tag)];
  if (table.used * 4 >= table.entries.size() * 3) Grow(table);
  const auto id = static_cast<int32_t>(texts_.size());
  texts_.push_back(Keep(text));
  Add(table, {tag, id});
  return id;
}

// Adds an entry that the table does not have.
void NamePool::Add(Table& table, const Entry& entry) {
  const size_t mask = table.entries.size() - 1;
  size_t slot = entry.tag & mask;
  while (table.entries[slot].id >= 0) slot = (slot + 1) & mask;
  table.entries[slot] = entry;
  ++table.used;
}

void NamePool::Grow(Table& table) {
  const size_t count = table.entries.size() * 2;
  base::SpillPool* const spill = texts_.get_allocator().pool();
  const bool in_memory = count * sizeof(Entry) <= kMostBytesInMemory;
  base::SpillVector<Entry> old(count, base::SpillAllocator<Entry>(in_memory ? nullptr : spill));
  old.swap(table.entries);
  table.used = 0;
  base::SpillSteps steps(spill);
  for (const Entry& entry : old) {
    steps.Next();
    if (entry.id >= 0) Add(table, entry);
  }
}

std::string_view NamePool::Keep(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > block_left_) {
    const size_t usual = blocks_.size() < kSmallBlocks ? kBlockBytes : kLargeBlockBytes;
    block_left_ = std::max(usual, text.size());
    blocks_.emplace_back(base::SpillAllocator<char>(texts_.get_allocator())).resize(block_left_);
    block_next_ = blocks_.back().data();
  }
  char* kept = block_next_;
  std::memcpy(kept, text.data(), text.size());
  block_next_ += text.size();
  block_left_ -= text.size();
  return {kept, text.size()};
}

std::vector<int32_t> NamePool::MergeInto(NamePool& target) const {
  std::vector<int32_t> ids;
  ids.reserve(texts_.size());
  for (const std::string_view text : texts_) ids.push_back(target.Intern(text));
  return ids;
}

Status NamePool::Write(Transaction& transaction) const {
  SONDE_ASSIGN_OR_RETURN(auto writer, TableWriter<NameRow>::Open(transaction));
  for (size_t id = 0; id < texts_.size(); ++id) {
    writer.Append({.name_id = static_cast<int32_t>(id), .name = texts_[id]});
  }
  return writer.Close();
}

}  // namespace sonde::store
