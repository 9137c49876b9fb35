#!/usr/bin/env bash
# Ranks of one of the two MPIs that Debian has, whichever CMake finds by itself: builds libtare and the module for it, and
# runs the tests capi.mpi.
#
#   tests/mpi.sh openmpi|mpich [ARGUMENTS OF ctest...]
#
# Needs what tools/packages.sh build check installs, and libopenmpi-dev openmpi-bin, or libmpich-dev mpich.
set -euo pipefail
cd "$(dirname "$0")/.."
mpi=${1:-}
case $mpi in openmpi | mpich) shift ;; *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;; esac
build=build/mpi-$mpi

cmake --preset release -B "$build" -DTARE_CUDA=off -DTARE_MPI=on -DMPI_C_COMPILER="mpicc.$mpi" -DMPIEXEC_EXECUTABLE="$(command -v "mpiexec.$mpi")" >/dev/null
cmake --build "$build" --target tare_capi tare_mpi capi_mpi_ranks capi_mpi_example
other=openmpi
[ "$mpi" = mpich ] || other=mpich
if [ -e "build/mpi-$other/lib/libtare_mpi.so" ]; then
  LD_LIBRARY_PATH=$PWD/build/mpi-$other/lib tests/capi/mpi/run.sh "mpiexec.$mpi" 2 ok "$build/tests/capi/mpi/capi_mpi_ranks" other_mpi
fi
ctest --test-dir "$build" -R '^capi\.mpi\.' --output-on-failure "$@"
