// What a program and the process that runs its statements say to each other: frames of a kind, a
// size and bytes, over a socket. Both are the same program, so the bytes have no version.
//
// Threads: one reader and one writer a socket. Errors: kUnavailable where the other side is gone,
// kCorruptData where the bytes are none of ours. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "store/chunk.h"
#include "store/store.h"

namespace sonde::store::internal {

enum class FrameKind : uint8_t {
  // From the program.
  kOpen,   // StatementPlan
  kOffer,  // tables that the program makes (MadeTables)
  kRun,    // one statement
  kMore,   // after a piece of the result
  kStop,   // likewise: no more of it
  // From the process.
  kTaken,    // the statement arrived
  kColumns,  // of the result
  kPiece,    // rows of the result; waits for kMore or kStop
  kDone,     // outcome of kOpen and kRun
  // On the socket for made tables.
  kWanted,  // number of a table
  kRows,    // some of its rows
  kFilled,  // outcome
};

struct Frame {
  FrameKind kind = FrameKind::kDone;
  std::string bytes;
};

// Larger ones are refused by both sides: a cell of a result must fit into one.
inline constexpr size_t kMostFrameBytes = size_t{256} << 20U;

Status SendFrame(int socket, FrameKind kind, std::string_view bytes);
// Waits for a whole one.
Result<Frame> ReceiveFrame(int socket);

// Appends values to the bytes of a frame.
class FrameBytes {
 public:
  template <class T>
  void Put(T value) {
    char place[sizeof(T)];
    base::StoreLe(place, value);
    bytes_.append(place, sizeof(T));
  }
  void Text(std::string_view text) {
    Put(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  void Raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  size_t size() const { return bytes_.size(); }
  std::string_view view() const { return bytes_; }
  void Clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

std::string ReadFrameText(base::ByteReader& reader);

void PutStatus(FrameBytes& bytes, const Status& status);
Status ReadStatus(std::string_view bytes);

void PutColumns(FrameBytes& bytes, const std::vector<QueryColumn>& columns);
Result<std::vector<QueryColumn>> ReadColumns(std::string_view bytes);

// The rows from `begin` on that fit into a frame, at least one; returns the end. OutOfRange where
// one row is too large by itself.
Result<size_t> PutPiece(FrameBytes& bytes, const Chunk& chunk, size_t begin);
// Calls `consume` with what PutPiece wrote.
Status ReadPiece(std::string_view bytes, const std::function<Status(const Chunk&)>& consume);

}  // namespace sonde::store::internal
