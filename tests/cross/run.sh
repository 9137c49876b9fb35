#!/usr/bin/env bash
# Builds tare for another architecture with Debian's cross-compiler, runs the tests under qemu-user and prints a row.
#
#   tests/cross/run.sh [ARCHITECTURE]      arm64 (the default): the unit tests, those of the C ABI, real checkpoints read
#                                          and edited, with pages of 4 and of 64 KiB; the passes and the C ABI once
#                                          more where vectors of SVE have 256 bits
#                                          s390x, whose bytes are the other way round: real checkpoints read
#
# What is built is kept in build/cross, or where TARE_CROSS says. Exit 77, and a line that says why, where it cannot run.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
architecture=${1:-arm64}
kept=$(realpath -m "${TARE_CROSS:-build/cross}")/$architecture

not_run() {
  echo "cross: NOT RUN: $*"
  exit 77
}

case $architecture in
  arm64) triplet=aarch64-linux-gnu machine=aarch64 tested='^unit\.|^capi$' ;;
  s390x) triplet=s390x-linux-gnu machine=s390x tested= ;;
  *) echo "cross: there is no $architecture here" >&2; exit 2 ;;
esac
for command in "$triplet-g++" "qemu-$machine-static" mmdebstrap; do
  command -v "$command" >/dev/null || not_run "there is no $command: apt-get install g++-$triplet qemu-user-static mmdebstrap"
done

export TARE_TRIPLET=$triplet TARE_SYSROOT=$kept/sysroot
mkdir -p "$kept"
[ -e "$kept/sysroot/.complete" ] || {
  tools/cross/sysroot.sh "$architecture" "$kept/sysroot" >"$kept/sysroot.log" 2>&1 || not_run "no sysroot: $kept/sysroot.log"
  touch "$kept/sysroot/.complete"
}
cmake --preset release -B "$kept/build" -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/cross/debian.cmake" -DTARE_CUDA=off -DTARE_MPI=off \
  >"$kept/configure.log" 2>&1 || { tail "$kept/configure.log"; exit 1; }

# Unit tests have a target each, called as the test is.
targets=(tools/tare test_data)
if [ -n "$tested" ]; then
  mapfile -t units < <(ctest --test-dir "$kept/build" -N -R '^unit\.' | sed -n 's/.*: unit\./unit_/p')
  targets+=("${units[@]}" capi_tests cross_passes)
fi
cmake --build "$kept/build" --target "${targets[@]}" >"$kept/build.log" 2>&1 || { grep -A5 FAILED "$kept/build.log"; exit 1; }

failed=0
tests=-
if [ -n "$tested" ]; then
  ctest --test-dir "$kept/build" -R "$tested" --timeout 1800 --output-on-failure >"$kept/tests.log" 2>&1 || failed=1
  tests=$(sed -n 's/.* tests passed, \([0-9]* tests\{0,1\} failed out of [0-9]*\).*/\1/p' "$kept/tests.log")
fi

# tested_with CPU TESTS: how many of them passed on it.
tested_with() {
  QEMU_CPU=$1 ctest --test-dir "$kept/build" -R "$2" --timeout 1800 --output-on-failure >"$kept/tests.$1.log" 2>&1 || failed=1
  sed -n 's/.* tests passed, \([0-9]* tests\{0,1\} failed out of [0-9]*\).*/\1/p' "$kept/tests.$1.log"
}

# on_corpus WHAT PAGE: what the tests of real checkpoints say with pages of that size.
on_corpus() {
  printf '#!/bin/sh\nexec qemu-%s-static -p %s %s "$@"\n' "$machine" "$2" "$kept/build/tools/tare" >"$kept/tare"
  chmod +x "$kept/tare"
  python3 tests/cli/corpus.py "$1" --tare "$kept/tare" --corpus "$kept/build/tests/data/corpus" >"$kept/$1.$2.log" 2>&1 || failed=1
  tail -n 1 "$kept/$1.$2.log"
}
read_4=$(on_corpus inspect 4096)
edited=- read_64=-
if [ -n "$tested" ]; then
  edited=$(on_corpus edit 4096)
  read_64=$(on_corpus inspect 65536)
fi
cryptography=- sve=-
if [ "$architecture" = arm64 ]; then
  sve_256=max,sve-default-vector-length=32
  QEMU_CPU=$sve_256 "qemu-$machine-static" "$kept/build/tests/cross_passes" sve256 observe 1 1 >/dev/null || failed=1
  sve=$(tested_with $sve_256 '^unit\.cpu$|^capi$')
  cryptography=$("$triplet-objdump" -d --no-show-raw-insn "$kept"/build/kernels/cpu/CMakeFiles/tare_cpu.dir/piece_neon.cpp.o |
    grep -cE '\b(aes[ed]|aesi?mc|pmull2?|sha(1|256)[a-z0-9]*)\b')
  [ "$cryptography" = 0 ] || failed=1
fi

echo "architecture | compiler | tests | with SVE of 256 bits | read | edited | read, pages of 64 KiB | instructions of cryptography"
echo "$architecture | $("$triplet-g++" --version | head -n 1) | $tests | $sve | $read_4 | $edited | $read_64 | $cryptography"
exit $failed
