// Names of runtime records to dictionary ids, per thread, without allocation once seen.
//
// Names live only as long as the range: they are keyed by a hash of text, module and event, whose
// 64 bits decide. Threads: one cache per thread. Cost of a hit: 5 to 10 ns by the length.
#ifndef SONDE_ADAPT_MINDSPORE_RUNTIME_NAMES_H_
#define SONDE_ADAPT_MINDSPORE_RUNTIME_NAMES_H_

#include <cstdint>
#include <string_view>

#include "adapt/python/id_cache.h"
#include "base/hash.h"

namespace sonde::adapt {

class RuntimeNames {
 public:
  uint32_t Event(uint32_t module, uint32_t event, std::string_view text) {
    const uint64_t hash = base::HashString(text, (uint64_t{module} << 32) | (event + 1)) | 1;
    uint32_t id = 0;
    if (ids_.Find(hash, &id)) [[likely]] {
      return id;
    }
    return Add(hash, module, event, text);
  }

 private:
  uint32_t Add(uint64_t hash, uint32_t module, uint32_t event, std::string_view text);

  IdCache<512> ids_;
};

// "RunGraph"; the number for one that is not known.
uint32_t StageName(uint32_t stage);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_MINDSPORE_RUNTIME_NAMES_H_
