#!/usr/bin/env bash
# Build the fuzz targets and run each for SECONDS (60 if not given) from the committed seeds, and from small ones of the
# bombs' shapes (tests/bounds); as many run at once as there are cores. What they find on the way stays in build/fuzz; a
# crash is kept as build/fuzz/crash-* and makes the exit code 1. The target `loaders` is no program: it holds `tare attest`
# of TARE (build/release/tools/tare) against the unpicklers of PYTHON (python3).
#
#   tests/fuzz/run.sh [SECONDS] [TARGET...]
#
# SEED=N begins each of them with the same inputs every time; without it they are new ones.
#
# No input of 16 KiB may have more than MALLOC_MIB at a time or RSS_MIB in all, sanitizers included.
set -euo pipefail
cd "$(dirname "$0")/../.."
MALLOC_MIB=160
RSS_MIB=1024
seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(zip pickle legacy edit dcp mindspore oneflow paddle elided_text bundle ocdbt zarr nested config fp8 monitor state
  state_hdf5 hdf5 json msgpack npy torch_tar safetensors trace growing journal loaders)
build=${TARE_FUZZ_BUILD:-build/fuzz}
python=${PYTHON:-python3}

# Programs alone.
made=()
for target in "${targets[@]}"; do [ "$target" = loaders ] || made+=("fuzz_$target"); done
if [ ${#made[@]} -gt 0 ]; then
  # shellcheck source=tests/compiler_cache.sh
  . tests/compiler_cache.sh
  cmake --preset fuzz -B "$build" >/dev/null
  cmake --build "$build" --target "${made[@]}"
fi

run_target() {
  local bombs="$build/bombs/$1"
  mkdir -p "$build/corpus/$1" || return
  "$python" tests/bounds/seeds.py "$1" "$bombs" || return
  local seeds=("tests/fuzz/seeds/$1")
  [ "$1" != state_hdf5 ] || seeds+=(tests/data/states)  # of h5py and h5repack
  [ "$1" != growing ] || seeds=(tests/fuzz/seeds/trace)
  ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=32" "$build/tests/fuzz/fuzz_$1" -max_total_time="$seconds" \
    -max_len=16384 -timeout=20 -seed="${SEED:-0}" -rss_limit_mb="$RSS_MIB" -malloc_limit_mb="$MALLOC_MIB" \
    -print_final_stats=1 -print_funcs=0 -verbosity=0 -artifact_prefix="$build/" \
    "$build/corpus/$1" "${seeds[@]}" "$bombs"
}

# New files each time; what passed wrongly is kept.
run_loaders() {
  local release=build/release end=$((SECONDS + seconds)) seed=${SEED:-$RANDOM}
  while
    "$python" tests/fuzz/loaders.py --tare "${TARE:-$release/tools/tare}" --corpus "${CORPUS:-$release/tests/data/corpus}" \
      --count 1000 --seed "$((seed++))" --keep "$build/loaders" || return
    [ "$SECONDS" -lt "$end" ]
  do :; done
}

# told TARGET: what it says stays together, though others run beside it. Its exit code stays in a file: a shell forgets that of a
# process whose number another has got since.
told() {
  local log="$build/$1.log" status=0
  if [ "$1" = loaders ]; then run_loaders; else run_target "$1"; fi >"$log" 2>&1 || status=$?
  echo "== $1" | cat - "$log"
  echo $status >"$build/$1.status"
}

mkdir -p "$build"
most=$(nproc) running=0
for target in "${targets[@]}"; do
  rm -f "$build/$target.status"
  if [ "$running" -ge "$most" ]; then wait -n; else running=$((running + 1)); fi
  told "$target" &
done
wait
found=0
for target in "${targets[@]}"; do
  status=$(cat "$build/$target.status" || echo none)
  [ "$status" != 0 ] || continue
  found=1
  echo "== $target: exit code $status"  # last, where who reads the end alone sees it
  grep -v -e ' # Uses: ' -e '^stat::' "$build/$target.log" | tail -n 40 || true  # an empty one
done
exit $found
