# libtare.a: one object in which every name is local but the ABI's own, so that it lies beside any other code, with other
# releases of what is in it, as libtare.so does. Groups are dissolved, as none of another object may take the place of one
# of ours, whose names others no longer see.
add_executable(tare_joined EXCLUDE_FROM_ALL)
target_link_libraries(tare_joined PRIVATE tare_api tare_monitor tare_report)
target_link_options(tare_joined PRIVATE -r -fuse-ld=bfd -Wl,--force-group-allocation)
set_target_properties(tare_joined PROPERTIES OUTPUT_NAME tare_joined.o LINKER_LANGUAGE CXX)
set(joined ${CMAKE_CURRENT_BINARY_DIR}/tare.o)
set(unique ${CMAKE_CURRENT_BINARY_DIR}/unique.txt)
add_custom_command(  # twice, as GNU's unique symbols are made local only once they are weak; of no other the kind changes
  OUTPUT ${joined}
  COMMAND sh -c "'${CMAKE_NM}' '$<TARGET_FILE:tare_joined>' | sed -n 's/^.* u //p' >'${unique}'"
  COMMAND ${CMAKE_OBJCOPY} --weaken-symbols=${unique} $<TARGET_FILE:tare_joined> ${joined}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=tare_* ${joined}
  DEPENDS tare_joined VERBATIM)

set_source_files_properties(${joined} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(tare_static STATIC EXCLUDE_FROM_ALL ${joined})
# Of C, to those who link it: what the compiler of C++ would have added is named.
set(tare_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER tare_runtime INCLUDE REGEX "^(stdc\\+\\+|c\\+\\+|c\\+\\+abi|m)$")
list(APPEND tare_runtime ${CMAKE_DL_LIBS})
list(REMOVE_DUPLICATES tare_runtime)
set_target_properties(tare_static PROPERTIES OUTPUT_NAME tare EXPORT_NAME tare LINKER_LANGUAGE C
                      ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
target_include_directories(tare_static INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(tare_static INTERFACE ${tare_runtime} Threads::Threads)
