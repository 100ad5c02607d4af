# Compiler settings of every target: language level, warnings as errors, build types, sanitizers, linker.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "Dev or Release" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG -g1" CACHE STRING "" FORCE)

find_program(SONDE_CCACHE ccache)
if(SONDE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SONDE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${SONDE_CCACHE})
endif()

find_program(SONDE_MOLD mold)
if(SONDE_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
endif()

add_library(sonde_warnings INTERFACE)
# Warnings are errors, but not in builds by users: warnings of other compilers, and of -O3, differ
# and are often wrong.
target_compile_options(sonde_warnings INTERFACE -Wall -Wextra -Wconversion
                                                $<$<NOT:$<CONFIG:Release>>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Sources that are compiled together see each other's anonymous namespaces: warnings about globals
  # and about the main file depend on that.
  target_compile_options(sonde_warnings INTERFACE -Wshadow=local -Wno-subobject-linkage)
else()
  target_compile_options(sonde_warnings INTERFACE -Wshadow)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 at -O3 takes `"text" + string` for an overlapping copy (GCC bug 105651), and the content
  # of an optional or a variant for uninitialized. The second option is for clang-tidy, which reads
  # these options, too.
  target_compile_options(sonde_warnings INTERFACE -Wno-restrict -Wno-unknown-warning-option
                                                  $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12's own std::stable_sort calls a function that it declares deprecated.
  target_compile_options(sonde_warnings INTERFACE -Wno-deprecated-declarations)
endif()

if(SONDE_SANITIZE STREQUAL "address")
  # Left to the fuzz preset (clang): checks at every access through a pointer, which cost a third of the build.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr,null,alignment,object-size
                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(SONDE_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT SONDE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "SONDE_SANITIZE must be empty, 'address' or 'thread', not '${SONDE_SANITIZE}'")
endif()
if(SONDE_FUZZ)
  add_compile_options(-fsanitize=address,undefined,fuzzer-no-link)
  add_link_options(-fsanitize=address,undefined)
endif()
