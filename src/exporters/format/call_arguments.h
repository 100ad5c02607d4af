// Data that an import kept of calls into the vendor's library in addition to their names: kind,
// number and the item that they are about, as timelines have them.
//
// Read from the store; sets of arguments that many calls share are held once. Read-only after
// Load(), any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "recipes/trace/trace_data.h"
#include "store/store.h"

namespace sonde::exporters {

class CallArguments {
 public:
  // Empty without a store, and where no call has arguments.
  static Result<CallArguments> Load(const store::Store* store, const recipes::TraceData& data);

  enum Key : uint8_t { kMode, kId, kItem };
  // `otherwise` where it is unknown.
  std::string_view Text(const store::SliceRow& slice, Key key, std::string_view otherwise) const;

 private:
  std::vector<std::string> texts_;
  std::unordered_map<int32_t, std::array<int32_t, 3>> of_args_;  // of texts_; -1: unknown
};

}  // namespace sonde::exporters
