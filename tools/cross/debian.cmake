# A toolchain file: Debian's cross-compiler of a triplet, and a sysroot (sysroot.sh). From the environment: TARE_TRIPLET
# (aarch64-linux-gnu ...), TARE_SYSROOT.
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "$ENV{TARE_TRIPLET}")
set(CMAKE_LIBRARY_ARCHITECTURE $ENV{TARE_TRIPLET})
set(CMAKE_SYSROOT $ENV{TARE_SYSROOT})
set(CMAKE_C_COMPILER $ENV{TARE_TRIPLET}-gcc)
set(CMAKE_CXX_COMPILER $ENV{TARE_TRIPLET}-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# What the build itself runs, and tests: static programs need no more than this.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR}-static)
# CMake would ask the host's h5cc, which names the host's folders.
set(HDF5_C_COMPILER_EXECUTABLE "" CACHE FILEPATH "")
set(HDF5_C_LIBRARY_hdf5 ${CMAKE_SYSROOT}/usr/lib/$ENV{TARE_TRIPLET}/libhdf5_serial.so CACHE FILEPATH "")
