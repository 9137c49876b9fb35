#!/usr/bin/env bash
# Instructions an element that the passes for NEON and for SVE of 256 bits take, and the portable ones beside them:
# counted one by one under qemu, as nobody's clock is looked at there.
#
#   tests/cross/instructions.sh BUILD SYSROOT
set -euo pipefail
build=$1
export QEMU_LD_PREFIX=$2 QEMU_CPU=max,sve-default-vector-length=32
cmake --build "$build" --target cross_passes >/dev/null

# executed WORDS...: how many instructions the program took with them.
executed() {
  qemu-aarch64-static -singlestep -d exec,nochain -D /dev/stderr "$build/tests/cross_passes" "$@" 2>&1 >/dev/null | grep -c '^Trace'
}

echo "pass | dtype | portable | NEON | SVE of 256 bits | instructions an element of 8,192"
for row in observe:1:f32 observe:2:f64 observe:3:f16 observe:4:bf16 observe:5:e4m3 observe:6:e5m2 \
  unscale:1:f32 unscale:2:f64 unscale:3:f16 unscale:4:bf16 write:1:f32; do
  IFS=: read -r pass id dtype <<<"$row"
  line="$pass | $dtype"
  for set in portable neon sve256; do
    once=$(executed "$set" "$pass" "$id" 1)
    twice=$(executed "$set" "$pass" "$id" 2)
    line+=" | $(awk -v n="$((twice - once))" 'BEGIN { printf "%.2f", n / 8192 }')"
  done
  echo "$line"
done
