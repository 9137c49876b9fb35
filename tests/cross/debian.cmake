# A toolchain file for tests: the release's, and programs that find their libraries in the sysroot where they run under
# qemu.
include(${CMAKE_CURRENT_LIST_DIR}/../../tools/cross/debian.cmake)
set(CMAKE_PROJECT_tare_INCLUDE ${CMAKE_CURRENT_LIST_DIR}/from_sysroot.cmake)
