// Where stores of foreign traces are kept: the user's cache folder, bounded in size.
//
// Files are named by the content of the trace, "<number>.duckdb" and its index "<number>.zoom".
// When the folder grows beyond its limit the least recently used store is removed first; stores
// used within the last hour stay, since other processes may be about to open them. Threads: any;
// several processes may use and prune the folder at once.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace sonde::importers {

inline constexpr uint64_t kDefaultCacheBytes = uint64_t{16} << 30U;

// $XDG_CACHE_HOME/sonde/stores, else ~/.cache/sonde/stores by $HOME or the user database. Fails
// where none of them is an absolute path: other users could write to a relative one.
Result<std::string> CacheFolder();

// Files in the folder are trusted: kPermissionDenied where it, or its parent, belongs to another
// user or may be written by all. Ok where it does not exist yet.
Status CheckCacheFolder(const std::string& folder);

// Whether this user wrote the file.
bool IsOwnFile(const std::string& path);

// SONDE_CACHE_BYTES, else the default.
uint64_t CacheLimit();

// Marks the store as used now; one that is open for long again within each hour.
void TouchStore(const std::string& path);

// Removes stores until the folder holds at most `limit` bytes, and unfinished files that are older
// than a day. `now_s`: seconds of the Unix epoch. Failures leave files where they are.
void PruneCache(const std::string& folder, uint64_t limit, int64_t now_s);

}  // namespace sonde::importers
