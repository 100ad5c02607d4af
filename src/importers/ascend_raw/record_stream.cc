#include "importers/ascend_raw/record_stream.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/files.h"
#include "importers/ascend_raw/issues.h"
#include "importers/common/part_file.h"

namespace sonde::importers::raw {
namespace {

class RunReader {
 public:
  RunReader(const RecordForm& form, store::ImportIssues& issues,
            const std::function<void(std::string_view record)>& take)
      : form_(form), issues_(issues), take_(take) {}

  void Read(std::span<const Slice> run) {
    uint64_t total = 0;
    for (const Slice& slice : run) total += base::FileSize(slice.file.path).value_or(0);
    const size_t rest = total % form_.size;
    if (rest > 0) {
      issues_.Add(kPartOfRecord, run.front().file.relative, -1, static_cast<int64_t>(rest));
      skip_ = IsCutAtEnd(run) ? 0 : rest;
    }
    carry_.clear();
    for (const Slice& slice : run) Take(slice);
  }

 private:
  // Whether the first record is at the very begin.
  bool IsCutAtEnd(std::span<const Slice> run) const {
    if (form_.mark_offset < 0) return false;
    const auto file = base::MappedFile::Open(run.front().file.path);
    const auto offset = static_cast<size_t>(form_.mark_offset);
    return file.ok() && file->size() >= offset + sizeof(uint16_t) &&
           At<uint16_t>(file->text(), offset) == form_.mark;
  }

  void Take(const Slice& slice) {
    const auto file = OpenPart(slice.file.path, slice.file.relative, issues_, /*is_binary=*/true);
    if (!file) return;
    std::string_view bytes = file->text();
    const size_t skipped = std::min(skip_, bytes.size());
    bytes.remove_prefix(skipped);
    skip_ -= skipped;
    if (!carry_.empty()) {
      const size_t missing = std::min(form_.size - carry_.size(), bytes.size());
      carry_.append(bytes.substr(0, missing));
      bytes.remove_prefix(missing);
      if (carry_.size() < form_.size) return;
      Give(carry_, slice);
      carry_.clear();
    }
    for (; bytes.size() >= form_.size; bytes.remove_prefix(form_.size)) {
      Give(bytes.substr(0, form_.size), slice);
    }
    carry_ = bytes;
  }

  void Give(std::string_view record, const Slice& slice) {
    if (form_.mark_offset >= 0 &&
        At<uint16_t>(record, static_cast<size_t>(form_.mark_offset)) != form_.mark) {
      issues_.Add(kBadRecord, slice.file.relative);
      return;
    }
    take_(record);
  }

  const RecordForm& form_;
  store::ImportIssues& issues_;
  const std::function<void(std::string_view record)>& take_;
  size_t skip_ = 0;
  std::string carry_;  // begin of a record that the next slice goes on with
};

// Reports problems of the slices, and calls `take` for each run of them.
void ForEachRun(const Stream& stream, store::ImportIssues& issues,
                const std::function<void(std::span<const Slice> run)>& take) {
  const std::span<const Slice> slices(stream.slices);
  size_t begin = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!slices[i].is_closed) issues.Add(kNotClosed, slices[i].file.relative);
    const bool is_last = i + 1 == slices.size();
    if (!is_last && slices[i + 1].number == slices[i].number + 1) continue;
    if (!is_last) {
      issues.Add(kSliceMissing, slices[i + 1].file.relative, -1,
                 slices[i + 1].number - slices[i].number - 1);
    }
    take(slices.subspan(begin, i + 1 - begin));
    begin = i + 1;
  }
  if (!slices.empty() && slices.front().number > 0) {
    issues.Add(kSliceMissing, slices.front().file.relative, -1, slices.front().number);
  }
}

}  // namespace

void ReadRecords(const Stream& stream, const RecordForm& form, store::ImportIssues& issues,
                 const std::function<void(std::string_view record)>& take) {
  ForEachRun(stream, issues,
             [&](std::span<const Slice> run) { RunReader(form, issues, take).Read(run); });
}

size_t CountRecords(const Stream& stream, const RecordForm& form) {
  uint64_t bytes = 0;
  for (const Slice& slice : stream.slices) bytes += base::FileSize(slice.file.path).value_or(0);
  return static_cast<size_t>(bytes / form.size);
}

std::string ReadTexts(const Stream& stream, store::ImportIssues& issues) {
  std::string text;
  ForEachRun(stream, issues, [&](std::span<const Slice> run) {
    for (const Slice& slice : run) {
      const auto file = OpenPart(slice.file.path, slice.file.relative, issues, /*is_binary=*/true);
      if (file) text.append(file->text());
    }
  });
  return text;
}

}  // namespace sonde::importers::raw
