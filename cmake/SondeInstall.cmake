# Files of `cmake --install`, and so of the wheel: bin/sonde, the libraries that are loaded into
# user programs, and in lib/ every shared library of the command that a plain Linux machine may
# lack.
find_package(DuckDB REQUIRED)
set(SONDE_INSTALL_LIBRARIES sonde_record_shared sonde_torch sonde_mindspore sonde_probe_shared sonde_ascend
                           sonde_nvidia)

# Always there: the C library, the C++ runtime and the loader.
set(SONDE_SYSTEM_LIBRARIES
    "^(ld-linux.*|libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\\+\\+)\\.so.*")

# RPATH, not RUNPATH: it also serves the libraries that our libraries need.
target_link_options(sonde PRIVATE -Wl,--disable-new-dtags)

# Loaded into other programs, they need no library of ours.
set_target_properties(sonde_record_shared sonde_probe_shared PROPERTIES INSTALL_RPATH "")

# The programs for users, without the tests: enough for a demonstration.
add_custom_target(product DEPENDS sonde ${SONDE_INSTALL_LIBRARIES})

install(TARGETS sonde RUNTIME DESTINATION bin COMPONENT sonde)
install(TARGETS ${SONDE_INSTALL_LIBRARIES} LIBRARY DESTINATION lib COMPONENT sonde)
if(DuckDB_FETCHED)
  install(FILES ${DuckDB_FETCHED_LIBRARY} DESTINATION lib COMPONENT sonde)
else()
  file(REAL_PATH ${DuckDB_LIBRARY} duckdb_file)
  install(FILES ${duckdb_file} DESTINATION lib COMPONENT sonde RENAME libduckdb.so)
endif()
# Notices of what is inside, for `sonde --licenses`: tools/licenses.py writes them for the wheel.
install(DIRECTORY ${PROJECT_BINARY_DIR}/licenses DESTINATION . COMPONENT sonde OPTIONAL)
list(APPEND SONDE_SYSTEM_LIBRARIES "^libduckdb\\.so")

install(CODE "set(sonde_binary \"$<TARGET_FILE:sonde>\")
              set(sonde_system_libraries [[${SONDE_SYSTEM_LIBRARIES}]])" COMPONENT sonde)
install(CODE [[
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "${sonde_binary}"
       RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
       PRE_EXCLUDE_REGEXES ${sonde_system_libraries})
  if(missing)
    message(FATAL_ERROR "shared libraries not found: ${missing}")
  endif()
  foreach(library IN LISTS found)
    get_filename_component(name "${library}" NAME)
    file(REAL_PATH "${library}" real)
    set(to "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/${name}")
    message(STATUS "Installing: ${to}")
    file(MAKE_DIRECTORY "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib")
    file(COPY_FILE "${real}" "${to}" ONLY_IF_DIFFERENT)
  endforeach()
]] COMPONENT sonde)
