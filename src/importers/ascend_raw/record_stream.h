// Records of one size in a stream that was cut into slices.
//
// Slices that follow each other are one run of bytes: a record may straddle them. Of a run that is
// no whole number of records the rest is at its begin, where the head was deleted, or at its end,
// where the writer was killed. The records' mark decides, and without marks it is the begin.
// Counted: bytes that are left out, slices that are missing, slices that were never closed. Memory:
// one slice is mapped at a time. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "importers/ascend_raw/files.h"
#include "store/import_issues.h"

namespace sonde::importers::raw {

// Where the data of compact and additional records begins, in bytes.
inline constexpr size_t kRecordData = 24;

template <class T>
T At(std::string_view record, size_t offset) {
  return base::LoadLe<T>(record.data() + offset);
}

struct RecordForm {
  size_t size = 0;
  int mark_offset = -1;  // of a u16 that all records have; -1: none
  uint16_t mark = 0;
};

// Records without the mark are counted and left out. The view lives during the call.
void ReadRecords(const Stream& stream, const RecordForm& form, store::ImportIssues& issues,
                 const std::function<void(std::string_view record)>& take);

// How many records its files have room for.
size_t CountRecords(const Stream& stream, const RecordForm& form);

// Room for so many more rows: where they grow by themselves each growth copies them all.
template <class Rows>
void ReserveMore(Rows& rows, size_t more) {
  rows.reserve(rows.size() + more);
}

// Room for a row a record, with a limit, since files without valid records may be large.
template <class Rows>
void ReserveFor(const Stream& stream, const RecordForm& form, Rows& rows) {
  constexpr size_t kMostBytes = size_t{512} << 20U;
  ReserveMore(rows, std::min(CountRecords(stream, form), kMostBytes / sizeof(rows[0])));
}

// Files of text: all slices as one.
std::string ReadTexts(const Stream& stream, store::ImportIssues& issues);

}  // namespace sonde::importers::raw
