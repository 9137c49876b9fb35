#!/usr/bin/env bash
# Makes Debian's packages (tare, libtare0, libtare-dev and, where nvcc is found, libtare-cuda, where there is MPI, libtare-mpi),
# asks lintian about them, and tries what is in them in a folder of its own.
#
#   tools/deb.sh FOLDER [BUILD]      into FOLDER; BUILD: a build folder to use, so that less is compiled anew
#
# TARE_OPTIONS goes to CMake ("-DTARE_CUDA=off"), TARE_ARCHITECTURE=arm64 makes them for that (tools/cross/target.sh). Needs what
# tools/packages.sh build installs, and dpkg-dev and file; lintian if it is there. Says what is missing and exits with 77 where it
# cannot run.
set -euo pipefail
case ${1:--} in -*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;; esac
folder=$(realpath -m -- "$1") build=${2:+$(realpath -m -- "$2")}  # from where one stands
cd "$(dirname "$0")/.."
mkdir -p "$folder"
not_run() {
  echo "$*: not run" >&2
  exit 77
}
# shellcheck source=tools/cross/target.sh
. tools/cross/target.sh
build=${build:-$PWD/$builds/deb}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}

cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBEXECDIR=libexec \
  "-DCMAKE_INSTALL_LIBDIR=lib/$(dpkg-architecture "-a$architecture" -qDEB_HOST_MULTIARCH 2>/dev/null)" \
  -DTARE_DEBIAN=ON "-DCPACK_DEBIAN_PACKAGE_ARCHITECTURE=$architecture" "${options[@]}" >/dev/null
cmake --build "$build"
python3 tools/notices.py "$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")" "$build/debian/notices"
rm -f "$build"/*.deb

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "$dpkg_database" ]; then  # CPack asks dpkg-shlibdeps, of which it knows nothing but the name
  mkdir "$work/bin"
  {
    printf '#!/bin/sh\nexec /usr/bin/dpkg-shlibdeps "--admindir=%s"' "$dpkg_database"
    printf ' "-l%s"' "$TARE_SYSROOT"/{usr/lib/,lib/}"$triplet" "$TARE_SYSROOT/lib"
    printf ' "$@"\n'
  } >"$work/bin/dpkg-shlibdeps"
  chmod +x "$work/bin/dpkg-shlibdeps"
  export PATH=$work/bin:$PATH DEB_HOST_ARCH=$architecture
fi
(cd "$build" && cpack -G DEB >cpack.log) || { cat "$build/cpack.log" >&2; exit 1; }
cp "$build"/*.deb "$folder"

for package in "$build"/*.deb; do dpkg-deb --extract "$package" "$work"; done
"${run_static[@]}" "$work/usr/bin/tare" --version
lib=$(dirname "$(find "$work" -name libtare.so.0)")
"${compile[@]}" tests/capi/header.c -I "$work/usr/include" -L "$lib" -ltare -Wl,-rpath,"$lib" -o "$work/consumer"
[ "$("${run[@]}" "$work/consumer")" = ok ]
if [ -e "$lib/libtare_mpi.so" ]; then
  mpicc -std=c99 capi/examples/mpi.c -I "$work/usr/include" -L "$lib" -ltare -lm -Wl,-rpath,"$lib" -o "$work/ranks"
  tests/capi/mpi/run.sh mpirun 2 prints "$work/ranks"
fi
man -l "$work"/usr/share/man/man1/tare-edit.1* >/dev/null 2>&1 || [ -e "$work/usr/share/man/man1/tare-edit.1.gz" ]
if command -v lintian >/dev/null; then lintian --fail-on error,warning "$build"/*.deb; else echo "lintian is not there: not asked" >&2; fi
for package in "$build"/*.deb; do echo "$(basename "$package"): $(stat -c %s "$package") bytes"; done
