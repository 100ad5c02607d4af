# DuckDB's C API as DuckDB::DuckDB. An installed DuckDB (or DuckDB_ROOT) comes first; else the one
# that setup/duckdb.sh fetched into the user's cache folder, which both find by the digest of
# setup/duckdb.lock and setup/bind_library.py. Sets DuckDB_FETCHED when it is the latter: then
# build/<preset>/lib has the library as a file of its own (a hard link where the file system allows
# it), which stays when the cache is cleaned, and it must be installed with the binary.
find_path(DuckDB_INCLUDE_DIR duckdb.h)
find_library(DuckDB_LIBRARY duckdb)
mark_as_advanced(DuckDB_INCLUDE_DIR DuckDB_LIBRARY)

set(DuckDB_FETCHED FALSE)
if(NOT (DuckDB_INCLUDE_DIR AND DuckDB_LIBRARY))
  file(READ ${PROJECT_SOURCE_DIR}/setup/duckdb.lock _duckdb_lock)
  file(READ ${PROJECT_SOURCE_DIR}/setup/bind_library.py _duckdb_binder)
  string(SHA256 _duckdb_digest "${_duckdb_lock}${_duckdb_binder}")
  string(SUBSTRING ${_duckdb_digest} 0 12 _duckdb_digest)
  set(_duckdb_cache $ENV{XDG_CACHE_HOME})
  if(NOT _duckdb_cache)
    set(_duckdb_cache $ENV{HOME}/.cache)
  endif()
  set(_duckdb_dir ${_duckdb_cache}/sonde/duckdb-${_duckdb_digest})
  if(CMAKE_CROSSCOMPILING)
    string(APPEND _duckdb_dir -${CMAKE_SYSTEM_PROCESSOR})
  endif()
  if(EXISTS ${_duckdb_dir}/lib/libduckdb.so AND EXISTS ${_duckdb_dir}/include/duckdb.h)
    set(DuckDB_FETCHED TRUE)
    set(DuckDB_FETCHED_LIBRARY ${PROJECT_BINARY_DIR}/lib/libduckdb.so)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
    file(REMOVE ${DuckDB_FETCHED_LIBRARY})
    file(CREATE_LINK ${_duckdb_dir}/lib/libduckdb.so ${DuckDB_FETCHED_LIBRARY} COPY_ON_ERROR)
    set(DuckDB_INCLUDE_DIR ${_duckdb_dir}/include)
    set(DuckDB_LIBRARY ${PROJECT_BINARY_DIR}/lib/libduckdb.so)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  DuckDB REQUIRED_VARS DuckDB_LIBRARY DuckDB_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run setup/duckdb.sh (make setup) or set DuckDB_ROOT")

if(DuckDB_FOUND AND NOT TARGET DuckDB::DuckDB)
  add_library(DuckDB::DuckDB SHARED IMPORTED)
  set_target_properties(DuckDB::DuckDB PROPERTIES
    IMPORTED_LOCATION ${DuckDB_LIBRARY}
    IMPORTED_SONAME libduckdb.so
    INTERFACE_INCLUDE_DIRECTORIES ${DuckDB_INCLUDE_DIR})
endif()
