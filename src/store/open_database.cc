#include "store/open_database.h"

#include <duckdb.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/host/private_folder.h"
#include "base/strings.h"
#include "store/duckdb_lazy.h"

namespace sonde::store::internal {
namespace {

using base::Concat;

struct Config {
  duckdb_config handle = nullptr;
  Config() { CHECK(duckdb_create_config(&handle) == DuckDBSuccess); }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
  ~Config() { duckdb_destroy_config(&handle); }
  Status Set(const char* name, const std::string& value) {
    if (duckdb_set_config(handle, name, value.c_str()) == DuckDBError) {
      return base::InternalError(Concat("the database refuses the setting ", name, "=", value));
    }
    return {};
  }
};

// The folder for data that does not fit into memory. File names in it are always the same, so each
// database has a folder of its own, into which no other user can put files of those names.
std::string SpillFolder(Database& database) {
  if (database.spill == nullptr) {
    auto made = base::PrivateFolder::Make("spill");
    if (made.ok()) database.spill = *std::move(made);  // else statements do without
  }
  return database.spill == nullptr ? std::string() : database.spill->path();
}

}  // namespace

int QueryThreads(const StoreOptions& options) { return std::max(1, options.threads); }

Status OpenInto(const std::string& file, Use use, const StoreOptions& options, Database& database) {
  SONDE_RETURN_IF_ERROR(LoadDuckDb());
  Config config;
  const bool is_filling = use == Use::kFilling;
  const int threads = is_filling ? 1 : QueryThreads(options);
  SONDE_RETURN_IF_ERROR(config.Set("threads", std::to_string(threads)));
  SONDE_RETURN_IF_ERROR(config.Set("autoinstall_known_extensions", "false"));
  SONDE_RETURN_IF_ERROR(config.Set("autoload_known_extensions", "false"));
  // A user's INSTALL must not open a connection either.
  SONDE_RETURN_IF_ERROR(config.Set("custom_extension_repository", "/nonexistent"));
  SONDE_RETURN_IF_ERROR(config.Set("temp_directory", SpillFolder(database)));
  if (use == Use::kReading) {
    SONDE_RETURN_IF_ERROR(config.Set("access_mode", "READ_ONLY"));
  } else {
    // Integers, which are nearly all data, are packed in this way: trials never chose another one.
    SONDE_RETURN_IF_ERROR(config.Set("force_compression", "bitpacking"));
    // Texts are in dictionaries, long ones are packed by zstd. These two were never smaller, and
    // trying them on each column took half of the time of writing the file.
    SONDE_RETURN_IF_ERROR(config.Set("disabled_compression_methods", "fsst,dict_fsst"));
    // Of each table that is being filled; by itself the database holds five unpacked.
    SONDE_RETURN_IF_ERROR(config.Set("write_buffer_row_group_count", "1"));
  }
  if (!is_filling && use != Use::kUnlocked) {
    SONDE_RETURN_IF_ERROR(config.Set("lock_configuration", "true"));
  }
  if (is_filling && options.filling_memory_bytes > 0) {
    SONDE_RETURN_IF_ERROR(
        config.Set("memory_limit", Concat(std::to_string(options.filling_memory_bytes), "B")));
  }
  char* error = nullptr;
  if (duckdb_open_ext(file.c_str(), &database.handle, config.handle, &error) == DuckDBError) {
    const std::string reason = error != nullptr ? error : "unknown reason";
    duckdb_free(error);
    return base::CorruptDataError(Concat("cannot open the trace store '", file, "': ", reason));
  }
  return {};
}

Result<std::unique_ptr<Database>> OpenDatabase(const std::string& file, Use use,
                                               const StoreOptions& options) {
  auto database = std::make_unique<Database>();
  SONDE_RETURN_IF_ERROR(OpenInto(file, use, options, *database));
  return database;
}

}  // namespace sonde::store::internal
