#!/usr/bin/env bash
# Debian 13's own CUDA 12.4, in a chroot: makes the kernels' PTX with it and runs the tests for a GPU over that PTX, without
# a card (tests/gpu/ptx); then the module for real kinds of GPU, warnings as errors.
#
#   tests/cuda12.sh
#
# What is built is kept in build/platforms, or where TARE_PLATFORMS says: 8 GB, the first time an hour. Exit 77, and a
# line that says why, where there can be no chroot.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=tests/chroot.sh
. tests/chroot.sh
require_chroots
root=$kept/cuda12
bare cuda12 "$root"
with_sources "$root"

within "$root" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends \
  nvidia-cuda-toolkit g++-13 catch2 libbenchmark-dev git && /tare/tools/packages.sh build' >"$root.packages.log" 2>&1 ||
  not_run "its packages cannot be fetched: $root.packages.log"

# build FOLDER KINDS TARGET...: for kinds of GPU; nvcc 12.4 takes no newer compiler than that of release 13.
build() {
  local folder=$1 kinds=$2
  shift 2
  within "$root" env CC=gcc-13 CXX=g++-13 CUDAHOSTCXX=g++-13 cmake --preset release -S /tare -B "/tare/build/$folder" -DTARE_CUDA=on \
    -DTARE_MPI=off "-DCMAKE_CUDA_ARCHITECTURES=$kinds" >"$root.log" 2>&1 || { tail "$root.log"; return 1; }
  within "$root" cmake --build "/tare/build/$folder" --target "$@" >"$root.log" 2>&1 || { grep -A10 FAILED "$root.log"; return 1; }
}

within "$root" nvcc --version | tail -n 2
build ptx '75-virtual;90-virtual' gpu_ptx
within "$root" ctest --test-dir /tare/build/ptx -R '^gpu\.ptx\.sm_' --output-on-failure
build cuda '70;80;90' tare_cuda
echo "cuda12: ok"
