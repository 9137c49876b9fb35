# Debian's packages by CPack: tare, libtare0, libtare-dev and, where there is CUDA, libtare-cuda, where there is MPI,
# libtare-mpi. tools/deb.sh makes them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "tare contributors <tare@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "loss scalers of mixed-precision training")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION}-1)
set(CPACK_COMPONENTS_ALL command library development)
if(TARGET tare_cuda)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()
if(TARGET tare_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME tare)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "Shows, edits, migrates and diagnoses the state of loss scalers and FP8 scales
in checkpoints of PyTorch, DeepSpeed, Megatron, TensorFlow, JAX and others: in
place, without running or loading anything that a checkpoint holds.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "libtare0 (= ${CPACK_DEBIAN_PACKAGE_VERSION})")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtare0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Runs each framework's loss scaler and FP8 scaling with that framework's own
arithmetic, on the CPU and, with libtare-cuda, on NVIDIA GPUs; reads and edits
their state in checkpoints.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/tools/debian/triggers)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtare-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtare0 (= ${CPACK_DEBIAN_PACKAGE_VERSION})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The C API's headers and its manual page, a C++ wrapper, and what CMake and
pkg-config need to find them.")

set(CPACK_DEBIAN_CUDA_PACKAGE_NAME libtare-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION contrib/libs)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "libtare0 (= ${CPACK_DEBIAN_PACKAGE_VERSION})")
set(CPACK_COMPONENT_CUDA_DESCRIPTION "The module with which libtare runs its scalers on NVIDIA GPUs. It needs
NVIDIA's driver, which Debian has in non-free.")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME libtare-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "libtare0 (= ${CPACK_DEBIAN_PACKAGE_VERSION})")
set(CPACK_COMPONENT_MPI_DESCRIPTION "The module with which libtare's scalers are those of many ranks: found-inf,
norms, statistics and FP8 amaxes are reduced over a communicator of MPI.")

# What Debian wants of every package besides: copyright, changelog, packed manual pages.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_BINARY_DIR}/debian/stage.cmake)
configure_file(tools/debian/stage.cmake.in ${CPACK_PRE_BUILD_SCRIPTS} @ONLY)
include(CPack)
