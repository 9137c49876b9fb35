#!/usr/bin/env bash
# Makes tare a part of somebody else's build, without what only the command needs, and links a program of C to it: by
# FetchContent, as libtare.so and as libtare.a, and by an installed libtare.a through find_package and pkg-config.
#
#   tests/embedding.sh        minutes; the last line says "embedding: ok"
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/parent" "$work/consumer"
cp tests/capi/header.c "$work/parent/program.c"
cp tests/capi/header.c "$work/consumer/program.c"
quickly=(-G Ninja --no-warn-unused-cli -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG" -DTARE_CUDA=off -DTARE_MPI=off)
# Any of them is an error where it is looked for.
without=(-DCMAKE_DISABLE_FIND_PACKAGE_CURL=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_HDF5=ON)
if command -v ccache >/dev/null; then quickly+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache); fi

runs() { [ "$("$1")" = ok ] || { echo "embedding: $1 does not say ok" >&2; exit 1; }; }

cat >"$work/parent/CMakeLists.txt" <<EOF2
cmake_minimum_required(VERSION 3.25)
project(parent VERSION 7.0 LANGUAGES C)
include(FetchContent)
FetchContent_Declare(tare SOURCE_DIR $PWD)
FetchContent_MakeAvailable(tare)
add_executable(program program.c)
target_link_libraries(program PRIVATE tare::tare)
install(TARGETS program)
EOF2
for shared in ON OFF; do
  cmake -S "$work/parent" -B "$work/build" "${quickly[@]}" "${without[@]}" -DBUILD_SHARED_LIBS=$shared -DTARE_SHARED=$shared >"$work/log"
  cmake --build "$work/build" --target program >"$work/log" || { tail -n 30 "$work/log"; exit 1; }
  runs "$work/build/program"
  cmake --install "$work/build" --prefix "$work/with_parent" >"$work/log"
  installed=$(cd "$work/with_parent" && find . -type f)
  [ "$installed" = ./bin/program ] || { echo "embedding: a parent's install brings: $installed" >&2; exit 1; }
  echo "FetchContent, shared $shared: ok"
done

cmake -S . -B "$work/static" "${quickly[@]}" "${without[@]}" -DBUILD_SHARED_LIBS=OFF -DTARE_COMMAND=OFF -DTARE_HDF5=OFF >"$work/log"
cmake --build "$work/static" >"$work/log" || { tail -n 30 "$work/log"; exit 1; }
cmake --install "$work/static" --prefix "$work/prefix" >"$work/log"
library=$(find "$work/prefix" -name 'libtare*')
[ "$(basename "$library")" = libtare.a ] || { echo "embedding: not libtare.a alone: $library" >&2; exit 1; }
cat >"$work/consumer/CMakeLists.txt" <<'EOF2'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(tare 0.1 REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE tare::tare)
EOF2
cmake -G Ninja -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log"
cmake --build "$work/consumer/build" >"$work/log" || { tail -n 30 "$work/log"; exit 1; }
runs "$work/consumer/build/program"
echo "find_package of libtare.a, in a project of C: ok"

PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
cc "$work/consumer/program.c" $(pkg-config --cflags --libs tare) -o "$work/by_pkg_config"
runs "$work/by_pkg_config"
echo "pkg-config, libtare.a: ok"

cc "$work/consumer/program.c" -I"$work/prefix/include" "$library" -lstdc++ -lm -ldl -lpthread -o "$work/by_hand"  # as README.md says
runs "$work/by_hand"
echo "by hand, libtare.a: ok"
echo "embedding: ok"
