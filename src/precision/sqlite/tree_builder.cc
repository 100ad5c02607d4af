#include "precision/sqlite/tree_builder.h"

#include <cstring>
#include <utility>

namespace sonde::precision::sqlite {
namespace {

// How much of a payload stands in the cell itself; formulas of the file format.
constexpr size_t kTableMaxLocal = kPageBytes - 35;
constexpr size_t kIndexMaxLocal = (kPageBytes - 12) * 64 / 255 - 23;
constexpr size_t kMinLocal = (kPageBytes - 12) * 32 / 255 - 23;

size_t LocalBytes(size_t payload, size_t max_local) {
  if (payload <= max_local) return payload;
  const size_t local = kMinLocal + (payload - kMinLocal) % (kPageBytes - 4);
  return local <= max_local ? local : kMinLocal;
}

// Size, rowid (tables) and the record's header: all of a cell before the body.
void FillHead(const Record& record, const int64_t* rowid, std::string* head) {
  head->clear();
  AppendVarint(record.size(), head);
  if (rowid != nullptr) AppendVarint(static_cast<uint64_t>(*rowid), head);
  AppendVarint(record.header_bytes(), head);
  head->append(record.types());
}

// The ends of groups of children that share a parent: as many as fit, but never one alone.
template <class FitsAgain>
std::vector<size_t> GroupEnds(size_t children, const FitsAgain& fits_again) {
  std::vector<size_t> ends;
  size_t begin = 0;
  for (size_t i = 1; i < children; ++i) {
    // Child i joins the group when the cell of the one before it fits.
    if (fits_again(begin, i)) continue;
    ends.push_back(i);
    begin = i;
  }
  if (!ends.empty() && children - ends.back() == 1) --ends.back();
  ends.push_back(children);
  return ends;
}

}  // namespace

void TableBuilder::FlushLeaf() {
  children_.push_back({file_->Append(leaf_.Finish()), last_rowid_});
  leaf_.Clear();
}

void TableBuilder::Add(int64_t rowid, const Record& record) {
  std::string head;
  FillHead(record, &rowid, &head);
  const std::string_view body = record.body();
  const size_t local = LocalBytes(record.size(), kTableMaxLocal) - record.header_bytes();
  const bool spills = local < body.size();
  const size_t bytes = head.size() + local + (spills ? 4 : 0);
  if (!leaf_.Fits(bytes)) FlushLeaf();
  char* const cell = leaf_.Add(bytes);
  std::memcpy(cell, head.data(), head.size());
  std::memcpy(cell + head.size(), body.data(), local);
  if (spills) PutBigEnd32(file_->AppendOverflow(body.substr(local)), cell + bytes - 4);
  last_rowid_ = rowid;
}

uint32_t TableBuilder::Finish() {
  if (!leaf_.empty() || children_.empty()) FlushLeaf();
  TreePage page(TreePage::Kind::kTableInterior);
  std::string cell;
  while (children_.size() > 1) {
    // A cell takes at most a page number, a rowid and its pointer.
    constexpr size_t kMost = (kPageBytes - 12) / (4 + 9 + 2);
    const std::vector<size_t> ends =
        GroupEnds(children_.size(), [](size_t begin, size_t i) { return i - begin < kMost; });
    std::vector<Child> above;
    size_t begin = 0;
    for (const size_t end : ends) {
      for (size_t i = begin; i + 1 < end; ++i) {
        cell.assign(4, '\0');
        PutBigEnd32(children_[i].page, cell.data());
        AppendVarint(static_cast<uint64_t>(children_[i].last_rowid), &cell);
        std::memcpy(page.Add(cell.size()), cell.data(), cell.size());
      }
      const Child& right = children_[end - 1];
      above.push_back({file_->Append(page.Finish(right.page)), right.last_rowid});
      page.Clear();
      begin = end;
    }
    children_ = std::move(above);
  }
  return children_.front().page;
}

std::string IndexBuilder::MakeCell(const Record& record) {
  std::string cell;
  FillHead(record, nullptr, &cell);
  const std::string_view body = record.body();
  const size_t local = LocalBytes(record.size(), kIndexMaxLocal) - record.header_bytes();
  cell.append(body.substr(0, local));
  if (local < body.size()) {
    char link[4];
    PutBigEnd32(file_->AppendOverflow(body.substr(local)), link);
    cell.append(link, sizeof link);
  }
  return cell;
}

void IndexBuilder::FlushLeaf(std::string separator) {
  children_.push_back({file_->Append(leaf_.Finish()), std::move(separator)});
  leaf_.Clear();
}

void IndexBuilder::Add(const Record& record) {
  std::string cell = MakeCell(record);
  if (!waiting_.empty()) FlushLeaf(std::exchange(waiting_, {}));
  if (!leaf_.Fits(cell.size())) {
    waiting_ = std::move(cell);
    return;
  }
  std::memcpy(leaf_.Add(cell.size()), cell.data(), cell.size());
}

// One level of interior pages over these children.
std::vector<IndexBuilder::Child> IndexBuilder::Above(std::vector<Child> children, PageFile* file) {
  TreePage page(TreePage::Kind::kIndexInterior);
  size_t used = 0;
  const auto fits_again = [&](size_t begin, size_t i) {
    if (i == begin + 1) used = 12;
    used += 2 + 4 + children[i - 1].separator.size();
    return used <= kPageBytes;
  };
  const std::vector<size_t> ends = GroupEnds(children.size(), fits_again);
  std::vector<Child> above;
  size_t begin = 0;
  for (const size_t end : ends) {
    for (size_t i = begin; i + 1 < end; ++i) {
      const std::string& separator = children[i].separator;
      char* const cell = page.Add(4 + separator.size());
      PutBigEnd32(children[i].page, cell);
      std::memcpy(cell + 4, separator.data(), separator.size());
    }
    Child& right = children[end - 1];
    above.push_back({file->Append(page.Finish(right.page)), std::move(right.separator)});
    page.Clear();
    begin = end;
  }
  return above;
}

uint32_t IndexBuilder::Finish() {
  if (!waiting_.empty()) {
    // No entry follows that would stand behind it as a separator: the one before it takes that
    // place.
    std::string separator = leaf_.TakeLast();
    FlushLeaf(std::move(separator));
    std::memcpy(leaf_.Add(waiting_.size()), waiting_.data(), waiting_.size());
  }
  FlushLeaf({});
  while (children_.size() > 1) children_ = Above(std::move(children_), file_);
  return children_.front().page;
}

}  // namespace sonde::precision::sqlite
