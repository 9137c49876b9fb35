#!/usr/bin/env bash
# Installs what is missing of the Debian packages that tare needs. The one place that names them.
#
#   tools/packages.sh build          to configure and build
#   tools/packages.sh library        what libtare is made of, without the tools; with hdf5 also its module for HDF5
#   tools/packages.sh build check    also to run all tests, formatters, fuzzers and the like
#   tools/packages.sh fidelity       to load what was edited with the real frameworks
#   tools/packages.sh stores         to ask a real web server
#   tools/packages.sh names GROUP... prints them, and installs nothing
set -euo pipefail

library=(libfmt-dev nlohmann-json3-dev zlib1g-dev libdeflate-dev libzstd-dev liblzma-dev libhwy-dev)
hdf5=(libhdf5-dev)
build=(
  cmake ninja-build g++ python3
  "${library[@]}" "${hdf5[@]}"
  libcli11-dev libcurl4-openssl-dev libexpat1-dev libssl-dev
)
check=(
  catch2 git clang clang-format clang-tidy
  pkg-config strace abigail-tools hdf5-tools python3-h5py rustc golang-go luajit gfortran ruby valgrind
  fish zsh groff-base mandoc cmark-gfm jq python3-jsonschema debootstrap
  libopenmpi-dev openmpi-bin libmpich-dev mpich
)
fidelity=(python3-venv python3-dev)
stores=(nginx-light openssl)

only_names=
if [ "${1:-}" = names ]; then
  only_names=yes
  shift
fi
wanted=()
for group in "$@"; do
  case $group in
    library) wanted+=("${library[@]}") ;;
    hdf5) wanted+=("${hdf5[@]}") ;;
    build) wanted+=("${build[@]}") ;;
    check) wanted+=("${check[@]}") ;;
    fidelity) wanted+=("${fidelity[@]}") ;;
    stores) wanted+=("${stores[@]}") ;;
    *) echo "$0: no such group: $group (there are: library hdf5 build check fidelity stores)" >&2; exit 2 ;;
  esac
done

if [ -n "$only_names" ]; then
  printf '%s\n' "${wanted[@]}"
  exit
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "Not a Debian-like system; this is needed, under its names there: ${wanted[*]}" >&2
  exit 0
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
updated=

# install_missing PACKAGE...
install_missing() {
  local package state missing=()
  for package in "$@"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || state=absent
    [ "$state" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ ${#as_root[@]} -gt 0 ] && ! command -v sudo >/dev/null; then
    echo "Install these as root, then come back: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "Installing: ${missing[*]}" >&2
  [ -n "$updated" ] || "${as_root[@]}" apt-get update -q >&2
  updated=yes
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
}

install_missing "${wanted[@]}"
# clang's own libraries carry its major in their names, and come with clang itself in some releases.
if [[ " ${wanted[*]} " == *" clang "* ]]; then
  runtime=libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev
  install_missing "$runtime" || echo "There is no $runtime: fuzzers need what clang brings itself" >&2
fi
