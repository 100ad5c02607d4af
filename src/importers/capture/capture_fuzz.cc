// Fuzz target of the capture importer: from bytes to nested and numbered threads.
//
// The input is read as pieces (kind, length, bytes) from which a capture with valid checksums is
// built, so that the fuzzer gets behind them; a piece may also be put in as it is.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "base/files.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/capture/trace.h"

namespace {

using sonde::base::ByteReader;
using sonde::capture::EntryType;
using sonde::capture::Record;
using sonde::importers::testing::CaptureBuilder;

std::string Folder() {
  static const std::string folder = [] {
    char name[] = "/tmp/sonde_fuzz_XXXXXX";
    const char* made = ::mkdtemp(name);
    return std::string(made != nullptr ? made : "/tmp/sonde_fuzz");
  }();
  return folder;
}

void AddRecords(CaptureBuilder& capture, uint32_t thread, std::string_view bytes) {
  for (size_t at = 0; at + sizeof(Record) <= bytes.size(); at += sizeof(Record)) {
    capture.Add(thread, sonde::base::LoadLe<Record>(bytes.data() + at));
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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  CaptureBuilder capture;
  std::string raw_dictionary;
  std::string raw_segment;
  ByteReader reader(std::string_view(reinterpret_cast<const char*>(data), size));
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
  const std::string inside = Folder() + "/SONDE";
  if (!sonde::base::RemoveTree(inside).ok() || !capture.Write(Folder()).ok()) std::abort();
  const bool written = sonde::base::WriteFileAtomically(inside + "/dictionary_000001.sonde",
                                                        capture.dictionary() + raw_dictionary)
                           .ok() &&
                       sonde::base::WriteFileAtomically(inside + "/events_000001.sonde",
                                                        capture.segment() + raw_segment)
                           .ok();
  if (!written) std::abort();
  const auto loaded = sonde::importers::capture_import::LoadCapture(Folder());
  if (!loaded.ok()) std::abort();  // the header is valid: there is always something to load
  return 0;
}
