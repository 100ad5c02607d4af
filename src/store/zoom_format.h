// Layout of the file of a zoom index, which is mapped into memory (little endian, checked by the
// magic):
//
//   for every lane: its slices (ZoomFileSlice), its long durations, its slice_ids where they do not
//   follow each other (int32), its levels (ZoomFileBucket)
//   table of lanes (ZoomFileLane) | table of levels (ZoomFileLevel) | ZoomFileTail
//
// All parts begin at multiples of 8. The tail is at the end, since its values are known last. A
// level k cuts the time of its lane, from its first slice on, into buckets of 2^k ns; those without
// a slice are left out.
#pragma once

#include <cstdint>
#include <limits>

namespace sonde::store {

// Durations from here on, and those of slices without an end, are in the list of long ones.
inline constexpr uint32_t kZoomLongDur = std::numeric_limits<uint32_t>::max();

struct ZoomFileSlice {
  int64_t ts;
  uint32_t dur;
  int32_t name;
};
struct ZoomFileLongDur {
  uint64_t index;  // of the slice within the lane; they ascend
  int64_t dur;
};
struct ZoomFileBucket {
  int64_t ts;      // of the longest slice
  uint32_t dur;    // the same
  int32_t name;    // the same
  uint32_t index;  // the same, within the lane
  uint32_t count;  // slices
};
struct ZoomFileLane {
  int32_t track_id;
  int32_t depth;
  int32_t first_slice;  // the slice_ids of a lane follow each other, unless they are listed
  uint32_t count;
  uint64_t slices;  // place in the file
  uint64_t long_durs;
  uint64_t ids;  // 0: not listed
  uint32_t long_dur_count;
  uint32_t level_count;
  uint64_t first_level;  // in the table of levels
};
struct ZoomFileLevel {
  int64_t width_ns;
  uint64_t buckets;  // place in the file
  uint64_t count;
};
struct ZoomFileTail {
  static constexpr uint64_t kMagic = 0x33786d6f6f7a4e53;
  uint64_t magic = kMagic;
  int64_t store_id = 0;  // of the store that it belongs to
  uint64_t file_bytes = 0;
  uint64_t lanes = 0;  // place of the table
  uint64_t lane_count = 0;
  uint64_t levels = 0;
  uint64_t level_count = 0;
  uint32_t tables_crc = 0;  // CRC-32C of both tables
  uint32_t tail_crc = 0;    // of the fields above
};
static_assert(sizeof(ZoomFileSlice) == 16 && sizeof(ZoomFileBucket) == 24 &&
              sizeof(ZoomFileLane) == 56 && sizeof(ZoomFileTail) == 64);

}  // namespace sonde::store
