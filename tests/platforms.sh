#!/usr/bin/env bash
# Does the README's two commands on bare systems, each in a chroot, and prints a table of what came of it.
#
#   tests/platforms.sh [--smoke] [PLATFORM...]     debian12 debian13 ubuntu2404; default: the two of Debian
#
# --smoke: the demo alone, which builds the command and uses it. The chroots are kept in build/platforms, or where
# TARE_PLATFORMS says, with what was built in them. Exit 77, and a line that says why, where there can be none: without
# root, debootstrap or a network.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

smoke=
if [ "${1:-}" = --smoke ]; then
  smoke=yes
  shift
fi
platforms=("$@")
[ ${#platforms[@]} -gt 0 ] || platforms=(debian12 debian13)

# shellcheck source=tests/chroot.sh
. tests/chroot.sh

# timed FILE COMMAND...: runs it with all that it says in FILE; prints the seconds that it took.
timed() {
  local log=$1 start=$SECONDS status=0
  shift
  "$@" >"$log" 2>&1 || status=$?
  echo "$((SECONDS - start)) s"
  return $status
}

size_of() {
  if [ -f "$1" ]; then echo "$(($(stat -Lc %s "$1") / 1024)) KiB"; else echo -; fi
}

# row PLATFORM DEMO BUILT: a line of the table.
row() {
  local root=$kept/$1 built=$kept/$1/tare/build/demo tests=- corpus=-
  if [ -z "$smoke" ]; then
    built=$kept/$1/tare/build/release
    tests=$(tail -n 1 "$root.tests.log")
    corpus=$(grep -oE '^inspect: [0-9]+ of [0-9]+ cases hold' "$root/tare/build/release/Testing/Temporary/LastTest.log" | cut -d' ' -f2-4)
  fi
  local asked
  asked=$(tools/old_glibc/asked.sh "$built"/tools/tare-remote "$built"/lib/libtare.so "$built"/lib/libtare_hdf5.so)
  printf '%s | %s | %s | %s | %s | %s | %s | tare %s, tare-remote %s, libtare %s, HDF5 module %s | %s\n' \
    "$(sed -n 's/^PRETTY_NAME="\(.*\)"$/\1/p' "$root/etc/os-release")" \
    "$(within "$root" c++ --version | head -n 1)" \
    "$(within "$root" uname -m)" \
    "$(within "$root" ldd --version | head -n 1)" \
    "$2" "$tests" "${corpus:--}" \
    "$(size_of "$built/tools/tare")" "$(size_of "$built/tools/tare-remote")" "$(size_of "$built/lib/libtare.so")" \
    "$(size_of "$built/lib/libtare_hdf5.so")" \
    "${asked:--}"  # - where all that was built is static
}

require_chroots

failed=0
rows=()
for platform in "${platforms[@]}"; do
  suite_of "$platform" >/dev/null || exit 2
  root=$kept/$platform
  bare "$platform" "$root"
  with_sources "$root"
  within "$root" /tare/tools/packages.sh build >"$root.packages.log" 2>&1 || not_run "its packages cannot be fetched: $root.packages.log"
  demo=$(timed "$root.demo.log" within "$root" /tare/tools/demo.sh) || { demo="FAILED after $demo"; failed=1; tail -n 20 "$root.demo.log"; }
  [ -n "$smoke" ] || timed "$root.tests.log" within "$root" /tare/tests/run.sh >/dev/null || { failed=1; grep -A20 'tests FAILED' "$root.tests.log"; }
  rows+=("$(row "$platform" "$demo")")
done
echo "distribution | compiler | architecture | libc | demo, with its build | tests | corpus | sizes | lowest glibc"
printf '%s\n' "${rows[@]}"
exit $failed
