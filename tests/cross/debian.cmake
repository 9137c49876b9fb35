# A toolchain file for tests: the release's, and programs that find their libraries in the sysroot where they run under
# qemu, by what they are linked with, not by qemu's -L, which would look there for the root folder, too, where a program
# opens it.
include(${CMAKE_CURRENT_LIST_DIR}/../../tools/cross/debian.cmake)
file(GLOB loader ${CMAKE_SYSROOT}/lib/ld-linux-*.so.1 ${CMAKE_SYSROOT}/lib/ld64.so.1)
set(runpath "-Wl,--disable-new-dtags -Wl,-rpath,${CMAKE_SYSROOT}/lib/$ENV{TARE_TRIPLET}:${CMAKE_SYSROOT}/usr/lib/$ENV{TARE_TRIPLET}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--dynamic-linker=${loader} ${runpath}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${runpath}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "${runpath}")
