# tare_for_old_glibc(TARGET): a library or program that is linked to the C library starts where that is TARE_OLDEST_GLIBC, and brings
# the C++ library and libhdf5, which are newer than such a system's. Without TARE_OLDEST_GLIBC it is as the compiler makes it.
set(TARE_OLDEST_GLIBC "" CACHE STRING "The oldest glibc that has to suffice, e.g. 2.27; empty: the one that is built with")
set(folder ${CMAKE_CURRENT_LIST_DIR})
if(TARE_OLDEST_GLIBC)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(stubs ${PROJECT_BINARY_DIR}/old_glibc)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${folder}/stubs.py ${TARE_OLDEST_GLIBC} ${CMAKE_C_COMPILER} ${stubs}
                  COMMAND_ERROR_IS_FATAL ANY)
  add_library(tare_newer_glibc OBJECT ${folder}/newer.c)
  add_library(tare_glibc_start OBJECT ${folder}/start.c)
  add_library(tare_glibc_streams OBJECT ${folder}/streams.c)
  # None of their functions is the compiler's own; headers that would declare them declare others.
  target_compile_options(tare_newer_glibc PRIVATE -ffreestanding)
endif()

function(tare_for_old_glibc target)
  if(NOT TARE_OLDEST_GLIBC)
    return()
  endif()
  target_link_libraries(${target} PRIVATE tare_newer_glibc)
  # By name, and first of all: both are wanted where they are empty, too.
  target_link_options(${target} PRIVATE -static-libstdc++ -L${PROJECT_BINARY_DIR}/old_glibc -Wl,--no-as-needed -lpthread -ldl -Wl,--as-needed)
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL EXECUTABLE)
    target_link_libraries(${target} PRIVATE tare_glibc_start)
    target_link_options(${target} PRIVATE -Wl,--wrap=__libc_start_main -Wl,--allow-shlib-undefined)  # of libraries of this system
  endif()
endfunction()
