// Byte layout of the device work that a vendor's library reported: device_000001.sonde, next to the
// other files of a capture, written by the device adapter, read by the importer.
//
// A FileHeader (format.h; session_id 0, since the adapter does not know it), then chunks, each a
// DeviceChunkHeader, `name_bytes` of names and `record_count` records. Times are nanoseconds of the
// Unix epoch as the vendor gives them. Append-only; a cut or garbled chunk is skipped by its
// header's magic. docs/capture-format.md has it for other implementers.
#ifndef SONDE_CAPTURE_DEVICE_FORMAT_H_
#define SONDE_CAPTURE_DEVICE_FORMAT_H_

#include <cstdint>

namespace sonde::capture {

inline constexpr uint64_t kDeviceMagic = 0x3130564544444e53;  // "SNDDEV01"
inline constexpr uint32_t kDeviceChunkMagic = 0x4b484344;     // "DCHK"

// Vendor of the reporting library: determines the meaning of its numbers and the terms for them.
enum class DeviceVendor : uint32_t {
  kAscend = 0,  // libmspti.so
  kNvidia = 1,  // CUPTI
};

struct DeviceChunkHeader {
  uint32_t magic;
  uint32_t name_bytes;    // of the names, padding included
  uint32_t record_count;  // behind the names
  uint32_t payload_crc;   // CRC-32C of names and records
  uint64_t lost;          // records of the vendor's library that were dropped so far
  DeviceVendor vendor;
  uint32_t header_crc;  // CRC-32C of the 28 bytes before
};
static_assert(sizeof(DeviceChunkHeader) == 32);

// A name of this file: this head, then `length` bytes of text, zeros up to a multiple of 8. It is
// in the chunk that first refers to it.
struct DeviceNameHead {
  uint32_t id;  // from 1 in order of appearance
  uint32_t length;
};

enum class DeviceRecordKind : uint16_t {
  kKernel = 1,
  kApi = 2,            // host call; stream holds the system's number of the thread
  kMemcpy = 3,         // code: the vendor's kind of copy
  kMemset = 4,         // code: the value
  kCommunication = 5,  // code: the vendor's data type, bytes: its count of elements
};

struct DeviceRecord {
  uint16_t kind;
  uint16_t code;
  uint32_t device;
  uint32_t stream;
  uint32_t name;   // name id, 0 none; of a copy or set: its kind, where the vendor names it
  uint32_t type;   // name id: kind of kernel, algorithm of a communication
  uint32_t group;  // name id: communicator
  int64_t start_ns;
  int64_t end_ns;
  uint64_t correlation;  // equal in a host call and in the work that it launched; 0 none
  uint64_t size;         // bytes copied or set, elements communicated
};
static_assert(sizeof(DeviceRecord) == 56);

}  // namespace sonde::capture

#endif  // SONDE_CAPTURE_DEVICE_FORMAT_H_
