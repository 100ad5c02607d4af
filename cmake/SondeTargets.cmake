# One library a folder, its tests beside it. Usage, in src/<folder>/CMakeLists.txt:
#   sonde_library(store SOURCES a.cc b.cc DEPS sonde_base DuckDB::DuckDB)
#   sonde_test(store SOURCES a_test.cc b_test.cc DEPS sonde_store)
#   sonde_fuzz(capture_reader SOURCES reader_fuzz.cc DEPS sonde_importers CORPUS corpus)
include(GoogleTest)

function(sonde_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(sonde_${folder} STATIC ${ARG_SOURCES})
  target_include_directories(sonde_${folder} PUBLIC ${PROJECT_SOURCE_DIR}/src
                                                    ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(sonde_${folder} PUBLIC ${ARG_DEPS} PRIVATE sonde_warnings ${ARG_PRIVATE_DEPS})
endfunction()

function(sonde_test folder)
  if(NOT SONDE_BUILD_TESTS OR SONDE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(sonde_${folder}_test ${ARG_SOURCES})
  target_link_libraries(sonde_${folder}_test PRIVATE ${ARG_DEPS} GTest::gtest_main GTest::gmock
                                                     sonde_warnings)
  gtest_discover_tests(sonde_${folder}_test TEST_PREFIX ${folder}/ DISCOVERY_TIMEOUT 120
                       PROPERTIES TIMEOUT 300)
endfunction()

function(sonde_fuzz name)
  if(NOT SONDE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_DEPS} sonde_warnings)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endfunction()
