# Binaries for 64-bit Arm, made on x86-64 by Debian's cross compiler with the libraries of setup/sysroot.sh; programs that
# the build starts (lists of tests) run under qemu. The preset release-aarch64 uses it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)

execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../../setup/sysroot.sh aarch64
                OUTPUT_VARIABLE SONDE_SYSROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE _sonde_status)
if(_sonde_status)
  message(FATAL_ERROR "setup/sysroot.sh aarch64 failed")
endif()
# Not CMAKE_SYSROOT: the C library is the cross compiler's.
set(CMAKE_FIND_ROOT_PATH ${SONDE_SYSROOT} ${SONDE_SYSROOT}/usr)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# What setup/portable.sh made lies elsewhere.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
foreach(_sonde_language C CXX)
  set(CMAKE_${_sonde_language}_FLAGS_INIT
      "-isystem ${SONDE_SYSROOT}/usr/include -isystem ${SONDE_SYSROOT}/usr/include/aarch64-linux-gnu")
endforeach()
# Debian's mold is not among the cross compiler's linkers.
set(SONDE_MOLD OFF CACHE FILEPATH "" FORCE)
