#include "importers/capture/testing/fuzz_capture.h"

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"
#include "base/files.h"
#include "importers/capture/testing/capture_builder.h"

namespace sonde::importers::testing {
namespace {

using capture::EntryType;
using capture::Record;

void AddRecords(CaptureBuilder& capture, uint32_t thread, std::string_view bytes) {
  for (size_t at = 0; at + sizeof(Record) <= bytes.size(); at += sizeof(Record)) {
    capture.Add(thread, base::LoadLe<Record>(bytes.data() + at));
  }
}

// Ring headers keep magic, version and session, which no fuzzer would guess.
std::string RingBytes(CaptureBuilder& capture, uint32_t thread, std::string_view bytes) {
  std::string ring = capture.Ring(thread, 5, 16, 0, {});
  constexpr size_t kFirstFree = 40;  // offset of capacity
  for (size_t i = 0; i < bytes.size() && kFirstFree + i < ring.size(); ++i) {
    ring[kFirstFree + i] = static_cast<char>(ring[kFirstFree + i] ^ bytes[i]);
  }
  return ring;
}

}  // namespace

Status WriteFuzzCapture(std::string_view bytes_of_pieces, const std::string& folder) {
  CaptureBuilder capture;
  std::string raw_dictionary;
  std::string raw_segment;
  base::ByteReader reader(bytes_of_pieces);
  while (reader.remaining() > 0) {
    const auto kind = reader.Read<uint8_t>();
    const auto id = reader.Read<uint8_t>();
    const auto length = reader.Read<uint8_t>();
    const std::string_view bytes = reader.ReadText(std::min<size_t>(length, reader.remaining()));
    const uint32_t thread = id % 4;
    switch (kind % 20) {
      case 14:
        AddRecords(capture, thread, bytes);
        break;
      case 15:
        capture.Flush(thread, length);
        break;
      case 16:
        capture.rings()["ring_" + std::to_string(thread) + ".sonde"] =
            RingBytes(capture, thread, bytes);
        break;
      case 17:
        raw_dictionary.append(bytes);
        break;
      case 18:
        raw_segment.append(bytes);
        break;
      default:
        capture.Entry(static_cast<EntryType>(kind % 20), id, bytes);
        break;
    }
  }
  for (uint32_t thread = 0; thread < 4; ++thread) capture.Flush(thread);
  const std::string inside = folder + "/SONDE";
  SONDE_RETURN_IF_ERROR(base::RemoveTree(inside));
  SONDE_RETURN_IF_ERROR(capture.Write(folder));
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(inside + "/dictionary_000001.sonde",
                                                  capture.dictionary() + raw_dictionary));
  return base::WriteFileAtomically(inside + "/events_000001.sonde",
                                   capture.segment() + raw_segment);
}

}  // namespace sonde::importers::testing
