# tare_simulated_gpu(NAME KERNELS...): an executable NAME with the tests for a GPU, over the simulated runtime with kernels
# from KERNELS. The module is built likewise, beside the tests, where libtare looks first; both share the runtime, as they
# would share the driver. What is the same whatever the kernels is compiled once.
set(here ${PROJECT_SOURCE_DIR}/tests/gpu)
set(backend device order reach work list scaler fp8 gradient_sums looks quantiser)
list(TRANSFORM backend REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/kernels/cuda/\\1.cpp")
add_library(gpu_simulated_backend OBJECT ${backend})
target_include_directories(gpu_simulated_backend PUBLIC ${PROJECT_SOURCE_DIR})
target_include_directories(gpu_simulated_backend SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(gpu_simulated_backend PUBLIC tare_kernels tare_rule)

set(tests look monitor pairs pass torn torch_vectors stream graph fp8 scaler fp8_scaler fp8_sum quantizer)
list(TRANSFORM tests REPLACE "(.+)" "${here}/\\1_test.cpp")
add_library(gpu_simulated_tests OBJECT ${here}/simulated/faults_test.cpp ${here}/simulated/nccl_test.cpp
                                       ${here}/simulated/nccl_fp8_sum_test.cpp ${tests})
target_link_libraries(gpu_simulated_tests PUBLIC tare_catch_main gpu_simulated_backend tare_fp8 Threads::Threads tare_cpu
                                                 tare_scaler tare_monitor nlohmann_json::nlohmann_json)
target_compile_definitions(gpu_simulated_tests PRIVATE TARE_SIMULATED)

function(tare_simulated_gpu name)
  set(here ${PROJECT_SOURCE_DIR}/tests/gpu)
  add_library(${name}_runtime SHARED ${here}/simulated/runtime.cpp ${here}/simulated/streams.cpp ${ARGN})
  set_target_properties(${name}_runtime PROPERTIES CXX_VISIBILITY_PRESET default
                                                   LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  target_include_directories(${name}_runtime PUBLIC ${PROJECT_SOURCE_DIR})
  target_include_directories(${name}_runtime SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(${name}_runtime PRIVATE tare_kernels tare_rule)

  tare_module(${name}_module ${PROJECT_SOURCE_DIR}/kernels/cuda/module.cpp $<TARGET_OBJECTS:gpu_simulated_backend>)
  set_target_properties(${name}_module PROPERTIES OUTPUT_NAME tare_cuda
                                                  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${name}_module PRIVATE ${name}_runtime tare_kernels tare_rule)

  add_library(${name}_nccl SHARED ${here}/simulated/stand_in_nccl.cpp)
  set_target_properties(${name}_nccl PROPERTIES CXX_VISIBILITY_PRESET default
                                                LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${name}_nccl PUBLIC ${name}_runtime)

  add_executable(${name} $<TARGET_OBJECTS:gpu_simulated_tests> $<TARGET_OBJECTS:gpu_simulated_backend>)
  target_link_libraries(${name} PRIVATE tare_catch_main ${name}_nccl ${name}_runtime tare_fp8 Threads::Threads tare_cpu tare_scaler
                                        tare_monitor nlohmann_json::nlohmann_json)
  add_dependencies(${name} ${name}_module)
endfunction()
