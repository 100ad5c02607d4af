# SONDE_PORTABLE: binaries that start wherever glibc 2.28 is (Debian 10, Ubuntu 20.04, RHEL 8, openEuler 20.03, and newer).
# Objects are compiled as always; they are linked with what setup/portable.sh made: the functions that glibc 2.28 has, and
# every other library but DuckDB as an archive. libstdc++ is inside too, and shows none of its names.
option(SONDE_PORTABLE "Link for glibc 2.28, with the libraries inside (setup/portable.sh)" OFF)
if(NOT SONDE_PORTABLE)
  return()
endif()

set(_sonde_key "")
foreach(file portable.lock portable.sh portable/old_glibc.c)
  file(READ ${PROJECT_SOURCE_DIR}/setup/${file} _sonde_text)
  string(APPEND _sonde_key "${_sonde_text}")
endforeach()
string(SHA256 _sonde_key "${_sonde_key}")
string(SUBSTRING ${_sonde_key} 0 12 _sonde_key)
set(_sonde_cache $ENV{XDG_CACHE_HOME})
if(NOT _sonde_cache)
  set(_sonde_cache $ENV{HOME}/.cache)
endif()
set(SONDE_PORTABLE_DIR ${_sonde_cache}/sonde/portable-${_sonde_key}/${CMAKE_SYSTEM_PROCESSOR})
if(NOT EXISTS ${SONDE_PORTABLE_DIR}/complete)
  message(FATAL_ERROR "the libraries for portable binaries are missing: run setup/portable.sh (make does), "
                      "or configure with -DSONDE_PORTABLE=OFF")
endif()

# Two builds of one commit give the same bytes, wherever they are: no path of the clone is in them. Paths are absolute, or
# relative to the build folder where ccache made them so; the last that fits counts.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=../..=.
                    -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)

add_link_options(-B${SONDE_PORTABLE_DIR}/glibc -L${SONDE_PORTABLE_DIR}/glibc -static-libstdc++ -Wl,--exclude-libs,ALL
                 # libgcc_s.so, of which a newer one is here, takes functions that glibc 2.28 lacks.
                 -Wl,--allow-shlib-undefined)

# What an earlier configuration found may be of other pins.
set(TBB_DIR ${SONDE_PORTABLE_DIR}/lib/cmake/TBB CACHE PATH "" FORCE)
unset(pkgcfg_lib_xlsxwriter_xlsxwriter CACHE)
unset(__pkg_config_checked_xlsxwriter CACHE)

# What the folders find are archives. A target that is there already is what find_package takes.
find_package(Threads REQUIRED) # of the archives
list(PREPEND CMAKE_PREFIX_PATH ${SONDE_PORTABLE_DIR})
set(ENV{PKG_CONFIG_PATH} ${SONDE_PORTABLE_DIR}/lib/pkgconfig)
function(_sonde_archive target name header)
  find_library(SONDE_${name}_ARCHIVE lib${name}.a REQUIRED)
  find_path(SONDE_${name}_INCLUDE ${header} REQUIRED)
  mark_as_advanced(SONDE_${name}_ARCHIVE SONDE_${name}_INCLUDE)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${SONDE_${name}_ARCHIVE}
                                             INTERFACE_INCLUDE_DIRECTORIES ${SONDE_${name}_INCLUDE})
endfunction()
_sonde_archive(SQLite::SQLite3 sqlite3 sqlite3.h)
_sonde_archive(ZLIB::ZLIB z zlib.h)
_sonde_archive(yaml-cpp yaml-cpp yaml-cpp/yaml.h)
