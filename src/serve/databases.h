// The databases of the traces: those that were asked last are open, so that memory and open files
// stay within bounds whatever number of traces there is.
//
// Ownership: shared; what somebody holds stays open as long. Threads: any. Errors: those of
// opening.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/status.h"
#include "store/joint.h"
#include "store/queryable.h"
#include "store/store.h"
#include "store/user_statements.h"

namespace sonde::serve {

// The most recently used, by name; the least recently used is closed.
template <class Thing>
class Recent {
 public:
  explicit Recent(size_t most) : most_(most) {}

  std::shared_ptr<Thing> Find(const std::string& name) {  // null where it is not there
    const std::scoped_lock lock(mutex_);
    const auto found = Place(name);
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().second;
  }
  // Gives what another thread kept meanwhile, if one did.
  std::shared_ptr<Thing> Keep(const std::string& name, std::shared_ptr<Thing> thing) {
    std::shared_ptr<Thing> gone;  // ends without the lock
    const std::scoped_lock lock(mutex_);
    const auto found = Place(name);
    if (found != kept_.end()) return found->second;
    kept_.emplace_front(name, std::move(thing));
    if (kept_.size() > most_) {
      gone = std::move(kept_.back().second);
      kept_.pop_back();
    }
    return kept_.front().second;
  }
  void Forget(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const auto found = Place(name);
    if (found != kept_.end()) kept_.erase(found);
  }
  size_t size() const {
    const std::scoped_lock lock(mutex_);
    return kept_.size();
  }

 private:
  using List = std::list<std::pair<std::string, std::shared_ptr<Thing>>>;
  typename List::iterator Place(const std::string& name) {
    return std::find_if(kept_.begin(), kept_.end(),
                        [&](const auto& entry) { return entry.first == name; });
  }

  const size_t most_;
  mutable std::mutex mutex_;
  List kept_;  // used last first
};

class Databases {
 public:
  static constexpr size_t kMostStores = 32;
  static constexpr size_t kMostStatements = 8;  // of users: a database each
  // `limits`: of each statement of a user.
  explicit Databases(size_t most_stores = kMostStores, const store::StatementLimits& limits = {})
      : limits_(limits), stores_(most_stores), packs_(kMostStores), statements_(kMostStatements) {}

  // One that has been opened, or made, just now.
  void Keep(std::shared_ptr<const store::Store> store);
  Result<std::shared_ptr<const store::Store>> OpenStore(const std::string& path);
  Result<std::shared_ptr<const store::JointStore>> OpenPack(const std::string& path);
  // For statements of the user on the file's only trace, and on the results of recipes.
  Result<std::shared_ptr<const store::UserStatements>> Statements(const store::StoreFile& file);
  // Of a trace that is shown no more.
  void Forget(const store::StoreFile& file);

  size_t open_stores() const { return stores_.size(); }

 private:
  const store::StatementLimits limits_;
  Recent<const store::Store> stores_;
  Recent<const store::JointStore> packs_;
  Recent<const store::UserStatements> statements_;
};

// Statements leave a processor to the timeline.
int StatementThreads();

// The tables of one trace, wherever it lies: opened when they are asked. As those of its store; of
// a pack the rows of the trace, without the column that names it.
class TraceTables final : public store::Queryable {
 public:
  // `file`: with one trace.
  TraceTables(std::shared_ptr<Databases> databases, store::StoreFile file)
      : databases_(std::move(databases)), file_(std::move(file)) {}
  ~TraceTables() override;
  TraceTables(const TraceTables&) = delete;
  TraceTables& operator=(const TraceTables&) = delete;

  Result<store::ResultTable> Query(const std::string& sql) const override;
  Status Scan(const std::string& sql,
              const std::function<Status(const store::Chunk&)>& consume) const override;

 private:
  const std::shared_ptr<Databases> databases_;
  const store::StoreFile file_;
};

// A statement on the tables of a store, for those of a pack: each that it names is cut to the rows
// of one trace.
std::string OfPlace(const std::string& sql, int32_t place);

}  // namespace sonde::serve
