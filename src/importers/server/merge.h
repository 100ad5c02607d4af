// Puts the rows of several stores into one: ids and name numbers are moved apart.
//
// Rows come from stores whose rows are in memory. Each table has them one store after the other, so
// that the order within a store is kept. Texts are interned again. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "store/name_pool.h"
#include "store/row_tables.h"
#include "store/store.h"

namespace sonde::importers::server {

// The kind of ids in a column. Numbers of steps are the server's and are not shifted.
enum class IdSpace : uint8_t {
  kNone,
  kProcess,
  kThread,
  kTrack,
  kSlice,
  kArgs,
  kStack,
  kSignature,
  kKind,
  kTask,
  kCommunication,
  kConnection,
  kFlow,
  kMark,
  kCount,
};

class Merger {
 public:
  explicit Merger(store::NamePool& names) : names_(names) {}

  // Appends all rows but names. The texts of `tables` must live until the transaction has ended.
  Status Add(const store::RowTables& tables, store::Transaction& transaction);

  // Offsets of the ids in the tables that were added last, and in the next ones.
  int64_t Offset(IdSpace space) const { return offsets_[static_cast<size_t>(space)]; }
  int64_t Next(IdSpace space) const { return next_[static_cast<size_t>(space)]; }

 private:
  using Numbers = std::array<int64_t, static_cast<size_t>(IdSpace::kCount)>;

  store::NamePool& names_;
  std::vector<int32_t> name_ids_;  // of the tables being added
  Numbers offsets_{};
  Numbers next_{};
};

}  // namespace sonde::importers::server
