#!/usr/bin/env bash
# Makes tare a package of Conan (tools/conan) by the libraries that the system has, from no remote, and has a project of C
# (tests/conan) link a program to it by find_package and run that: libtare.so with its module for HDF5, and libtare.a.
#
#   tests/conan.sh        minutes; the last line says "conan: ok"
#
# Needs what tools/packages.sh build installs, and pip with PyPI (conan). Says what is missing and exits with 77 where it cannot run.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/tools" 2>"$work/log" || { echo "no python3-venv: not run" >&2; exit 77; }
"$work/tools/bin/pip" install -q conan 2>"$work/log" ||
  { echo "no conan from PyPI: not run" >&2; tail -n 2 "$work/log" >&2; exit 77; }

# shellcheck source=tests/compiler_cache.sh
. tests/compiler_cache.sh
export CONAN_HOME=$work/home CCACHE_BASEDIR=$work
conan=$work/tools/bin/conan
quickly=(-c "tools.cmake.cmaketoolchain:extra_variables={'CMAKE_CXX_FLAGS_RELEASE': '-O1 -DNDEBUG'}"
         -c "tools.cmake.cmake_layout:test_folder=$work/consumer")
"$conan" profile detect >"$work/log" 2>&1
"$conan" remote disable '*' >"$work/log" 2>&1

# created OPTIONS...: the package is made, and the program tells of the files that it wrote and read again.
created() {
  "$conan" create tools/conan "${quickly[@]}" "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; exit 1; }
  grep ': read as it was written$' "$work/log"
}

# licensed LIBRARY...: the package that was just made has the licences of these, which are linked into it.
licensed() {
  local notices library
  notices=$(find "$CONAN_HOME/p/b" -path '*/p/licenses/THIRD_PARTY_NOTICES.txt' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
  [ -n "$notices" ] || { echo "conan: no licences of what is linked in" >&2; exit 1; }
  for library in LICENSE LICENSES.txt; do
    [ -s "$(dirname "$notices")/$library" ] || { echo "conan: no $library in the package" >&2; exit 1; }
  done
  for library; do
    grep -q "^$library " "$notices" || { echo "conan: no licence of $library in the package" >&2; exit 1; }
  done
}

# holds TOLD WANTED
holds() { [ "$1" = "$2" ] || { echo "conan: of '$2' only '$1'" >&2; exit 1; }; }

holds "$(created -o 'tare/*:shared=True' -o 'tare/*:hdf5=True')" $'state.json: read as it was written\nstate.h5: read as it was written'
licensed libfmt-dev zlib1g-dev libzstd-dev libhwy-dev libhdf5-dev
echo "libtare.so, and its module for HDF5: ok"
holds "$(created -o 'tare/*:shared=False')" 'state.json: read as it was written'
licensed libfmt-dev zlib1g-dev libzstd-dev libhwy-dev
echo "libtare.a: ok"
echo "conan: ok"
