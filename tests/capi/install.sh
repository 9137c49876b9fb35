#!/usr/bin/env bash
# Installs a build into a folder of its own, and builds and runs a consumer there by find_package, of the build, too, and by
# pkg-config.
#
#   install.sh BUILD_FOLDER SOURCE_OF_TESTS
set -euo pipefail
build=$1 tests=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for component in library development; do
  cmake --install "$build" --component $component --prefix "$work/prefix" >>"$work/log"
done
lib=$(dirname "$(find "$work/prefix" -name libtare.so)")
[ -f "$lib/libtare_hdf5.so" ] || { echo "libtare_hdf5.so is not beside libtare.so"; exit 1; }

cat >"$work/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(tare 0.1 REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE tare::tare)
EOF
cp "$tests/capi/header.c" "$work/consumer.c"
cmake -G Ninja -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" >>"$work/log"
cmake --build "$work/build" >>"$work/log"
[ "$("$work/build/consumer")" = ok ]
echo "find_package: ok"

cmake -G Ninja -S "$work" -B "$work/beside" -Dtare_DIR="$build/capi" >>"$work/log"
cmake --build "$work/beside" >>"$work/log"
[ "$("$work/beside/consumer")" = ok ]
echo "find_package of a build that is not installed: ok"

if command -v gfortran >/dev/null; then
  mkdir "$work/fortran"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(consumer LANGUAGES Fortran)' 'find_package(tare 0.1 REQUIRED)' >"$work/fortran/CMakeLists.txt"
  cmake -G Ninja -S "$work/fortran" -B "$work/fortran/build" -Dtare_DIR="$build/capi" >>"$work/log"
  echo "find_package in a project of Fortran alone: ok"
fi

export PKG_CONFIG_PATH=$lib/pkgconfig
# shellcheck disable=SC2046
cc "$work/consumer.c" $(pkg-config --cflags --libs tare) -Wl,-rpath,"$lib" -o "$work/by_pkg_config"
[ "$("$work/by_pkg_config")" = ok ]
echo "pkg-config $(pkg-config --modversion tare): ok"

for libdir in lib64 lib/x86_64-linux-gnu far/below/lib; do
  cmake -G Ninja -S "$tests/.." -B "$work/elsewhere" -DCMAKE_INSTALL_LIBDIR=$libdir -DTARE_COMMAND=OFF -DTARE_REMOTE=OFF \
    -DTARE_HDF5=OFF -DTARE_CUDA=off -DTARE_MPI=off >>"$work/log"
  mkdir -p "$work/moved/include" "$work/moved/$libdir/pkgconfig"
  cp "$work/elsewhere/capi/tare.pc" "$work/moved/$libdir/pkgconfig"
  for folder in prefix: includedir:/include libdir:/$libdir; do
    said=$(PKG_CONFIG_PATH=$work/moved/$libdir/pkgconfig pkg-config --variable="${folder%:*}" tare)
    [ "$(realpath "$said")" = "$(realpath "$work/moved")${folder#*:}" ] || { echo "$libdir: ${folder%:*} is $said"; exit 1; }
  done
done
echo "pkg-config of any libdir: ok"
