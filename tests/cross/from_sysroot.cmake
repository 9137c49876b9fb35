# Programs and libraries find what they are linked with in the sysroot: by their own words, not by qemu's -L, which would
# look there for the root folder, too, where a program opens it. Not the command, which is static: what starts such a
# program does not expect them.
file(GLOB loader ${CMAKE_SYSROOT}/lib/ld-linux-*.so.1 ${CMAKE_SYSROOT}/lib/ld64.so.1)
set(of_libraries "LINKER:--disable-new-dtags,-rpath,${CMAKE_SYSROOT}/lib/$ENV{TARE_TRIPLET}:${CMAKE_SYSROOT}/usr/lib/$ENV{TARE_TRIPLET}")

function(find_in_sysroot folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE AND NOT target STREQUAL tare)
      target_link_options(${target} PRIVATE LINKER:--dynamic-linker=${loader} ${of_libraries})
    elseif(type MATCHES "^(SHARED|MODULE)_LIBRARY$")
      target_link_options(${target} PRIVATE ${of_libraries})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner IN LISTS folders)
    find_in_sysroot(${inner})
  endforeach()
endfunction()

cmake_language(DEFER DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} CALL find_in_sysroot ${CMAKE_CURRENT_SOURCE_DIR})
