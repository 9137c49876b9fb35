#!/usr/bin/env bash
# Makes tare-VERSION-linux-ARCHITECTURE.tar.gz: what an installation lays down (the static command, its manual pages and
# completions, libtare with headers and modules), stripped, with licences. Unpacked anywhere it runs there. What was
# built once is packed to the same bytes each time. Tries it in a folder of its own.
#
#   tools/tarball.sh FOLDER [BUILD]      into FOLDER; BUILD: a build folder to use, so that less is compiled anew
#
# TARE_OPTIONS goes to CMake ("-DTARE_CUDA=off"), TARE_ARCHITECTURE=arm64 makes it for that; the glibc that suffices is in
# tools/cross/target.sh, too. Needs what tools/packages.sh build installs. Says what is missing and exits with 77 where it cannot run.
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
build=${build:-$PWD/$builds/tarball}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}

cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/opt/tare "-DTARE_OLDEST_GLIBC=$oldest_glibc" "${options[@]}" >/dev/null
cmake --build "$build"
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=tare-$version-linux-$machine

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for component in command library development cuda mpi; do
  cmake --install "$build" --prefix "$work/$name" --strip --component "$component" >/dev/null
done
python3 tools/notices.py "$version" "$work/$name/share/doc/tare"
cp LICENSE CHANGELOG.md "$work/$name/share/doc/tare"
chmod -R u=rwX,go=rX "$work/$name"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$work" -c "$name" | gzip -9n >"$folder/$name.tar.gz"

mkdir "$work/elsewhere"
tar -xzf "$folder/$name.tar.gz" -C "$work/elsewhere"
there=$work/elsewhere/$name
"${run_static[@]}" "$there/bin/tare" --version
"${compile[@]}" tests/capi/header.c -I "$there/include" -L "$there/lib" -ltare -Wl,-rpath,"$there/lib" -o "$work/consumer"
[ "$("${run[@]}" "$work/consumer")" = ok ]
mapfile -t made < <(find "$there/bin" "$there/lib" "$there/libexec" -type f)
asked=$(tools/old_glibc/asked.sh "${made[@]}")
echo "glibc $asked suffices"
[ "$(printf '%s\n' "$asked" "$oldest_glibc" | sort -V | tail -n 1)" = "$oldest_glibc" ] || { echo "that is more than $oldest_glibc" >&2; exit 1; }
echo "$name.tar.gz: $(stat -c %s "$folder/$name.tar.gz") bytes, $(sha256sum "$folder/$name.tar.gz" | cut -d' ' -f1)"
